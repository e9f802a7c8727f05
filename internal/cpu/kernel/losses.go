package kernel

// Loss is a surrogate phi of the signed score y s, y = -1 or +1.
type Loss uint8

// The losses.
const (
	SigmoidLoss  Loss = iota // 1 / (1 + e^(y s))
	LogisticLoss             // log(1 + e^(-y s))
	HingeLoss                // max(0, 1 - y s)
	lossCount
)

// losses are the passes of one level, by Loss, with x = minus[i] s[i].
type losses[F Float] struct {
	value         [lossCount]func(n int, out, s, minus *F)
	grad, gradAdd [lossCount]func(n int, out, s, minus, d *F)
}

// SignedLoss computes out[i] = phi(y s[i]) with minus[i] = -y. It gives phi's limits for infinities
// and NaN for NaN. out may be s.
func (k *Kernels[F]) SignedLoss(phi Loss, out, s, minus []F) {
	checkLength("SignedLoss", len(out), len(s))
	checkLength("SignedLoss", len(out), len(minus))
	if len(out) > 0 {
		k.losses.value[phi](len(out), &out[0], &s[0], &minus[0])
	}
}

// SignedLossGrad computes out[i] = d[i] y phi'(y s[i]) with minus[i] = -y, or adds it to out[i] if
// add. The hinge loss has slope 0 at its kink y s = 1. Negligible elements of out are 0: see
// negligible. out may be s or d.
func (k *Kernels[F]) SignedLossGrad(phi Loss, out, s, minus, d []F, add bool) {
	checkLength("SignedLossGrad", len(out), len(s))
	checkLength("SignedLossGrad", len(out), len(minus))
	checkLength("SignedLossGrad", len(out), len(d))
	if len(out) == 0 {
		return
	}
	pass := k.losses.grad[phi]
	if add {
		pass = k.losses.gradAdd[phi]
	}
	pass(len(out), &out[0], &s[0], &minus[0], &d[0])
}
