package main

import (
	"context"
	"errors"
	"math"
	"os"

	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// stub is a trial without data: minimise (x-2)^2 + (y-2)^2 subject to x <= 1, y <= 3, solved by (1,
// 2) with the multipliers 2 and 0.
type stub struct {
	cfg     config.Train
	problem problem.Problem
	method  trainer.Method
	during  func(iteration int) // called at every objective
	f       float64             // spoils the objective from iteration 3 on where it is not 0
	g       float64             // is the first constraint where it is not 0
	notes   []string            // of the result
}

func newStub(cfg config.Train) (*stub, error) {
	s := &stub{cfg: cfg}
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
	s.method, err = cfg.TrainerMethod()
	return s, err
}

func (s *stub) Info() session.Info {
	return session.Info{
		Device:    "stub",
		Products:  "stub's",
		DataFiles: []session.FileSum{{Name: "rows", Bytes: 12, SHA256: "abc", State: "differs"}},
		Objective: "shirt", Rows: session.Part{Train: 18, Test: 9},
		Classes: []session.Part{
			{Name: "shirt", Train: 5, Test: 2}, {Name: "trouser", Train: 6, Test: 3}, {Name: "dress", Train: 7, Test: 4},
		},
		Features: 784, Parameters: 2, Normalization: "none",
		Warnings: []string{"class dress: the bound constrains nothing"}, Notes: []string{"a note"},
	}
}

func (s *stub) Bounds() []float64         { return []float64{1, 3} }
func (s *stub) ConstraintNames() []string { return []string{"trouser", "dress"} }

func (s *stub) Train(ctx context.Context, settings trainer.Settings) (*trainer.Result, error) {
	settings.Measure = func() (map[string]float64, error) {
		return map[string]float64{"train_error": 0.25, "test_error": 0.5}, nil
	}
	r, err := trainer.Train(ctx, s.problem, s.method, settings)
	if r != nil {
		r.Notes = append(r.Notes, s.notes...)
	}
	return r, err
}

func (s *stub) Finish(r *trainer.Result) (session.Final, error) {
	round := func(x float64) float64 { return math.Round(1e3*x) / 1e3 }
	c := r.Certificate
	c.Epsilon, c.Stationarity, c.Feasibility, c.Complementarity = 1e-4, 1e-4, 0, 2e-5
	c.Nu = []float64{round(c.Nu[0]), round(c.Nu[1])}
	return session.Final{
		Certificate: c, Objective: round(r.Objective),
		Constraints: []float64{round(r.Point.Constraints[0]), round(r.Point.Constraints[1])},
		Values:      []float64{1, 1, 2},
		Splits: []session.SplitMeasures{
			{Name: "train", Named: map[string]float64{"error": 0.25}, Decisions: []float64{0.1, 0.25, 0.5}},
			{Name: "test", Named: map[string]float64{"error": 0.5}, Decisions: []float64{0.2, 0.4, 1}},
		},
	}, nil
}

func (s *stub) Save(path string) error { return os.WriteFile(path, []byte("weights"), 0o644) }

var errNoData = errors.New("no data")

func (s *stub) Explain() string { return "the plan" }

func (s *stub) Close() error { return nil }
