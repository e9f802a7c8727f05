package session

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/internal/config"
	"ppal/trainer/problem"
)

// fairProblem is what the fairness problems have in common: *constraints.Gaps and *constraints.Intersectional.
type fairProblem interface {
	Bounds() []float64
	ConstraintNames() []string
	Warnings() []string
	Smooth() bool
	Pieces() []constraints.Piece
	Nodes(scores *gorgonia.Node, rows constraints.Rows) (objective, terms *gorgonia.Node, err error)
	NewEvaluator(rows constraints.Rows) (*constraints.FairnessEvaluator, error)
}

// fairness is the goal of classification under bounds on what groups get.
type fairness struct{ fairProblem }

var _ goal = fairness{}

// newFairness states the configuration's problem for the groups of these names.
func newFairness(cfg config.Train, groups []string) (fairness, error) {
	phi, err := constraints.ParsePhi(cfg.Phi)
	if err != nil {
		return fairness{}, err
	}
	psi, err := constraints.ParsePhi(cfg.Psi)
	if err != nil {
		return fairness{}, err
	}
	gaps := constraints.Absolute
	switch {
	case cfg.SmoothMethod():
		gaps = constraints.Split
	case cfg.EOForm == "max":
		gaps = constraints.Maximum
	}
	var p fairProblem
	switch cfg.Data.Problem {
	case "dp":
		p, err = constraints.NewDemographicParity(groups, cfg.Epsilon[0], phi, psi, gaps)
	case "eo":
		p, err = constraints.NewEqualizedOdds(groups, cfg.Epsilon, phi, psi, gaps)
	case "if":
		form := constraints.Expectation
		if cfg.IFForm == "each" {
			form = constraints.Each
		}
		p, err = constraints.NewIntersectional(groups, cfg.Epsilon, phi, psi, form)
	default:
		err = fmt.Errorf("session: no fairness problem %q", cfg.Data.Problem)
	}
	return fairness{p}, err
}

func (p fairness) nodes(scores *gorgonia.Node, r rows) (f, g *gorgonia.Node, err error) {
	return p.Nodes(scores, r.fair())
}

func (p fairness) pieces() []problem.Piece {
	var list []problem.Piece
	for _, b := range p.Pieces() {
		list = append(list, problem.Piece(b))
	}
	return list
}

func (p fairness) smooth() bool { return p.Smooth() }

func (p fairness) collapse() (threshold float64, ok bool) { return 0, false }

func (p fairness) measurer(r rows) (func(scores []float64) (measures, error), error) {
	e, err := p.NewEvaluator(r.fair())
	if err != nil {
		return nil, err
	}
	return func(scores []float64) (measures, error) {
		m, err := e.Measures(scores)
		if err != nil {
			return measures{}, err
		}
		named := map[string]float64{"loss": m.Objective, "max_violation": problem.MaxViolation(m.Constraints)}
		for _, x := range m.Named() {
			named[x.Name] = x.Value
		}
		values := []float64{m.Objective}
		for j, bound := range p.Bounds() {
			values = append(values, m.Constraints[j]+bound)
		}
		return measures{named: named, values: values, decisions: append([]float64{m.Error}, m.Decisions...)}, nil
	}, nil
}

// fair is what a fairness problem knows of the rows.
func (r rows) fair() constraints.Rows { return constraints.Rows{Labels: r.labels, Groups: r.groups} }
