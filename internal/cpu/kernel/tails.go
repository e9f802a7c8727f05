package kernel

import "math"

// tails holds the passes of one level over logistic tails.
type tails[F Float] struct {
	of            func(n int, out, s *F)
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
		k.tails.of(len(out), &out[0], &s[0])
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
	pass(len(out), &out[0], &tails[0], &minus[0], set.at(lo, len(out)), yes, no)
}

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
