package decide

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

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
