package vec

import (
	"math"
	"sync"
)

const (
	nodes    = 12   // of a bin
	reach    = 40   // bins; e^-40 is below the last bit of 1
	mostBins = 4096 // between the least and the largest score
)

// table has phi and phi' between the nodes of two bins, which depend on the distance of the bins.
type table struct {
	value, slope [2*reach + 1][nodes * nodes]float64 // by distance + reach, the node of s and the node of t
	far, rise    float64                             // phi(y) = far + rise y for y far below 0; phi(y) = 0 far above 0
}

// chebyshev has cos(pi k (m + 1/2) / nodes), the polynomial T_k at node m.
var chebyshev = func() (t [nodes][nodes]float64) {
	for k := range t {
		for m := range t[k] {
			t[k][m] = math.Cos(math.Pi * float64(k) * (float64(m) + 0.5) / nodes)
		}
	}
	return t
}()

// place returns the place of node m in its bin, in (0, 1).
func place(m int) float64 { return (1 + chebyshev[1][m]) / 2 }

// tables has the functions by the names of their surrogates.
var tables = map[string]func() *table{
	"sigmoid": sync.OnceValue(func() *table {
		return newTable(1, 0, func(y float64) (value, slope float64) {
			v := 1 / (1 + math.Exp(y))
			return v, -v / (1 + math.Exp(-y))
		})
	}),
	"logistic": sync.OnceValue(func() *table {
		return newTable(0, -1, func(y float64) (value, slope float64) { return math.Log1p(math.Exp(-y)), -1 / (1 + math.Exp(y)) })
	}),
}

// newTable computes the table of phi.
func newTable(far, rise float64, phi func(y float64) (value, slope float64)) *table {
	t := &table{far: far, rise: rise}
	for d := range t.value {
		for k := range nodes {
			for l := range nodes {
				t.value[d][k*nodes+l], t.slope[d][k*nodes+l] = phi(float64(d-reach) + place(k) - place(l))
			}
		}
	}
	return t
}

// PairSums sums a smooth function of the difference of two scores over all pairs of the
// scores of two lists, in a time that grows with the scores and not with their pairs.
//
// The scores are divided into bins of width 1. Within two bins, phi(s - t) is nearly a polynomial
// of s and of t, because the nearest singularities of the logistic function lie at a distance of pi
// from the real axis. A bin of a list becomes weights W at Chebyshev nodes (x_k, with the basis l_k
// of Lagrange), and
//
//	sum_i sum_j phi(s_i - t_j) = sum_kl W_k V_l phi(x_k - y_l),   W_k = sum_i l_k(s_i).
//
// Beyond a distance of reach bins, phi is linear to the last bit. The relative error is below
// 1e-12. (Fong and Darve, "The black-box fast multipole method", 2009, with one level.)
//
// LoadScores reads the scores. PairSums keeps its memory from one call to the next.
type PairSums struct {
	t        *table
	lists    int
	ends     []int     // list b has the scores ends[b-1] to ends[b]-1
	bins     []int32   // of each score
	at       []float64 // the place of each score in its bin, in [-1, 1]
	n        int       // number of bins
	occupied []bool    // bins with scores
	weights  []float64 // at the nodes of the bins, list by list
	fields   []float64 // the potential of each list at the nodes: see potential
	known    []bool    // the lists whose potential is in fields
	mixed    [3][]float64
}

// LeastPairs is the number of pairs for each list above which PairSums is faster than a loop over
// the pairs.
const LeastPairs = 1 << 18

// NewPairSums returns sums of 1/(1+e^y), named sigmoid, or log(1+e^-y), named logistic. It returns
// nil for other names.
func NewPairSums(phi string) *PairSums {
	t, known := tables[phi]
	if !known {
		return nil
	}
	return &PairSums{t: t()}
}

// LoadScores reads the scores of the lists: list b has the scores ends[b-1] to ends[b]-1. It
// returns false if the scores are not finite or too far apart; then no other method may be called.
func LoadScores[T float32 | float64](s *PairSums, scores []T, ends []int) bool {
	least, most := scores[0], scores[0]
	for _, v := range scores {
		if v != v {
			return false
		}
		least, most = min(least, v), max(most, v)
	}
	spread := float64(most) - float64(least)
	if !(spread < mostBins) {
		return false
	}
	s.n, s.lists, s.ends = int(spread)+1, len(ends), append(s.ends[:0], ends...)
	s.bins, s.at = grown(s.bins, len(scores)), grown(s.at, len(scores))
	s.occupied, s.known = grown(s.occupied, s.n), grown(s.known, s.lists)
	clear(s.occupied)
	clear(s.known)
	for i, v := range scores {
		x := float64(v) - float64(least)
		bin := int32(x)
		s.bins[i], s.at[i] = bin, 2*(x-float64(bin))-1
		s.occupied[bin] = true
	}
	s.weights, s.fields = grown(s.weights, s.lists*s.n*nodes), grown(s.fields, s.lists*s.n*nodes)
	clear(s.weights)
	from := 0
	for b, end := range ends {
		s.gather(s.block(s.weights, b), from, end)
		from = end
	}
	for k := range s.mixed {
		s.mixed[k] = grown(s.mixed[k], s.n*nodes)
	}
	return true
}

// grown returns n elements, in the memory of list if it has room.
func grown[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	return list[:n]
}

// block returns the elements of list b.
func (s *PairSums) block(all []float64, b int) []float64 { return all[b*s.n*nodes:][:s.n*nodes] }

// gather sets w to the weights at the nodes of the scores [from, to). It first sums T_k over the
// scores of a bin.
func (s *PairSums) gather(w []float64, from, to int) {
	for i, bin := range s.bins[from:to] {
		x := s.at[from+i]
		m := (*[nodes]float64)(w[int(bin)*nodes:])
		before, now := 1.0, x
		m[0]++
		for k := 1; k < nodes; k++ {
			m[k] += now
			before, now = now, 2*x*now-before
		}
	}
	for bin := range s.n {
		m := (*[nodes]float64)(w[bin*nodes:])
		sums := *m
		if sums[0] == 0 {
			continue
		}
		for l := range m {
			v := sums[0] / 2
			for k := 1; k < nodes; k++ {
				v += sums[k] * chebyshev[k][l]
			}
			m[l] = v * 2 / nodes
		}
	}
}

// potential sets out to the sums over the weights w, at the nodes x of the bins:
//
//	out(x) = sum_l w_l phi(x - y_l),   swapped: sum_l w_l phi(y_l - x),
//
// with the values of near, which are those of phi, or of phi' if far is 0.
func (s *PairSums) potential(out, w []float64, near *[2*reach + 1][nodes * nodes]float64, far, rise float64, swapped bool) {
	clear(out)
	for bin := range s.n {
		if !s.occupied[bin] {
			continue
		}
		field := (*[nodes]float64)(out[bin*nodes:])
		for other := max(0, bin-reach); other < min(s.n, bin+reach+1); other++ {
			if !s.occupied[other] {
				continue
			}
			v := (*[nodes]float64)(w[other*nodes:])
			if swapped {
				m := &near[other-bin+reach]
				for l, weight := range v {
					row := (*[nodes]float64)(m[l*nodes:])
					for k := range field {
						field[k] += weight * row[k]
					}
				}
				continue
			}
			m := &near[bin-other+reach]
			for k := range field {
				row := (*[nodes]float64)(m[k*nodes:])
				sum := 0.0
				for l, weight := range v {
					sum += weight * row[l]
				}
				field[k] += sum
			}
		}
	}
	if s.n <= reach || far == 0 && rise == 0 {
		return
	}
	s.addFar(out, w, far, rise, swapped)
}

// addFar adds the weights of the bins that are more than reach bins away, on the side on which phi
// is not 0.
func (s *PairSums) addFar(out, w []float64, far, rise float64, swapped bool) {
	count, sum := 0.0, 0.0 // of the weights, and of the weights times their places
	for step := range s.n {
		bin, other := s.n-1-step, s.n+reach-step // s is far below t
		if swapped {
			bin, other = step, step-reach-1
		}
		if other >= 0 && other < s.n {
			for l, weight := range w[other*nodes:][:nodes] {
				count, sum = count+weight, sum+weight*(float64(other)+place(l))
			}
		}
		for k := range nodes {
			difference := (float64(bin)+place(k))*count - sum
			if swapped {
				difference = -difference
			}
			out[bin*nodes+k] += far*count + rise*difference
		}
	}
}

// Sum returns the sum of phi(s_i - s_j) over the scores s_i of list a and s_j of list b.
func (s *PairSums) Sum(a, b int) (sum float64) {
	field := s.block(s.fields, b)
	if !s.known[b] {
		s.known[b] = true
		s.potential(field, s.block(s.weights, b), &s.t.value, s.t.far, s.t.rise, false)
	}
	for k, w := range s.block(s.weights, a) {
		sum += w * field[k]
	}
	return sum
}

// SetSlopes sets d to the derivative of sum_ab v_ab Sum(a, b) by each score. v has the factors of
// all pairs of lists, row by row.
func SetSlopes[T float32 | float64](s *PairSums, d []T, v []float64) {
	from := 0
	for a, end := range s.ends {
		field, other, w := s.mixed[0], s.mixed[1], s.mixed[2]
		clear(field)
		if s.mix(w, func(b int) float64 { return v[a*s.lists+b] }) {
			s.potential(field, w, &s.t.slope, s.t.rise, 0, false)
		}
		if s.mix(w, func(b int) float64 { return v[b*s.lists+a] }) {
			s.potential(other, w, &s.t.slope, s.t.rise, 0, true)
			for k, x := range other {
				field[k] -= x
			}
		}
		s.coefficients(field)
		for i := from; i < end; i++ {
			d[i] = T(clenshaw((*[nodes]float64)(field[int(s.bins[i])*nodes:]), s.at[i]))
		}
		from = end
	}
}

// mix sets w to the weights of all lists times their factors. It returns false if all factors are
// 0.
func (s *PairSums) mix(w []float64, factor func(b int) float64) (some bool) {
	clear(w)
	for b := range s.lists {
		f := factor(b)
		if f == 0 {
			continue
		}
		some = true
		for k, x := range s.block(s.weights, b) {
			w[k] += f * x
		}
	}
	return some
}

// coefficients replaces values at the nodes by the coefficients of the polynomials T_k.
func (s *PairSums) coefficients(field []float64) {
	for bin := range s.n {
		f := (*[nodes]float64)(field[bin*nodes:])
		values := *f
		for k := range f {
			sum := 0.0
			for m, v := range values {
				sum += v * chebyshev[k][m]
			}
			f[k] = sum * 2 / nodes
		}
		f[0] /= 2
	}
}

// clenshaw returns sum_k c_k T_k(x).
func clenshaw(c *[nodes]float64, x float64) float64 {
	var a, b float64
	for k := nodes - 1; k > 0; k-- {
		a, b = c[k]+2*x*a-b, a
	}
	return c[0] + x*a - b
}
