package decide

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/require"
)

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
