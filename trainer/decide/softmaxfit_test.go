package decide

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

// fourRows is a fit of three classes with 2, 1 and 1 rows.
func fourRows() *softmaxFit {
	return newSoftmaxFit([]float64{2, 1, -1, 0.5, -4, 1, -2, 3, 1, 1, 0, 2}, []int{0, 0, 1, 2}, 3)
}

// TestSoftmaxStart checks the start by hand: the slope 0, and intercepts that give the shares of
// the classes with one more row in each class.
func TestSoftmaxStart(t *testing.T) {
	f := newSoftmaxFit(make([]float64, 12), []int{0, 1, 1, 1}, 3)
	want := []float64{0, math.Log(2), math.Log(0.5)}
	if x := f.start(); !slices.EqualFunc(x, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
		t.Errorf("%v, want %v", x, want)
	}
}

// TestSoftmaxLoss compares the loss with -sum_ik t_ik log p_ik, with the targets of four rows by
// hand, at two points in turns.
func TestSoftmaxLoss(t *testing.T) {
	f := fourRows()
	targets := [][]float64{{3. / 4, 1. / 8, 1. / 8}, {3. / 4, 1. / 8, 1. / 8}, {1. / 6, 2. / 3, 1. / 6}, {1. / 6, 1. / 6, 2. / 3}}
	for _, x := range [][]float64{{1.5, -0.5, 0.25}, {-400, 300, -600}, {1.5, -0.5, 0.25}} {
		want := 0.0
		for i, target := range targets {
			z, sum := make([]float64, 3), 0.0
			for k := range z {
				z[k] = x[0] * f.scores[3*i+k] / 4 // the largest score is -4
				if k > 0 {
					z[k] += x[k]
				}
			}
			for _, v := range z {
				sum += math.Exp(v - slices.Max(z))
			}
			for k, v := range z {
				want -= target[k] * (v - slices.Max(z) - math.Log(sum))
			}
		}
		if got := f.loss(x); !(math.Abs(got-want) < 1e-12*(1+want)) {
			t.Errorf("the loss at %v is %v, want %v", x, got, want)
		}
	}
}

// TestSoftmaxNewton checks that the Newton step solves H step = -g for the gradient and the Hessian
// of the loss by central differences.
func TestSoftmaxNewton(t *testing.T) {
	f, x := fourRows(), []float64{1.5, -0.5, 0.25}
	moved := func(steps ...float64) float64 {
		y := slices.Clone(x)
		for k, s := range steps {
			y[k] += s
		}
		return f.loss(y)
	}
	f.loss([]float64{0, 0, 0}) // newton sets its own parameters
	step, ok := f.newton(x)
	if !ok {
		t.Fatal("no step")
	}
	const d = 1e-4
	at := func(j, k int, a, b float64) float64 {
		s := make([]float64, 3)
		s[j] += a
		s[k] += b
		return moved(s...)
	}
	for j := range 3 {
		g := (at(j, j, d, 0) - at(j, j, -d, 0)) / (2 * d)
		sum := g
		for k := range 3 {
			sum += step[k] * (at(j, k, d, d) - at(j, k, d, -d) - at(j, k, -d, d) + at(j, k, -d, -d)) / (4 * d * d)
		}
		if math.Abs(g) < 0.01 || math.Abs(sum) > 1e-6 {
			t.Errorf("row %d of H step + g is %v, where g is %v", j, sum, g)
		}
	}
}

// TestSoftmaxDescend halves five times the Newton step: the full
// step and its half do not lower the loss, and the quarter does. No part of a rising step does.
func TestSoftmaxDescend(t *testing.T) {
	f, x := fourRows(), []float64{1.5, -0.5, 0.25}
	step, ok := f.newton(x)
	if !ok {
		t.Fatal("no step")
	}
	vec.Scale(step, 5)
	from, value := slices.Clone(x), f.loss(x)
	along := func(t float64) []float64 {
		y := slices.Clone(from)
		for k, s := range step {
			y[k] += t * s
		}
		return y
	}
	if f.loss(along(1)) < value || f.loss(along(0.5)) < value || f.loss(along(0.25)) >= value {
		t.Fatal("the example does not need two halvings")
	}
	if !f.descend(x, step) || !slices.Equal(x, along(0.25)) {
		t.Errorf("at %v, want %v", x, along(0.25))
	}
	copy(x, from)
	vec.Scale(step, -1)
	if f.descend(x, step) || !slices.Equal(x, from) {
		t.Errorf("a rising step moves %v to %v", from, x)
	}
}

// TestSoftmaxTolerance checks the end of the fit: no step if the sum of the absolute derivatives is
// below 1e-10 for each row, and a step above.
func TestSoftmaxTolerance(t *testing.T) {
	f := fourRows()
	x := f.start()
	for range 20 {
		if step, ok := f.newton(x); ok {
			f.descend(x, step)
		}
	}
	if _, ok := f.newton(x); ok {
		t.Fatal("no solution after 20 steps")
	}
	// Along an intercept the derivatives change by (H_01, H_11, H_12) for each unit.
	const d = 1e-4
	sum := 0.0
	for k := range 3 {
		at := func(a, b float64) float64 {
			y := slices.Clone(x)
			y[k] += a
			y[1] += b
			return f.loss(y)
		}
		sum += math.Abs(at(d, d)-at(d, -d)-at(-d, d)+at(-d, -d)) / (4 * d * d)
	}
	for share, want := range map[float64]bool{0.9: false, 1.1: true} {
		y := slices.Clone(x)
		y[1] += share * 4 * 1e-10 / sum
		if _, ok := f.newton(y); ok != want {
			t.Errorf("derivatives of %v times the tolerance: step %v, want %v", share, ok, want)
		}
	}
}

// TestFitSoftmaxEnds checks that the fit is the minimum of the loss in the units of the scores,
// from a start whose full Newton steps do not converge.
func TestFitSoftmaxEnds(t *testing.T) {
	scores, labels := []float64{0, -1000}, []int{0}
	for range 60 {
		scores, labels = append(scores, 0, 1), append(labels, 1)
	}
	for range 3 {
		scores, labels = append(scores, 0, -1), append(labels, 0)
	}
	f := newSoftmaxFit(scores, labels, 2)
	p, err := FitSoftmax(scores, labels, 2)
	if err != nil || p.Intercepts[0] != 0 {
		t.Fatal(p, err)
	}
	if step, ok := f.newton([]float64{p.Slope * 1000, p.Intercepts[1]}); ok && vec.Norm(step) > 1e-9*p.Slope*1000 {
		t.Errorf("%+v is not the minimum: the next step is %v", p, step)
	}
}

// TestSoftmaxLargeScores checks probabilities of scores whose exponentials overflow or vanish.
func TestSoftmaxLargeScores(t *testing.T) {
	for _, shift := range []float64{0, 5000, -5000} {
		p := make([]float64, 2)
		Softmax{2, []float64{0, math.Log(3)}}.Probabilities(p, []float64{shift, shift})
		if math.Abs(p[0]-0.25) > 1e-9 || math.Abs(p[1]-0.75) > 1e-9 {
			t.Errorf("scores of %v: %v, want 1/4 and 3/4", shift, p)
		}
	}
}

// TestFitSoftmaxRefuses checks numbers of classes below 2, a slope of exactly 0, and scores that are
// not finite or too small for a finite slope.
func TestFitSoftmaxRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		scores  []float64
		labels  []int
		classes int
		want    error
	}{
		"no class":       {nil, []int{0, 0}, 0, problem.ErrSettings},
		"one class":      {[]float64{1, 2}, []int{0, 0}, 1, problem.ErrSettings},
		"no information": {[]float64{1, 1, 1, 1}, []int{0, 1}, 2, ErrNoProbabilities},
		"infinite":       {[]float64{0, math.Inf(1), 0, -1}, []int{1, 0}, 2, ErrNoProbabilities},
		"no number":      {[]float64{0, math.NaN(), 0, -1}, []int{1, 0}, 2, ErrNoProbabilities},
		"tiny":           {[]float64{0, 5e-324, 0, -5e-324}, []int{1, 0}, 2, ErrNoProbabilities},
	} {
		if p, err := FitSoftmax(tc.scores, tc.labels, tc.classes); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestPlattByHand fits one row of each class with the scores 1 and -1. Both targets are 2/3 and
// 1/3, so that the intercept is 0 and the slope log 2.
func TestPlattByHand(t *testing.T) {
	p, err := FitPlatt([]float64{1, -1}, []bool{true, false})
	if err != nil || math.Abs(p.Slope-math.Ln2) > 1e-8 || math.Abs(p.Intercept) > 1e-8 {
		t.Errorf("%+v, %v; want the slope %v", p, err, math.Ln2)
	}
	if got := p.Probability(2); math.Abs(got-0.8) > 1e-8 {
		t.Errorf("the probability at 2 is %v, want 4/5", got)
	}
}
