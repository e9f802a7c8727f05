package decide

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// drawnClasses returns scores and the classes that the softmax of slope and intercepts draws.
func drawnClasses(n int, slope float64, intercepts []float64) (scores []float64, labels []int) {
	r := rand.New(rand.NewPCG(1, 2))
	p, classes := Softmax{slope, intercepts}, len(intercepts)
	for range n {
		row := make([]float64, classes)
		for k := range row {
			row[k] = 3 * r.NormFloat64()
		}
		scores = append(scores, row...)
		p.Probabilities(row, row)
		u, k := r.Float64(), 0
		for ; k < classes-1 && u > row[k]; k++ {
			u -= row[k]
		}
		labels = append(labels, k)
	}
	return scores, labels
}

// The fit finds the slope and the intercepts that drew the classes.
func TestFitSoftmax(t *testing.T) {
	want := Softmax{0.7, []float64{0, -1, 0.5, 1.5}}
	scores, labels := drawnClasses(40000, want.Slope, want.Intercepts)
	got, err := FitSoftmax(scores, labels, 4, nil)
	if err != nil || math.Abs(got.Slope-want.Slope) > 0.02 {
		t.Fatal(got, err)
	}
	for k, b := range want.Intercepts {
		if math.Abs(got.Intercepts[k]-b) > 0.06 {
			t.Errorf("intercept %d is %v, want %v", k, got.Intercepts[k], b)
		}
	}
	// the mean probability of a class is the share of the class, because the gradient is zero
	sum, count := make([]float64, 4), make([]float64, 4)
	for i, y := range labels {
		row := make([]float64, 4)
		got.Probabilities(row, scores[4*i:][:4])
		for k := range row {
			sum[k] += row[k]
		}
		count[y]++
	}
	for k := range sum {
		if math.Abs(sum[k]-count[k]) > 2 { // the targets are not quite 0 and 1
			t.Errorf("class %d: mean probability %v, share %v", k, sum[k]/40000, count[k]/40000)
		}
	}
}

// For two classes with the scores 0 and s, the fit is Platt's.
func TestSoftmaxOfTwoClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var single, pairs []float64
	var positive []bool
	var labels []int
	for range 500 {
		s := 2 * r.NormFloat64()
		is := r.Float64() < 1/(1+math.Exp(-(1.3*s-0.4)))
		single, pairs, positive = append(single, s), append(pairs, 0, s), append(positive, is)
		labels = append(labels, map[bool]int{true: 1}[is])
	}
	platt := require.Value(FitPlatt(single, positive, nil))(t)
	got, err := FitSoftmax(pairs, labels, 2, nil)
	if err != nil || math.Abs(got.Slope-platt.Slope) > 1e-6 || math.Abs(got.Intercepts[1]-platt.Intercept) > 1e-6 {
		t.Error(got, platt, err)
	}
}

// The fit is finite if the scores separate the classes, and if a class has no rows.
func TestFitSoftmaxSeparated(t *testing.T) {
	scores := []float64{5, 0, 0, 4, 0, 0, 0, 5, 0, 0, 6, 0}
	got, err := FitSoftmax(scores, []int{0, 0, 1, 1}, 3, nil)
	if err != nil || math.IsInf(got.Slope, 0) || got.Slope <= 0 {
		t.Fatal(got, err)
	}
	p := make([]float64, 3)
	got.Probabilities(p, scores[:3])
	if p[0] < 0.4 || math.Abs(p[0]+p[1]+p[2]-1) > 1e-12 {
		t.Error(p)
	}
}

func TestFitSoftmaxErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		scores []float64
		labels []int
		want   error
	}{
		"lengths":       {[]float64{1, 2}, []int{0}, problem.ErrSettings},
		"one class":     {[]float64{1, 2, 3, 4, 5, 6}, []int{1, 1}, ErrNoProbabilities},
		"zero scores":   {make([]float64, 6), []int{0, 1}, ErrNoProbabilities},
		"wrong ranking": {[]float64{0, 9, 0, 9, 0, 0, 0, 8, 0, 7, 0, 0}, []int{0, 1, 0, 1}, ErrNoProbabilities},
	} {
		if _, err := FitSoftmax(tc.scores, tc.labels, 3, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSoftmaxTolerance checks the end of the fit: no step if the largest derivative is below
// 1e-10 for each row, and a step above.
func TestSoftmaxTolerance(t *testing.T) {
	f := smallFit()
	x := f.start()
	for range 20 {
		if step, _, ok := f.newton(x); ok {
			for k, v := range step {
				x[k] += v
			}
		}
	}
	if _, _, ok := f.newton(x); ok {
		t.Fatal("no solution after 20 steps")
	}
	// Along an intercept the derivatives change by (H_01, H_11, H_12) for each unit.
	const d = 1e-4
	largest := 0.0
	for k := range 3 {
		at := func(a, b float64) float64 {
			y := slices.Clone(x)
			y[k] += a
			y[1] += b
			return f.loss(y)
		}
		largest = max(largest, math.Abs(at(d, d)-at(d, -d)-at(-d, d)+at(-d, -d))/(4*d*d))
	}
	for share, want := range map[float64]bool{0.9: false, 1.1: true} {
		y := slices.Clone(x)
		y[1] += share * 3 * 1e-10 / largest
		if _, _, ok := f.newton(y); ok != want {
			t.Errorf("derivatives of %v times the tolerance: step %v, want %v", share, ok, want)
		}
	}
}

// TestSoftmaxLargeScores checks probabilities of scores whose exponentials overflow or vanish.
func TestSoftmaxLargeScores(t *testing.T) {
	for _, shift := range []float64{0, 5000, -5000} {
		p := make([]float64, 2)
		Softmax{2, []float64{0, math.Log(3)}}.Probabilities(p, []float64{shift, shift})
		if !(math.Abs(p[0]-0.25) < 1e-9 && math.Abs(p[1]-0.75) < 1e-9) {
			t.Errorf("scores of %v: %v, want 1/4 and 3/4", shift, p)
		}
	}
}

// TestFitSoftmaxRefuses checks numbers of classes below 2, a slope of exactly 0, and scores that
// are not finite or too small for a finite slope.
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
		if p, err := FitSoftmax(tc.scores, tc.labels, tc.classes, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestPlattByHand fits one row of each class with the scores 1 and -1. Both targets are 2/3 and
// 1/3, so that the intercept is 0 and the slope log 2.
func TestPlattByHand(t *testing.T) {
	p, err := FitPlatt([]float64{1, -1}, []bool{true, false}, nil)
	if err != nil || math.Abs(p.Slope-math.Ln2) > 1e-8 || math.Abs(p.Intercept) > 1e-8 {
		t.Errorf("%+v, %v; want the slope %v", p, err, math.Ln2)
	}
	if got := p.Probability(2); math.Abs(got-0.8) > 1e-8 {
		t.Errorf("the probability at 2 is %v, want 4/5", got)
	}
}

// TestSoftmaxSearchFollowsTheSlope refuses a short step uphill that the slope calls downhill.
func TestSoftmaxSearchFollowsTheSlope(t *testing.T) {
	f := smallFit()
	x := []float64{2, 0.3, -0.2}
	step, slope, ok := f.newton(x)
	if !ok {
		t.Fatal("no step")
	}
	for k := range step {
		step[k] *= -1e-6
	}
	if next, _ := f.search(x, step, f.loss(x), slope); next != nil {
		t.Errorf("from %v to %v, and the loss from %v to %v", x, next, f.loss(x), f.loss(next))
	}
}

// rowsOf returns rows of scores and labels.
func rowsOf(scores []float64, labels []int, classes int) rowsOfClasses {
	return rowsOfClasses{len(labels), classes, nil, func(i int) ([]float64, int) { return scores[i*classes:][:classes], labels[i] }}
}

// smallFit returns the fit of rows of three classes, of which the last has no rows.
func smallFit() *softmaxFit {
	return newSoftmaxFit(rowsOf([]float64{2, 0, 1, -1, 3, 0, 0.5, 0.25, -4}, []int{0, 1, 0}, 3))
}

// TestSoftmaxLossByHand computes the loss with the targets of three classes: the own class has
// (n+1)/(n+2), with n = 2 for class 0 and n = 1 for class 1.
func TestSoftmaxLossByHand(t *testing.T) {
	f := smallFit()
	if x := f.start(); f.largest != 4 || f.present != 2 || x[0] != 0 || x[1] != math.Log(2./3) || x[2] != math.Log(1./3) {
		t.Errorf("largest score %v, %d classes, start %v", f.largest, f.present, x)
	}
	scores, targets := [3][3]float64{{2, 0, 1}, {-1, 3, 0}, {0.5, 0.25, -4}}, [3][3]float64{{3. / 4, 1. / 8, 1. / 8}, {1. / 6, 2. / 3, 1. / 6}, {3. / 4, 1. / 8, 1. / 8}}
	want := 0.0
	for i, row := range scores {
		var z [3]float64
		total := 0.0
		for k, s := range row {
			z[k] = 2*s/4 + []float64{0, 0.3, -0.2}[k]
			total += math.Exp(z[k])
		}
		for k := range z {
			want -= targets[i][k] * (z[k] - math.Log(total))
		}
	}
	if got := f.loss([]float64{2, 0.3, -0.2}); math.Abs(got-want) > 1e-14 {
		t.Errorf("loss %v, want %v", got, want)
	}
}

// TestSoftmaxNewton compares the Newton step with the step of gradients and Hessians by
// differences, far from the solution.
func TestSoftmaxNewton(t *testing.T) {
	f := smallFit()
	x := []float64{2, 0.3, -0.2}
	n := len(x)
	at := func(moves map[int]float64) float64 {
		y := append([]float64{}, x...)
		for k, h := range moves {
			y[k] += h
		}
		return f.loss(y)
	}
	const h = 1e-4
	g, hessian := mat.NewVecDense(n, nil), mat.NewDense(n, n, nil)
	for j := range n {
		g.SetVec(j, -(at(map[int]float64{j: h})-at(map[int]float64{j: -h}))/(2*h))
		for k := range n {
			v := at(map[int]float64{j: 2 * h}) - 2*f.loss(x) + at(map[int]float64{j: -2 * h})
			if j != k {
				v = at(map[int]float64{j: h, k: h}) - at(map[int]float64{j: h, k: -h}) - at(map[int]float64{j: -h, k: h}) + at(map[int]float64{j: -h, k: -h})
			}
			hessian.Set(j, k, v/(4*h*h))
		}
	}
	var want mat.VecDense
	require.NoError(t, want.SolveVec(hessian, g))
	step, slope, ok := f.newton(x)
	for k := range step {
		if math.Abs(step[k]-want.AtVec(k)) > 1e-5*(1+math.Abs(want.AtVec(k))) {
			t.Errorf("step %d is %v, want %v", k, step[k], want.AtVec(k))
		}
	}
	if wanted := -mat.Dot(g, &want); !ok || math.Abs(slope-wanted) > 1e-5 {
		t.Errorf("slope %v, want %v", slope, wanted)
	}
}

// TestSoftmaxSolves solves from a start where whole Newton steps leave the solution. The gradient
// at the end is 0, and the solution is reached in few steps.
func TestSoftmaxSolves(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var scores []float64
	var labels []int
	for i := range 300 {
		y := i % 3
		for k := range 3 {
			s := r.NormFloat64()
			if k == y {
				s++
			}
			scores = append(scores, 30*s)
		}
		labels = append(labels, y)
	}
	f := newSoftmaxFit(rowsOf(scores, labels, 3))
	for _, start := range [][]float64{f.start(), {-30, 8, -9}} {
		x, steps := start, 0
		for ; steps < 30; steps++ {
			step, slope, ok := f.newton(x)
			if !ok {
				break
			}
			next, _ := f.search(x, step, f.loss(x), slope)
			if next == nil || f.loss(next) >= f.loss(x) {
				t.Fatalf("step %d from %v: %v does not lower the loss", steps, start, next)
			}
			x = next
		}
		if steps > 15 {
			t.Errorf("%d Newton steps from %v", steps, start)
		}
		for k, v := range f.minimise(start) {
			if v != x[k] {
				t.Errorf("from %v: parameter %d is %v, in steps %v", start, k, v, x[k])
			}
		}
		for k := range x { // the gradient by differences
			const h = 1e-5
			up, down := append([]float64{}, x...), append([]float64{}, x...)
			up[k] += h
			down[k] -= h
			if d := (f.loss(up) - f.loss(down)) / (2 * h); math.Abs(d) > 1e-6 {
				t.Errorf("from %v: the gradient %d at %v is %v", start, k, x, d)
			}
		}
	}
	// An ascent direction has no step.
	x := f.start()
	step, slope, _ := f.newton(x)
	for k := range step {
		step[k] = -step[k]
	}
	if next, _ := f.search(x, step, f.loss(x), slope); next != nil {
		t.Errorf("a step uphill: %v", next)
	}
	if next, _ := f.search(x, step, f.loss(x), -slope); next != nil {
		t.Errorf("a step uphill whose slope is known: %v", next)
	}
}

// A step whose promised decrease is below the rounding of the loss is not taken, even if the loss
// falls.
func TestSoftmaxSearchEndsAtRounding(t *testing.T) {
	f := smallFit()
	x := f.start()
	step, slope, ok := f.newton(x)
	value := f.loss(x)
	if next, least := f.search(x, step, value, slope); !ok || next == nil || least != f.loss(next) {
		t.Fatalf("step from the start to %v with the loss %v: slope %v, %v", next, least, slope, ok)
	}
	if next, _ := f.search(x, step, value, -softmaxRounding*value/2); next != nil {
		t.Errorf("a step to %v", next)
	}
}
