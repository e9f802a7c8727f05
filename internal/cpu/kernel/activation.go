package kernel

// Activation names a function of the sum of a product and a bias.
type Activation int

const (
	SigmoidActivation Activation = iota // as BiasSigmoid
	TanhActivation                      // as BiasTanh
	ReLUActivation                      // as BiasReLU
)

// BiasActivation computes z[i,j] = f(z[i,j] + bias[j]) for a matrix as in BiasSigmoid.
func (k *Kernels[F]) BiasActivation(f Activation, z []F, ldz, rows int, bias []F) {
	switch f {
	case SigmoidActivation:
		k.BiasSigmoid(z, ldz, rows, bias)
	case TanhActivation:
		k.BiasTanh(z, ldz, rows, bias)
	case ReLUActivation:
		k.BiasReLU(z, ldz, rows, bias)
	default:
		panic("kernel: BiasActivation: unknown activation")
	}
}

// MulActivate computes rows lo to hi-1 of f(X W + 1 b), for a bias b with an element for each
// column of w. Operands and bits are those of Mul, followed by the kernels' BiasActivation.
//
// On tiles, f follows the sums row by row, while the tile unit computes the next sums. Other
// kernels compute the block's product first. So do tiles if W has a column without digits, or X
// has more columns than a sum of tiles holds exactly.
func (k *ByteKernels) MulActivate(z []float32, ldz int, x *PackedBytes, lo, hi int, w *Digits, bias []float32, f Activation, s *ByteScratch) {
	checkLength("MulActivate", len(bias), w.cols)
	if !k.strips() || x.cols == 0 || x.cols > k.layout.exactDepth() || w.hasNonFinite() {
		k.Mul(z, ldz, x, lo, hi, w, s)
		k.floats.BiasActivation(f, z, ldz, hi-lo, bias)
		return
	}
	x.checkBlock(lo, hi)
	checkMatrix("MulActivate", z, hi-lo, w.cols, ldz)
	k.checkOperands("MulActivate", x, w, x.cols)
	for p := range w.Panels() {
		k.mulPanelStrips(z, ldz, x, lo, hi, 0, p, w, bias, f, s)
	}
}

// hasNonFinite reports whether a column has no digits.
func (d *Digits) hasNonFinite() bool {
	for _, any := range d.anyNonFinite[:d.Panels()] {
		if any {
			return true
		}
	}
	return false
}
