package method_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// threePieces is f of the hand-made problem with the one constraint max(h_1, h_2/2 - 1/10, -h_1 -
// 2/10) <= shift.
func threePieces(shift float64) problem.Functions {
	fn := testkit.HandFunctions()
	fn.Pieces = []problem.Piece{{Constraint: 0, Term: 0, Sign: 1, Offset: -shift},
		{Constraint: 0, Term: 1, Sign: 0.5, Offset: -0.1 - shift}, {Constraint: 0, Term: 0, Sign: -1, Offset: -0.2 - shift}}
	return fn
}

// Each step minimises <grad f, y> + lambda max_p s_p(y) + ||y - x||^2/(2 eta), where s_p are the
// linearised pieces. No other point has a lower value. The multipliers are positive for shift 0,
// where the constraint is violated, and negative for shift 3, where the constraint is inactive.
func TestProxLinearMinimisesOverAnyMaximum(t *testing.T) {
	const eta = 0.05
	rng := rand.New(rand.NewPCG(11, 3))
	for _, shift := range []float64{0, 3} {
		fn := threePieces(shift)
		p := handProblem(t, fn)
		m := &method.PLADA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: eta}}
		at := &problem.Point{Constraints: make([]float64, 1)}
		var err error
		if at.Objective, err = p.Forward(at.Constraints); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, m.Init(p, at))
		positive, negative := 0, 0
		for k := range 60 {
			before := testkit.Iterate(p)
			x := [2]float64{before[0], before[1]}
			df, h, rows, lambda := testkit.HandGradient(x), testkit.HandH(x), testkit.HandRows(x), m.Report().Multipliers[0]
			model := func(y [2]float64) float64 {
				d := minus(y, x)
				worst := math.Inf(-1)
				for _, b := range fn.Pieces {
					row := rows[b.Term]
					worst = math.Max(worst, b.Sign*(h[b.Term]+row[0]*d[0]+row[1]*d[1])+b.Offset)
				}
				return df[0]*d[0] + df[1]*d[1] + lambda*worst + (d[0]*d[0]+d[1]*d[1])/(2*eta)
			}
			require.NoError(t, m.Iterate(p, at))
			after := testkit.Iterate(p)
			got := model([2]float64{after[0], after[1]})
			for range 300 {
				size := math.Pow(10, -6*rng.Float64())
				y := [2]float64{after[0] + size*rng.NormFloat64(), after[1] + size*rng.NormFloat64()}
				if v := model(y); v < got-1e-12 {
					t.Fatalf("shift %v, step %d, lambda %v: the model is %v at %v, and %v at the step %v", shift, k, lambda, v, y, got, after)
				}
			}
			switch {
			case lambda > 0:
				positive++
			case lambda < 0:
				negative++
			}
		}
		if shift == 0 && positive < 30 || shift == 3 && negative < 10 {
			t.Errorf("shift %v: %d steps with a positive multiplier and %d with a negative one", shift, positive, negative)
		}
	}
}

// The order of the pieces of |h| - eps does not matter.
func TestOrderOfPieces(t *testing.T) {
	run := func(pieces []problem.Piece) []float64 {
		fn := testkit.HandFunctions()
		fn.Pieces = pieces
		p := handProblem(t, fn)
		require.Value(trainer.Train(context.Background(), p, &method.PLADA{}, trainer.Settings{Iterations: 40}))(t)
		return testkit.Iterate(p)
	}
	for _, eps := range []float64{0, 0.1, 2} {
		pieces := problem.Abs(eps, eps/2)
		want := run(pieces)
		other := slices.Clone(pieces)
		other[0], other[1], other[2], other[3] = pieces[1], pieces[0], pieces[3], pieces[2]
		if got := run(other); testkit.Distance(got, want) > 1e-9 {
			t.Errorf("eps = %v: x = %v, in the other order %v", eps, got, want)
		}
	}
}

// The x-step for maxima allocates nothing except the eigenvalues.
func TestPieceSharesDoNotAllocate(t *testing.T) {
	p, m := handProblem(t, threePieces(0)), &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}}
	at := &problem.Point{Constraints: make([]float64, 1)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, m.Init(p, at))
	if n := testing.AllocsPerRun(100, func() {
		require.NoError(t, m.Iterate(p, at))
	}); n > 5 {
		t.Errorf("%v allocations in an iteration", n)
	}
}
