package cmd

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"testing"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// stub is a session without data: minimise (x-2)^2 + (y-2)^2 subject to x <= 1 and y <= 3. The
// solution is (1, 2) with the multipliers 2 and 0.
type stub struct {
	problem problem.Problem
	method  trainer.Method
	during  func(iteration int) // called at every evaluation of the objective
	f       float64             // if not 0: replaces the objective from iteration 3 on
	g       float64             // if not 0: replaces the first constraint
	notes   []string            // notes of the result
	warned  trainer.Warnings    // further warnings of the result
	// changes the certificate of the result; nil: no change
	certificate func(c *certify.Certificate)
	outcome     *results.Outcome // outcome of the result; nil: both constraints on surrogates, met

	t     *testing.T // for rates
	rates func(t *testing.T, trained bool) *results.RateTable
}

func newStub(method trainer.Method) (*stub, error) {
	s := &stub{method: method}
	evaluations := 0
	functions := problem.Functions{
		N: 2, M: 2,
		F: func(x []float64) float64 {
			evaluations++
			if s.during != nil {
				s.during(evaluations)
			}
			if s.f != 0 && evaluations > 3 {
				return s.f
			}
			return (x[0]-2)*(x[0]-2) + (x[1]-2)*(x[1]-2)
		},
		Gradient: func(d, x []float64) { d[0], d[1] = 2*(x[0]-2), 2*(x[1]-2) },
		G: func(g, x []float64) {
			g[0], g[1] = x[0]-1, x[1]-3
			if s.g != 0 {
				g[0] = s.g
			}
		},
		JacobianT: func(d, _, w []float64) { copy(d, w) },
	}
	var err error
	if s.problem, err = functions.New([]float64{0, 0}); err != nil {
		return nil, err
	}
	return s, nil
}

// openStub opens a session on a stub. A prepare that is not nil may change the stub.
func openStub(o session.Options, prepare func(s *stub)) (*session.Session, error) {
	s, err := newStub(o.Method)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		prepare(s)
	}
	return session.Run(s, o), nil
}

func (s *stub) Describe() session.Description {
	return session.Description{
		Provenance: results.Provenance{
			Device: "stub", Products: "stub's", Bounds: []float64{1, 3},
			Data: []results.DataFile{{Name: "rows", Bytes: 12, SHA256: "abc", State: "differs"}},
			Classes: []results.SplitSizes{
				{Name: "shirt", Train: 5, Test: 2}, {Name: "trouser", Train: 6, Test: 3}, {Name: "dress", Train: 7, Test: 4},
			},
			Features: 784, Parameters: 2, Normalization: "none",
			Warnings: []string{"class dress: the bound constrains nothing"}, Notes: []string{"a note"},
		},
		Task: session.NameNeymanPearson, Dataset: "stub", Objective: "shirt", Constraints: []string{"trouser", "dress"}, Bounded: []string{"trouser <= 1", "dress <= 3"},
		Rows: results.SplitSizes{Train: 18, Test: 9},
	}
}

func (s *stub) Problem() problem.Problem { return s.problem }

func (s *stub) Optimize(ctx context.Context, settings trainer.Settings) (*trainer.Result, error) {
	settings.Measure = func() (map[string]float64, error) {
		return map[string]float64{"train_error": 0.25, "test_error": 0.5}, nil
	}
	r, err := trainer.Train(ctx, s.problem, s.method, settings)
	if r != nil {
		r.Notes = append(r.Notes, s.notes...)
		r.Warnings = append(r.Warnings, s.warned...)
	}
	return r, err
}

func (s *stub) Certify(r *trainer.Result) (*session.Result, error) {
	round := func(x float64) float64 { return math.Round(1e3*x) / 1e3 }
	c := r.Certificate
	c.Epsilon, c.Stationarity, c.Infeasibility, c.Complementarity = 1e-4, 1e-4, 0, 2e-5
	c.Nu, c.Own = []float64{round(c.Nu[0]), round(c.Nu[1])}, nil
	if s.certificate != nil {
		s.certificate(&c)
	}
	result := &session.Result{
		Training: r, Certificate: c, Objective: round(r.Objective),
		Constraints: []float64{round(r.Point.Constraints[0]), round(r.Point.Constraints[1])},
		Values:      []float64{1, 1, 2},
		Outcome:     cmp.Or(s.outcome, s.surrogates()),
		Splits: []session.SplitMeasures{
			{Name: results.Training, Named: map[string]float64{"error": 0.25}},
			{Name: results.Test, Named: map[string]float64{"error": 0.5}},
		},
	}
	if s.rates != nil {
		for i := range result.Splits {
			result.Splits[i].Rates = s.rates(s.t, i == 0)
		}
	}
	return result, nil
}

// surrogates returns an outcome that meets the stub's constraints.
func (s *stub) surrogates() *results.Outcome {
	met, first, second := true, 1.0, 2.0
	split := func(train, test float64) results.SplitValues { return results.SplitValues{Train: &train, Test: &test} }
	return &results.Outcome{BoundsOn: constraints.OnSurrogate,
		Constraints: []results.ConstraintOutcome{
			{Constraint: "error[trouser] <= 1", Bound: 1, SplitValues: split(0.25, 0.4), Met: true, Surrogate: &first, SurrogateMet: &met},
			{Constraint: "error[dress] <= 3", Bound: 3, SplitValues: split(0.5, 1), Met: true, Surrogate: &second, SurrogateMet: &met},
		},
		Objective: results.ObjectiveOutcome{Name: "error[shirt]", SplitValues: split(0.1, 0.2)},
	}
}

func (s *stub) SaveModel(path string) error { return os.WriteFile(path, []byte("weights"), 0o644) }

var errNoData = errors.New("no data")

func (s *stub) Explain() string { return "the plan" }

func (s *stub) Close() error { return nil }
