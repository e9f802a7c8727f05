package decide_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// lending is a linear model on two features of n rows in groups. The objective is the mean of
// sigmoid(-y s). The terms are the means of sigmoid(s) over each group.
type lending struct {
	x        [][2]float64
	rows     binary
	sizes    []float64
	problem  problem.Problem
	smooth   *problem.Affine
	feedback decide.Feedback
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// newLending draws rows whose second feature depends on the group, and bounds the gaps of the
// groups' positive rates.
func newLending(t testing.TB, n, groups int, bound float64) *lending {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(groups)))
	l := &lending{sizes: make([]float64, groups)}
	l.rows.count = groups
	for i := range n {
		g := i % groups
		x := [2]float64{rng.NormFloat64(), rng.NormFloat64() + float64(g)}
		y := 0
		if x[0]+x[1]+0.7*rng.NormFloat64() > 1 {
			y = 1
		}
		l.x, l.rows.groups, l.rows.labels = append(l.x, x), append(l.rows.groups, g), append(l.rows.labels, y)
		l.sizes[g]++
	}
	terms, err := problem.Functions{
		N: 3, M: groups, Regularizer: problem.Regularizer{Kind: problem.SquaredL2, Weight: 1e-5},
		F: func(w []float64) float64 {
			sum := 0.0
			for i := range l.x {
				sum += sigmoid(-l.sign(i) * l.score(w, i))
			}
			return sum / float64(n)
		},
		Gradient: func(dst, w []float64) {
			clear(dst)
			for i := range l.x {
				p := sigmoid(l.score(w, i))
				l.add(dst, i, -l.sign(i)*p*(1-p)/float64(n))
			}
		},
		G: func(dst, w []float64) {
			clear(dst)
			for i, g := range l.rows.groups {
				dst[g] += sigmoid(l.score(w, i)) / l.sizes[g]
			}
		},
		JacobianT: func(dst, w, c []float64) {
			clear(dst)
			for i, g := range l.rows.groups {
				p := sigmoid(l.score(w, i))
				l.add(dst, i, c[g]*p*(1-p)/l.sizes[g])
			}
		},
	}.New(make([]float64, 3))
	require.NoError(t, err)
	slack := 1 / slices.Min(l.sizes)
	target := l.rows.gap(bound, slack)
	var list []problem.AffineRow
	for _, b := range target.Bounds {
		row := b.AffineRow
		row.Coefficients = row.Coefficients[:groups]
		list = append(list, row)
	}
	m, err := problem.NewAffineMap(groups, list)
	require.NoError(t, err)
	if l.smooth, err = problem.NewAffine(terms, m); err != nil {
		t.Fatal(err)
	}
	l.problem = l.smooth
	l.feedback = decide.Feedback{Smooth: l.smooth, Rates: l.rows.rates(t), Target: target, Scores: func() ([]float64, error) { return l.scores(), nil }}
	return l
}

func (l *lending) score(w []float64, i int) float64 { return w[0]*l.x[i][0] + w[1]*l.x[i][1] + w[2] }
func (l *lending) sign(i int) float64               { return float64(2*l.rows.labels[i] - 1) }
func (l *lending) add(dst []float64, i int, c float64) {
	dst[0] += c * l.x[i][0]
	dst[1] += c * l.x[i][1]
	dst[2] += c
}

// weights returns the iterate.
func (l *lending) weights() []float64 {
	w := make([]float64, 3)
	l.smooth.Space().Read(w, problem.Iterate)
	return w
}

func (l *lending) scores() []float64 {
	w, s := l.weights(), make([]float64, len(l.x))
	for i := range s {
		s[i] = l.score(w, i)
	}
	return s
}

// check counts the decisions of the best round, with the offsets of that round.
func (l *lending) check(t *testing.T, name string, r *decide.Result) {
	t.Helper()
	best := r.Rounds[r.Best]
	violation, objective := result(l.feedback.Rates.(*decide.Rates), l.feedback.Target, l.scores(), best.Exact.Offsets)
	if violation != best.Exact.Violation || math.Abs(objective-best.Exact.After) > 1e-12 {
		t.Errorf("%s: the weights give violation %v and error %v, the best round says %v and %v", name, violation, objective, best.Exact.Violation, best.Exact.After)
	}
	if !slices.Equal(best.Shifts, l.smooth.Map().Shifts()) {
		t.Errorf("%s: the map has the shifts %v, the best round %v", name, l.smooth.Map().Shifts(), best.Shifts)
	}
	for k, round := range r.Rounds {
		if round.Exact.Violation < best.Exact.Violation || round.Exact.Violation == best.Exact.Violation && round.Exact.After < best.Exact.After-1e-8 {
			t.Errorf("%s: round %d is better than the best round %d", name, k, r.Best)
		}
	}
	most := 1 + decide.DefaultRounds
	if l.feedback.Start != nil {
		most++
	}
	if len(r.Rounds) > most {
		t.Errorf("%s: %d rounds", name, len(r.Rounds))
	}
}

// halvings checks that the feedback halves its step whenever the excess beyond one row does not
// fall by a quarter. It returns the number of halvings.
func (l *lending) halvings(t *testing.T, name string, r *decide.Result) (count int) {
	t.Helper()
	for k := 1; k+1 < len(r.Rounds); k++ {
		want, now := r.Rounds[k].Theta, l.beyond(&r.Rounds[k])
		from := &r.Rounds[k]
		if now > 0 && now > 0.75*l.beyond(&r.Rounds[k-1]) {
			want /= 2
			count++
			from = bestOf(r.Rounds[:k+1]) // the feedback continues from the best round
		}
		for j, c := range from.Shifts {
			if shift := c + want*(from.Smooth[j]-from.Decisions[j]-c); r.Rounds[k+1].Shifts[j] != shift {
				t.Errorf("%s: after round %d the shift %d is %v, want %v", name, k, j, r.Rounds[k+1].Shifts[j], shift)
			}
		}
		if got := r.Rounds[k+1].Theta; got != want {
			t.Errorf("%s: after round %d the step of the feedback is %v, want %v", name, k, got, want)
		}
	}
	return count
}

// bestOf returns the first round with the least violation, and among equal violations the least
// objective.
func bestOf(rounds []decide.Round) *decide.Round {
	best := &rounds[0]
	for k := range rounds {
		e, b := rounds[k].Exact, best.Exact
		if e.Violation < b.Violation-1e-9 || e.Violation <= b.Violation+1e-9 && e.After < b.After-1e-9 {
			best = &rounds[k]
		}
	}
	return best
}

// beyond returns the largest excess of a round beyond one row.
func (l *lending) beyond(r *decide.Round) float64 {
	worst := math.Inf(-1)
	for j, g := range r.Decisions {
		worst = math.Max(worst, g-l.feedback.Target.Bounds[j].Row-1e-9)
	}
	return worst
}

// grid returns the smallest error of the decisions that meet the bound, over the directions of the
// weights and all thresholds.
func (l *lending) grid(t *testing.T) float64 {
	best, scores := math.Inf(1), make([]float64, len(l.x))
	for k := range 360 {
		angle := float64(k) * math.Pi / 180
		for i := range scores {
			scores[i] = l.score([]float64{math.Cos(angle), math.Sin(angle), 0}, i)
		}
		e := require.Value(decide.Offsets(l.feedback.Rates.(*decide.Rates), l.feedback.Target, scores, 0))(t)
		if e.Violation == 0 {
			best = math.Min(best, e.After)
		}
	}
	return best
}
