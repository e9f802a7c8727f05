package certify

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// affineCase is a problem in n variables with terms that are affine in x, and constraints that are
// affine in the terms.
type affineCase struct {
	gradient    []float64   // grad f
	terms       [][]float64 // the gradients of the terms
	rows        []problem.AffineRow
	g           []float64 // the constraints at x = 0
	regularizer problem.Regularizer
}

// randomCase draws a case. Among the terms are copies, zeros and long ones, among the rows
// differences of terms, as those of gaps, copies and zeros. Half of the constraints are active.
func randomCase(rng *rand.Rand, n, terms, m int) affineCase {
	c := affineCase{gradient: make([]float64, n), rows: make([]problem.AffineRow, m), g: make([]float64, m)}
	for i := range c.gradient {
		c.gradient[i] = rng.NormFloat64()
	}
	for t := range terms {
		h, kind := make([]float64, n), rng.IntN(6)
		for i := range h {
			switch {
			case kind == 0 && t > 0:
				h[i] = c.terms[t-1][i]
			case kind == 1:
				h[i] = 0
			case kind == 2:
				h[i] = 100 * rng.NormFloat64()
			default:
				h[i] = rng.NormFloat64()
			}
		}
		c.terms = append(c.terms, h)
	}
	for j := range c.rows {
		row, kind := make([]float64, terms), rng.IntN(8)
		switch a, b := rng.IntN(terms), rng.IntN(terms); {
		case kind == 0:
		case kind == 1 && j > 0:
			copy(row, c.rows[j-1].Coefficients)
		case kind == 2:
			row[a] = rng.NormFloat64()
		default:
			row[a]++
			row[b]--
		}
		if rng.IntN(2) == 0 {
			c.g[j] = -rng.ExpFloat64() * math.Pow(10, -float64(rng.IntN(5)))
		}
		c.rows[j] = problem.AffineRow{Coefficients: row, Constant: c.g[j]}
	}
	return c
}

// gradientOf returns the gradient of constraint j.
func (c *affineCase) gradientOf(j int) []float64 {
	a := make([]float64, len(c.gradient))
	for t, factor := range c.rows[j].Coefficients {
		for i, v := range c.terms[t] {
			a[i] += factor * v
		}
	}
	return a
}

// problems returns the case as an affine function of its terms, and with its constraints alone,
// both at x.
func (c *affineCase) problems(t testing.TB, x []float64) (affine, plain problem.Problem) {
	t.Helper()
	functions := func(gradients [][]float64, constants []float64) problem.Problem {
		p := require.Value(problem.Functions{N: len(c.gradient), M: len(gradients), Regularizer: c.regularizer,
			F:        func(x []float64) float64 { return vec.Dot(c.gradient, x) },
			Gradient: func(dst, _ []float64) { copy(dst, c.gradient) },
			G: func(dst, y []float64) {
				for j, a := range gradients {
					dst[j] = vec.Dot(a, y) - vec.Dot(a, x) + constants[j]
				}
			},
			JacobianT: func(dst, _, w []float64) {
				clear(dst)
				for j, a := range gradients {
					for i, v := range a {
						dst[i] += w[j] * v
					}
				}
			}}.New(x))(t)
		return p
	}
	m, err := problem.NewAffineMap(len(c.terms), c.rows)
	require.NoError(t, err)
	if affine, err = problem.NewAffine(functions(c.terms, make([]float64, len(c.terms))), m); err != nil {
		t.Fatal(err)
	}
	var gradients [][]float64
	for j := range c.rows {
		gradients = append(gradients, c.gradientOf(j))
	}
	return affine, functions(gradients, c.g)
}

// leastOf certifies p at its iterate without a multiplier.
func leastOf(t testing.TB, p problem.Problem) Certificate {
	t.Helper()
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	return require.Value(Measure(p, &at, nil, Settings{}))(t)
}

// bound returns a lower bound of max(S, K) over all nu >= 0 for r = 0, from a vector q of length 1:
// for 0 <= a <= 1 with a (J q)_j + (1 - a) |g_j| >= 0 for all j, by weak duality,
//
//	max(S, K) >= a S + (1 - a) K >= a q.grad f + sum_j nu_j (a (J q)_j + (1 - a) |g_j|)
//	          >= a q.grad f.
//
// A q that misses this by rounding counts as a vector that meets it.
func (c *affineCase) bound(q []float64) float64 {
	length, odds := vec.Norm(q), 0.0 // (1 - a)/a
	if length == 0 {
		return 0
	}
	for j := range c.rows {
		a := c.gradientOf(j)
		if slope := vec.Dot(a, q)/length + 1e-7*vec.Norm(a); slope < 0 {
			odds = max(odds, slope/c.g[j])
		}
	}
	return max(0, vec.Dot(q, c.gradient)/length/(1+odds))
}

// TestLeastEpsilonIsSmallest proves by duality that no multiplier shows a smaller epsilon, for
// random problems with dependent, equal and vanishing gradients, by terms and by constraints.
func TestLeastEpsilonIsSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for trial := range 200 {
		constraints := gramLimit + 1 + rng.IntN(60)
		if trial%50 == 0 {
			constraints += 3 * gramRows
		}
		c := randomCase(rng, 1+rng.IntN(12), 2+rng.IntN(10), constraints)
		affine, plain := c.problems(t, make([]float64, len(c.gradient)))
		for name, p := range map[string]problem.Problem{"by terms": affine, "by constraints": plain} {
			cert := leastOf(t, p)
			q := append([]float64(nil), c.gradient...)
			for j, nu := range cert.Nu {
				if !(nu >= 0) {
					t.Fatalf("trial %d, %s: nu_%d = %v", trial, name, j, nu)
				}
				for i, v := range c.gradientOf(j) {
					q[i] += nu * v
				}
			}
			if least := c.bound(q); cert.NotResolved || cert.Epsilon > 1.002*least+1e-8 {
				t.Errorf("trial %d, %s: epsilon %v (S %v, K %v), not resolved: %v; by duality the smallest is at least %v",
					trial, name, cert.Epsilon, cert.Stationarity, cert.Complementarity, cert.NotResolved, least)
			}
		}
	}
}

// TestLeastEpsilonAgainstOthers compares the multiplier with others, near and far, for each
// regularizer: none shows an epsilon that is smaller by more than a thousandth.
func TestLeastEpsilonAgainstOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for _, r := range []problem.Regularizer{{}, {Kind: problem.SquaredL2, Weight: 0.3}, {Kind: problem.L1, Weight: 0.4},
		{Kind: problem.Ball, Radius: 2}, {Kind: problem.Box, Lower: -1, Upper: 1}, {Kind: problem.GroupL1, Weight: 0.5, Groups: []int{2, 4}}} {
		for trial := range 20 {
			c := randomCase(rng, 4, 3+rng.IntN(4), gramLimit+1+rng.IntN(20))
			c.regularizer = r
			x := [][]float64{{0, 0, 1, -1}, {2, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 0}}[trial%4]
			p, _ := c.problems(t, x)
			cert := leastOf(t, p)
			if cert.NotResolved {
				t.Errorf("%v, trial %d: not resolved: %+v", r.Kind, trial, cert)
			}
			at := problem.NewPoint(p)
			require.NoError(t, at.Forward(p))
			for k := range 400 {
				nu := append([]float64(nil), cert.Nu...)
				for range 1 + rng.IntN(3) {
					j := rng.IntN(len(nu))
					nu[j] = max(0, nu[j]+math.Pow(10, -float64(k%5))*rng.NormFloat64())
				}
				if other, err := Measure(p, &at, nu, Settings{}); err != nil || other.Epsilon < cert.Epsilon/1.0011-1e-8 {
					t.Fatalf("%v, trial %d: epsilon %v at %v, but %v at %v: %v", r.Kind, trial, cert.Epsilon, cert.Nu, other.Epsilon, nu, err)
				}
			}
		}
	}
}

// The gradients of the terms span those of the constraints: 1 + R passes, and one for the result.
func TestPassesOfTerms(t *testing.T) {
	c := randomCase(rand.New(rand.NewPCG(8, 3)), 5, 4, 50)
	_, plain := c.problems(t, make([]float64, 5))
	inner := &counted{}
	m := require.Value(problem.NewAffineMap(4, c.rows))(t)
	affine, _ := c.problems(t, make([]float64, 5))
	inner.Problem = affine.(*problem.Affine).Inner()
	p := require.Value(problem.NewAffine(inner, m))(t)
	if leastOf(t, p); inner.backward != 6 {
		t.Errorf("%d passes for 50 constraints of 4 terms, want 6", inner.backward)
	}
	all := &counted{Problem: plain}
	if leastOf(t, all); all.backward != 52 {
		t.Errorf("%d passes for 50 constraints, want 52", all.backward)
	}
	for failing := range 7 { // each failed pass is an error
		f := &counted{Problem: inner.Problem, failing: failing}
		p := require.Value(problem.NewAffine(f, m))(t)
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		if _, err := Measure(p, &at, nil, Settings{}); (err != nil) != (failing > 0) || err != nil && !errors.Is(err, errPass) {
			t.Errorf("a failure at pass %d: %v", failing, err)
		}
	}
}

// With more terms than constraints, or than the certificate may keep, the constraints have a pass
// each.
func TestMoreTermsThanConstraints(t *testing.T) {
	c := randomCase(rand.New(rand.NewPCG(8, 4)), 5, 50, 40)
	affine, _ := c.problems(t, make([]float64, 5))
	inner := &counted{Problem: affine.(*problem.Affine).Inner()}
	p := require.Value(problem.NewAffine(inner, affine.(*problem.Affine).Map()))(t)
	if leastOf(t, p); inner.backward != 42 {
		t.Errorf("%d passes for 40 constraints of 50 terms, want 42", inner.backward)
	}
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	inner.backward = 0
	few := &certifier{p: p, at: &at, x: make([]float64, 5), residual: make([]float64, 5), scratch: problem.NewScratch(p.Space())}
	if exact, err := few.leastEpsilon(make([]float64, 40), 7, 0); err != nil || exact || inner.backward != 8 {
		t.Errorf("exact %v after %d passes of at most 7 gradients: %v", exact, inner.backward, err)
	}
}

// With fewer gradients than constraints, the constraints with the largest g have multipliers, and
// the certificate is not resolved.
func TestTooManyGradients(t *testing.T) {
	terms := make([][3]float64, gramLimit+8)
	for j := range terms {
		terms[j] = [3]float64{1, 0, -1 - float64(j%7)} // g_j = 0 for each seventh j
	}
	p := require.Value(linear([2]float64{-1, 0.5}, problem.Regularizer{}, nil, terms...).New([]float64{1, 0}))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	for _, test := range []struct {
		most  int
		floor float64
		exact bool
	}{{len(terms), 0, true}, {3, 0, false}, {3, 0.6, true}} {
		c := &certifier{p: &counted{Problem: p}, at: &at, x: []float64{1, 0}, residual: make([]float64, 2), scratch: problem.NewScratch(p.Space())}
		nu := make([]float64, len(terms))
		exact, err := c.leastEpsilon(nu, test.most, test.floor)
		sum := 0.0
		for j, v := range nu {
			if sum += v; v > 0 && at.Constraints[j] != 0 {
				t.Errorf("%+v: constraint %d with g = %v has a multiplier", test, j, at.Constraints[j])
			}
		}
		if passes := c.p.(*counted).backward; err != nil || exact != test.exact || math.Abs(sum-1) > 1e-12 || passes != 1+test.most {
			t.Errorf("%+v: exact %v after %d passes, the multipliers have the sum %v, want 1: %v", test, exact, passes, sum, err)
		}
	}
}

// BenchmarkLeastEpsilon finds the multipliers of the gaps between the rates of 77 groups.
func BenchmarkLeastEpsilon(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 1))
	const n, groups = 107, 77
	c := affineCase{gradient: make([]float64, n)}
	for i := range c.gradient {
		c.gradient[i] = 0.01 * rng.NormFloat64()
	}
	rates := make([]float64, groups)
	for a := range groups {
		h := make([]float64, n)
		for i := range h {
			h[i] = 0.1 * rng.NormFloat64()
		}
		c.terms, rates[a] = append(c.terms, h), 0.3+0.05*rng.Float64()
	}
	for a := range groups {
		for d := range groups {
			if a != d {
				row := make([]float64, groups)
				row[a], row[d] = 1, -1
				c.g = append(c.g, rates[a]-rates[d]-0.05)
				c.rows = append(c.rows, problem.AffineRow{Coefficients: row, Constant: rates[a] - rates[d], Bound: 0.05})
			}
		}
	}
	p, _ := c.problems(b, make([]float64, n))
	for b.Loop() {
		leastOf(b, p)
	}
}

// TestBalance finds the weights at which ratios are 1, from both sides, near and far, and of a
// ratio that bends. A ratio that never comes to 1 moves the weight by ever larger factors.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		ratio func(w float64) float64
		zero  float64
		most  int
	}{
		{func(w float64) float64 { return 1 / math.Sqrt(w) }, 1, 6},
		{func(w float64) float64 { return 1e-3 / w }, 1e-3, 6},
		{func(w float64) float64 { return math.Pow(w/5000, -0.4) }, 5000, 8},
		{func(w float64) float64 { return 2/(1+100*w) + 0.1 }, 11. / 9 / 100, 12},
	} {
		var b balance
		w, tries := 1., 0
		for ; math.Abs(math.Log(w/c.zero)) > 1e-3 && tries < 50; tries++ {
			w = b.next(w, c.ratio(w))
		}
		if tries > c.most {
			t.Errorf("%d tries to %v, which is %v after them; want at most %d", tries, c.zero, w, c.most)
		}
	}
	var b balance
	w := 1.
	for range 6 {
		w = b.next(w, 0.5+w/10)
	}
	if !(w < 1e-20) {
		t.Errorf("the weight is %v after 6 tries, want a tiny one", w)
	}
	if w := new(balance).next(1, math.Inf(1)); w != math.Exp(firstMost) {
		t.Errorf("the weight after an infinite ratio is %v", w)
	}
}
