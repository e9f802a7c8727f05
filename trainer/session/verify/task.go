package verify

import (
	"fmt"
	"math"
	"slices"

	"ppal/trainer/session"
)

// number is a recomputed value. The reported value may differ by the tolerance. defined is false
// for a value without rows.
type number struct {
	value, tolerance float64
	defined          bool
}

// named is a number with its key in the run's files.
type named struct {
	name string
	number
}

// evaluator evaluates the task of a run on the rows of a part.
type evaluator interface {
	// smooth returns f without the regularizer, and g, at the scores.
	smooth(scores []float64) (f float64, g []float64)
	// direction returns the derivative of f + nu.g by the scores. ties says that a maximum in g has
	// several largest pieces, so that its derivative is not unique.
	direction(scores, nu []float64) (d []float64, ties bool)
	// measures returns the measures of the part, as the summary names them.
	measures(scores []float64, e slack) ([]named, error)
	// decisions returns the minimised rate and the constraints on counted decisions.
	decisions(scores []float64, e float64) (objective number, constraints []number, err error)
	// intervals returns the 95% intervals of the minimised rate and of the constraints on decisions,
	// on held-out rows; nil: none. decisions precedes it.
	intervals(scores []float64) (objective *[2]float64, constraints []*[2]float64)
	// meanings lists, for each constraint on decisions, the constraints g that state it.
	meanings() [][]int
}

// slack holds the errors of reported values at a point.
type slack struct {
	score float64   // of each score
	f     float64   // of f
	g     []float64 // of g
}

// manyConstraints is the number of constraints above which slackOf does not differentiate each of
// them.
const manyConstraints = 32

// slackOf returns the errors of f and g that an error e of each score can cause, to first order: e
// times the sum of the absolute derivatives by the scores. Many constraints get the bound 2 e,
// because a constraint is the difference of two means with slopes of at most 1.
func slackOf(v evaluator, scores []float64, constraints int, e float64) slack {
	s, nu := slack{score: e}, make([]float64, constraints)
	base, _ := v.direction(scores, nu)
	for _, d := range base {
		s.f += e * math.Abs(d)
	}
	for j := range nu {
		if constraints > manyConstraints {
			s.g = append(s.g, 2*e)
			continue
		}
		nu[j] = 1
		d, _ := v.direction(scores, nu)
		nu[j] = 0
		sum := 0.0
		for i := range d {
			sum += e * math.Abs(d[i]-base[i])
		}
		s.g = append(s.g, sum)
	}
	return s
}

// newEvaluator returns the evaluator of a part.
func newEvaluator(in *session.Inputs, p *session.Part) (evaluator, error) {
	if in.System != nil {
		return newLinear(in, p)
	}
	switch t := in.Task.(type) {
	case session.NeymanPearson:
		return newMargins(in, p, t)
	case session.DemographicParity:
		return newGaps(in, p, t.Phi, t.Psi, t.Gaps, t.Epsilon, 0)
	case session.EqualizedOdds:
		return newGaps(in, p, t.Phi, t.Psi, t.Gaps, t.Epsilon, 1, -1)
	case session.Intersectional:
		return newGroups(in, p, t)
	}
	return nil, fmt.Errorf("verify: the task %T has no check", in.Task)
}

// worst returns max(0, max g).
func worst(g []float64) float64 { return max(0, slices.Max(append([]float64{0}, g...))) }

// rounding is the relative difference that sums in another order may have.
const rounding = 1e-9

// smoothNumber returns a smooth value that the error of all scores changes by at most change.
func smoothNumber(v, change float64) number {
	return number{v, change + rounding*(1+math.Abs(v)), true}
}

// share counts the rows that meet a condition. unsure counts the rows whose decision the error of
// the scores can change; nil: no row.
func share(rows []int, meets, unsure func(i int) bool) number {
	hits, doubtful := 0, 0
	for _, i := range rows {
		if meets(i) {
			hits++
		}
		if unsure != nil && unsure(i) {
			doubtful++
		}
	}
	if len(rows) == 0 {
		return number{}
	}
	n := float64(len(rows))
	return number{float64(hits) / n, float64(doubtful)/n + 1e-12, true}
}

// all returns the indices 0 to n-1.
func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// margins is the multi-class Neyman-Pearson problem:
//
//	loss of row i of class c:  sum over j != c of phi(s_c - s_j)
//	f = mean loss of class 0,  g_k = mean loss of class k - kappa_k
type margins struct {
	phi     surrogate
	of      []int // class of each row
	numbers []int // the classes' numbers in names
	size    []float64
	kappa   []float64
}

func newMargins(in *session.Inputs, p *session.Part, t session.NeymanPearson) (*margins, error) {
	phi, err := surrogateOf(t.Phi)
	m := &margins{phi: phi, of: p.Classes, size: make([]float64, len(p.Rows.Classes))}
	for _, c := range p.Rows.Classes {
		m.numbers = append(m.numbers, c.Number)
	}
	for _, c := range p.Classes {
		m.size[c]++
	}
	for k := range len(m.size) - 1 {
		m.kappa = append(m.kappa, t.Kappa[min(k, len(t.Kappa)-1)])
	}
	return m, err
}

// losses returns the mean loss of each class.
func (m *margins) losses(scores []float64) []float64 {
	c := len(m.size)
	sum := make([]float64, c)
	for i, own := range m.of {
		s := scores[i*c:][:c]
		for j := range s {
			if j != own {
				sum[own] += m.phi.value(s[own] - s[j])
			}
		}
	}
	for k := range sum {
		sum[k] /= m.size[k]
	}
	return sum
}

func (m *margins) smooth(scores []float64) (f float64, g []float64) {
	l := m.losses(scores)
	for k, b := range m.kappa {
		g = append(g, l[1+k]-b)
	}
	return l[0], g
}

func (m *margins) direction(scores, nu []float64) ([]float64, bool) {
	c := len(m.size)
	d := make([]float64, len(scores))
	weights := append([]float64{1}, nu...)
	for i, own := range m.of {
		s, to := scores[i*c:][:c], d[i*c:][:c]
		for j := range s {
			if j != own {
				v := weights[own] / m.size[own] * m.phi.slope(s[own]-s[j])
				to[own] += v
				to[j] -= v
			}
		}
	}
	return d, false
}

func (m *margins) measures(scores []float64, e slack) ([]named, error) {
	f, g := m.smooth(scores)
	list := []named{{"max_violation", smoothNumber(worst(g), worst(e.g))}, {fmt.Sprintf("loss_%d", m.numbers[0]), smoothNumber(f, e.f)}}
	for k := range g {
		list = append(list, named{fmt.Sprintf("loss_%d", m.numbers[1+k]), smoothNumber(g[k]+m.kappa[k], e.g[k])})
	}
	for k := range m.size {
		list = append(list, named{fmt.Sprintf("error_%d", m.numbers[k]), m.errorOf(k, scores, e.score)})
	}
	return append(list, named{"error", m.errorOf(-1, scores, e.score)}), nil
}

// errorOf returns the share of wrong decisions of class k, or of all rows for -1.
func (m *margins) errorOf(k int, scores []float64, e float64) number {
	c := len(m.size)
	var rows []int
	for i, own := range m.of {
		if k < 0 || own == k {
			rows = append(rows, i)
		}
	}
	return share(rows, func(i int) bool { return largestAt(scores[i*c:][:c]) != m.of[i] },
		func(i int) bool { return unsureOf(scores[i*c:][:c], e) })
}

func (m *margins) decisions(scores []float64, e float64) (number, []number, error) {
	var list []number
	for k := range m.kappa {
		list = append(list, m.errorOf(1+k, scores, e))
	}
	return m.errorOf(0, scores, e), list, nil
}

func (m *margins) meanings() [][]int {
	var list [][]int
	for j := range m.kappa {
		list = append(list, []int{j})
	}
	return list
}

// unsureOf reports whether an error e of the scores of a row can change its decision.
func unsureOf(scores []float64, e float64) bool {
	if len(scores) == 1 {
		return math.Abs(scores[0]) <= e
	}
	at := largestAt(scores)
	for k, s := range scores {
		if k != at && scores[at]-s <= 2*e {
			return true
		}
	}
	return false
}

var _ evaluator = (*margins)(nil)
