package method_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// ascent is a rule as a program of one's own writes it: gradient ascent on the multipliers.
type ascent struct{ lambda []float64 }

func (a *ascent) Name() string                     { return "ascent" }
func (a *ascent) Needs() trainer.Needs             { return trainer.Needs{} }
func (a *ascent) PrimalStep() step.Settings        { return step.Settings{Kind: step.Nesterov} }
func (a *ascent) Demand() step.Demand              { return step.Demand{} }
func (a *ascent) Coefficients(w, _ []float64)      { copy(w, a.lambda) }
func (a *ascent) VisitDual(v problem.StateVisitor) { v.Numbers("lambda", a.lambda) }

func (a *ascent) StartDual(g []float64) error {
	a.lambda = make([]float64, len(g))
	return nil
}

func (a *ascent) UpdateDual(g []float64) {
	for j := range g {
		a.lambda[j] = max(0, a.lambda[j]+0.05*g[j])
	}
}

// The example trains with a rule of its own: the point of x0 + x1 <= 2 that is nearest to (2, 2).
func ExampleFromRule() {
	nearest := problem.Functions{N: 2, M: 1,
		F:         func(x []float64) float64 { return ((x[0]-2)*(x[0]-2) + (x[1]-2)*(x[1]-2)) / 2 },
		Gradient:  func(dst, x []float64) { dst[0], dst[1] = x[0]-2, x[1]-2 },
		G:         func(dst, x []float64) { dst[0] = x[0] + x[1] - 2 },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = w[0], w[0] },
	}
	p, err := nearest.New([]float64{0, 0})
	if err != nil {
		log.Fatal(err)
	}
	r, err := trainer.Train(context.Background(), p, method.FromRule(&ascent{}), trainer.Settings{Iterations: 3000, Tolerance: 1e-4})
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float64, 2)
	p.Space().Read(x, problem.Iterate)
	fmt.Printf("%s: x = %.2f, multiplier %.2f\n", r.Status, x, r.Certificate.Nu)
	// Output: tolerance reached: x = [1.00 1.00], multiplier [1.00]
}

// A rule of ppal gives the iterates of its method, and a run of a rule continues to the bit.
func TestFromRule(t *testing.T) {
	run := func(m trainer.Method, s trainer.Settings) ([]float64, *trainer.Result) {
		p := testkit.Start(t, testkit.Line(), -5)
		r := require.Value(trainer.Train(t.Context(), p, m, s))(t)
		return testkit.Iterate(p), r
	}
	for _, make := range []func() trainer.DualRule{func() trainer.DualRule { return &method.GDA{} }, func() trainer.DualRule { return &method.PPALA{} }} {
		want, _ := run(make().(trainer.Method), trainer.Settings{Iterations: 40})
		if got, _ := run(method.FromRule(make()), trainer.Settings{Iterations: 40}); !slices.Equal(got, want) {
			t.Errorf("%T: x = %v, the method has %v", make(), got, want)
		}
	}
	want, _ := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 40})
	_, half := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 17})
	if got, _ := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 40, Resume: half.State, ResumeAt: half.Point}); !slices.Equal(got, want) {
		t.Errorf("after a resume x = %v, want %v", got, want)
	}
}
