package kernel

import (
	"math"
	"unsafe"
)

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

// tails holds the passes of one level over logistic tails.
type tails[F Float] struct {
	pass          func(n int, out, s *F)
	sigmoid       func(n int, out, tails, minus *F)
	logisticSums  func(n int, tails, s, minus *F, sums *float64)
	grad, gradAdd [smoothCount]func(n int, out, tails, minus, d *F)
	// gradWhere and gradAddWhere take d = yes for the rows of a set and d = no for the others.
	gradWhere, gradAddWhere [smoothCount]func(n int, out, tails, minus *F, set *uint16, yes, no F)
}

// smoothCount is the number of losses that follow from logistic tails. These losses have the
// numbers 0 to smoothCount-1.
const smoothCount = int(LogisticLoss) + 1

// LogisticTails computes out[i] = q with the sign of s[i], where
//
//	q = 1 / (1 + e^|s[i]|) <= 1/2
//
// is the tail probability of the logistic distribution beyond |s[i]|. The smooth losses of y s[i],
// y = -1 or +1, and their derivatives follow from q without another exponential. With x = -y s,
//
//	1 / (1 + e^-x) = q if x < 0, else 1 - q;   log(1 + e^x) = max(0, x) - log(1 - q)
//
// and neither cancels. The result is NaN for NaN. out may be s.
func (k *Kernels[F]) LogisticTails(out, s []F) {
	checkLength("LogisticTails", len(out), len(s))
	if len(out) > 0 {
		k.tails.pass(len(out), &out[0], &s[0])
	}
}

// SigmoidFromTails computes SignedLoss of SigmoidLoss from logistic tails. out may be tails.
func (k *Kernels[F]) SigmoidFromTails(out, tails, minus []F) {
	checkLength("SigmoidFromTails", len(out), len(tails))
	checkLength("SigmoidFromTails", len(out), len(minus))
	if len(out) > 0 {
		k.tails.sigmoid(len(out), &out[0], &tails[0], &minus[0])
	}
}

// LossGradFromTails computes SignedLossGrad of SigmoidLoss or LogisticLoss from logistic tails. out
// may be tails or d.
func (k *Kernels[F]) LossGradFromTails(phi Loss, out, tails, minus, d []F, add bool) {
	checkLength("LossGradFromTails", len(out), len(tails))
	checkLength("LossGradFromTails", len(out), len(minus))
	checkLength("LossGradFromTails", len(out), len(d))
	if len(out) == 0 {
		return
	}
	pass := k.tails.grad[phi]
	if add {
		pass = k.tails.gradAdd[phi]
	}
	pass(len(out), &out[0], &tails[0], &minus[0], &d[0])
}

// LossGradFromTailsWhere computes LossGradFromTails with d = yes for the rows lo+i of a set and d =
// no for the others.
func (k *Kernels[F]) LossGradFromTailsWhere(phi Loss, out, tails, minus []F, set *RowSet, lo int, yes, no F, add bool) {
	checkLength("LossGradFromTailsWhere", len(out), len(tails))
	checkLength("LossGradFromTailsWhere", len(out), len(minus))
	if len(out) == 0 {
		return
	}
	pass := k.tails.gradWhere[phi]
	if add {
		pass = k.tails.gradAddWhere[phi]
	}
	if words := set.at(lo, len(out)); words != nil {
		pass(len(out), &out[0], &tails[0], &minus[0], words, yes, no)
		return
	}
	for i := range out {
		word := &lone[0]
		if set.has(lo + i) {
			word = &lone[1]
		}
		pass(1, &out[i], &tails[i], &minus[i], word, yes, no)
	}
}

// lone has the words of sets without and with their first row.
var lone = [2]uint16{0, 1}

// productLanes is the number of sums and of products of a LogisticSum. The generator has the same
// constant. A factor of a product is at least 1/2, so a product of mostFactors factors is at least
// 2^-1000, a normal number.
const (
	productLanes = 16
	mostFactors  = 1000
)

// A LogisticSum adds up losses log(1 + e^x) = max(0, x) - log(1 - q) without a logarithm for each:
// the sum of the logarithms is the logarithm of the product, in float64.
//
// There are 16 sums of max(0, x) and 16 products of 1 - q, one for every remainder by 16 of an
// element's index in a call. When a product may have 1,000 factors, the logarithms of all products
// are taken. If all products together have at most 1,000 factors, they are multiplied in increasing
// order and a single logarithm is taken. At the end all sums are added in increasing order.
type LogisticSum struct {
	sums    [2 * productLanes]float64 // sums, then products
	factors int                       // largest number of factors in a product
	total   float64                   // sum of the logarithms
}

// Clear sets the sum to zero.
func (s *LogisticSum) Clear() {
	*s = LogisticSum{}
	s.restart()
}

// Set sets the sum to a number.
func (s *LogisticSum) Set(sum float64) {
	s.Clear()
	s.total = sum
}

func (s *LogisticSum) restart() {
	for l := range productLanes {
		s.sums[productLanes+l] = 1
	}
	s.factors = 0
}

// takeLogarithms adds the logarithms of the products to the total: a single logarithm if the
// product of all products is a normal number for sure.
func (s *LogisticSum) takeLogarithms() {
	products := s.sums[productLanes:]
	if s.factors*productLanes <= mostFactors {
		all := 1.0
		for _, p := range products {
			all *= p
		}
		s.total -= math.Log(all)
	} else {
		for _, p := range products {
			s.total -= math.Log(p)
		}
	}
	s.restart()
}

// Add adds the losses that another sum has so far. It may take the other sum's logarithms.
func (s *LogisticSum) Add(o *LogisticSum) {
	if s.factors+o.factors > mostFactors {
		o.takeLogarithms()
	}
	for l := range productLanes {
		s.sums[l] += o.sums[l]
		s.sums[productLanes+l] *= o.sums[productLanes+l]
	}
	s.factors += o.factors
	s.total += o.total
}

// Value returns the sum so far.
func (s *LogisticSum) Value() float64 {
	s.takeLogarithms()
	sum := s.total
	for _, x := range s.sums[:productLanes] {
		sum += x
	}
	return sum
}

// AddLogistic adds the LogisticLoss of scores s with their logistic tails. sum must have been
// cleared.
func (k *Kernels[F]) AddLogistic(sum *LogisticSum, tails, s, minus []F) {
	checkLength("AddLogistic", len(tails), len(s))
	checkLength("AddLogistic", len(tails), len(minus))
	for len(s) > 0 {
		n := min(len(s), (mostFactors-sum.factors)*productLanes)
		k.tails.logisticSums(n, &tails[0], &s[0], &minus[0], &sum.sums[0])
		if sum.factors += (n + productLanes - 1) / productLanes; sum.factors == mostFactors {
			sum.takeLogarithms()
		}
		tails, s, minus = tails[n:], s[n:], minus[n:]
	}
}

// lossesGo returns the reference of the passes in assembly, in float64, rounded.
func lossesGo[F Float]() losses[F] {
	var l losses[F]
	for phi, f := range map[Loss]struct{ value, slope func(x float64) float64 }{
		SigmoidLoss:  {sigmoid64, sigmoidSlope64},
		LogisticLoss: {logistic64, sigmoid64},
		HingeLoss:    {hinge64, hingeSlope64},
	} {
		l.value[phi] = signedLossGo[F](f.value)
		l.grad[phi], l.gradAdd[phi] = signedLossGradGo[F](f.slope, false), signedLossGradGo[F](f.slope, true)
	}
	return l
}

func signedLossGo[F Float](f func(x float64) float64) func(n int, out, s, minus *F) {
	return func(n int, out, s, minus *F) {
		to, scores, signs := unsafe.Slice(out, n), unsafe.Slice(s, n), unsafe.Slice(minus, n)
		for i := range to {
			to[i] = F(f(float64(signs[i]) * float64(scores[i])))
		}
	}
}

func signedLossGradGo[F Float](slope func(x float64) float64, add bool) func(n int, out, s, minus, d *F) {
	return func(n int, out, s, minus, d *F) {
		to, scores, signs, weights := unsafe.Slice(out, n), unsafe.Slice(s, n), unsafe.Slice(minus, n), unsafe.Slice(d, n)
		for i := range to {
			y := float64(signs[i])
			g := float64(weights[i]) * y * slope(y*float64(scores[i]))
			if add {
				g += float64(to[i])
			}
			to[i] = significant(F(g))
		}
	}
}

func sigmoidSlope64(x float64) float64 {
	t := math.Exp(-math.Abs(x))
	return t / ((1 + t) * (1 + t))
}

// logistic64 returns log(1 + e^x).
func logistic64(x float64) float64 { return math.Max(0, x) + math.Log1p(math.Exp(-math.Abs(x))) }

func hinge64(x float64) float64 { return math.Max(0, 1+x) }

func hingeSlope64(x float64) float64 {
	switch {
	case 1+x > 0:
		return 1
	case x == x:
		return 0
	}
	return x // NaN
}

// tailsGo returns the reference of the passes in assembly, in float64, rounded.
func tailsGo[F Float]() tails[F] {
	sigmoidGrad := func(tail, minus float64) float64 { return math.Abs(tail) * (1 - math.Abs(tail)) }
	logisticGrad := func(tail, minus float64) float64 { return tailSigmoid64(minus * tail) }
	t := tails[F]{pass: unaryGo[F](tail64), sigmoid: tailSigmoidGo[F], logisticSums: tailLogisticSumsGo[F]}
	for phi, slope := range []func(tail, minus float64) float64{SigmoidLoss: sigmoidGrad, LogisticLoss: logisticGrad} {
		t.grad[phi], t.gradAdd[phi] = tailGradGo[F](slope, false), tailGradGo[F](slope, true)
		t.gradWhere[phi], t.gradAddWhere[phi] = tailGradWhereGo(t.grad[phi]), tailGradWhereGo(t.gradAdd[phi])
	}
	return t
}

// tail64 returns 1 / (1 + e^|x|) with the sign of x.
func tail64(x float64) float64 { return math.Copysign(sigmoid64(-math.Abs(x)), x) }

// tailSigmoid64 returns 1 / (1 + e^-x) from the logistic tail of x.
func tailSigmoid64(tail float64) float64 {
	if math.Signbit(tail) {
		return -tail
	}
	return 1 - tail
}

func tailSigmoidGo[F Float](n int, out, tails, minus *F) {
	to, from, signs := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n)
	for i := range to {
		to[i] = F(tailSigmoid64(float64(signs[i]) * float64(from[i])))
	}
}

func tailGradGo[F Float](slope func(tail, minus float64) float64, add bool) func(n int, out, tails, minus, d *F) {
	return func(n int, out, tails, minus, d *F) {
		to, from, signs, weights := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n), unsafe.Slice(d, n)
		for i := range to {
			y := float64(signs[i])
			g := float64(weights[i]) * y * slope(float64(from[i]), y)
			if add {
				g += float64(to[i])
			}
			to[i] = significant(F(g))
		}
	}
}

func tailGradWhereGo[F Float](grad func(n int, out, tails, minus, d *F)) func(n int, out, tails, minus *F, set *uint16, yes, no F) {
	return func(n int, out, tails, minus *F, set *uint16, yes, no F) {
		to, from, signs := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n)
		for i := range n {
			d := no
			if member(set, i) {
				d = yes
			}
			grad(1, &to[i], &from[i], &signs[i], &d)
		}
	}
}

func tailLogisticSumsGo[F Float](n int, tails, s, minus *F, sums *float64) {
	from, scores, signs := unsafe.Slice(tails, n), unsafe.Slice(s, n), unsafe.Slice(minus, n)
	state := unsafe.Slice(sums, 2*productLanes)
	for i, t := range from {
		l := i % productLanes
		state[l] += math.Max(0, float64(signs[i])*float64(scores[i]))
		state[productLanes+l] *= 1 - math.Abs(float64(t))
	}
}

// pairs are the passes of one level over the pairs of rows elements of e and cols elements of f, at
// least one of each.
type pairs[F Float] struct {
	shares                 func(rows, cols int, e, f *F) float64
	sharesGrad, slopesGrad func(rows, cols int, e, de, f, df *F, w F)
}

// PairShares returns the sum over all i and j of f[j] / (e[i] + f[j]), in float64. The elements of
// e and f are positive. With e = e^s and f = e^t, a share is sigmoid(t[j] - s[i]), for one
// exponential function of each element instead of each pair.
func (k *Kernels[F]) PairShares(e, f []F) float64 {
	if len(e) == 0 || len(f) == 0 {
		return 0
	}
	return k.pairs.shares(len(e), len(f), &e[0], &f[0])
}

// The largest |log(f[j] / e[i])| of PairLosses, and the size of a product whose logarithm it adds.
// The product of their exponentials is finite.
const (
	PairRange   = 300
	largeFactor = 1e150
)

// PairLosses returns the sum over all i and j of log(1 + f[j] / e[i]), in float64. The elements of
// e and f are positive and within PairRange. With e = e^s and f = e^t, a term is the logistic loss
// of s[i] - t[j]. The sum of many logarithms is the logarithm of a product, so that no pair needs a
// function.
func (k *Kernels[F]) PairLosses(e, f []F) (sum float64) {
	p, q, r, s := 1.0, 1.0, 1.0, 1.0
	for _, x := range e {
		inverse := 1 / float64(x)
		rest := f
		for ; len(rest) >= 4; rest = rest[4:] {
			p *= 1 + float64(rest[0])*inverse
			q *= 1 + float64(rest[1])*inverse
			r *= 1 + float64(rest[2])*inverse
			s *= 1 + float64(rest[3])*inverse
			if p+q+r+s > largeFactor {
				sum += math.Log(p) + math.Log(q) + math.Log(r) + math.Log(s)
				p, q, r, s = 1, 1, 1, 1
			}
		}
		for _, y := range rest {
			if p *= 1 + float64(y)*inverse; p > largeFactor {
				sum, p = sum+math.Log(p), 1
			}
		}
	}
	return sum + math.Log(p) + math.Log(q) + math.Log(r) + math.Log(s)
}

// AddPairShares computes, row by row,
//
//	de[i] = de[i] - w sum_j r[i,j],   df[j] = df[j] + w sum_i r[i,j]
//
// for the shares r[i,j] = f[j] / (e[i] + f[j]). The sums are in the element type.
func (k *Kernels[F]) AddPairShares(e, de, f, df []F, w F) {
	addPairs("AddPairShares", k.pairs.sharesGrad, e, de, f, df, w)
}

// AddPairSlopes is AddPairShares for r[i,j] = e[i] f[j] / (e[i] + f[j])^2, the derivative of the
// share by t[j].
func (k *Kernels[F]) AddPairSlopes(e, de, f, df []F, w F) {
	addPairs("AddPairSlopes", k.pairs.slopesGrad, e, de, f, df, w)
}

func addPairs[F Float](name string, pass func(rows, cols int, e, de, f, df *F, w F), e, de, f, df []F, w F) {
	checkLength(name, len(e), len(de))
	checkLength(name, len(f), len(df))
	if len(e) > 0 && len(f) > 0 {
		pass(len(e), len(f), &e[0], &de[0], &f[0], &df[0], w)
	}
}

// pairsGo returns the reference of the passes in assembly.
func pairsGo[F Float]() pairs[F] {
	return pairs[F]{
		shares: pairSharesGo[F],
		sharesGrad: addPairsGo(func(e, f F) F {
			return f / (e + f)
		}),
		slopesGrad: addPairsGo(func(e, f F) F {
			q := 1 / (e + f)
			return e * q * (f * q)
		}),
	}
}

func pairSharesGo[F Float](rows, cols int, e, f *F) (sum float64) {
	columns := unsafe.Slice(f, cols)
	for _, x := range unsafe.Slice(e, rows) {
		for _, y := range columns {
			sum += float64(y / (x + y))
		}
	}
	return sum
}

func addPairsGo[F Float](r func(e, f F) F) func(rows, cols int, e, de, f, df *F, w F) {
	return func(rows, cols int, e, de, f, df *F, w F) {
		columns, slopes, row := unsafe.Slice(f, cols), unsafe.Slice(df, cols), unsafe.Slice(de, rows)
		for i, x := range unsafe.Slice(e, rows) {
			var sum F
			for j, y := range columns {
				v := r(x, y)
				sum += v
				slopes[j] += w * v
			}
			row[i] -= w * sum
		}
	}
}
