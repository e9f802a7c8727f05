package session

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/trainer/problem"
)

// neymanPearson is the goal of multi-class Neyman-Pearson classification.
type neymanPearson struct {
	*constraints.NeymanPearson
	classes []int // by their numbers in the data set, the objective's first
}

var _ goal = neymanPearson{}

func (p neymanPearson) nodes(scores *gorgonia.Node, r rows) (f, g *gorgonia.Node, err error) {
	return p.Nodes(scores, r.labels)
}

func (p neymanPearson) pieces() []problem.Piece { return nil }

func (p neymanPearson) smooth() bool { return p.Phi().Smooth() }

func (p neymanPearson) collapse() (threshold float64, ok bool) { return p.CollapseThreshold() }

// measurer evaluates the classes' losses and error rates, named by the classes' numbers.
func (p neymanPearson) measurer(r rows) (func(scores []float64) (measures, error), error) {
	return func(scores []float64) (measures, error) {
		e := p.NewEvaluator()
		if err := e.Add(scores, r.labels); err != nil {
			return measures{}, err
		}
		m, err := e.Measures()
		if err != nil {
			return measures{}, err
		}
		return p.name(m), nil
	}, nil
}

func (p neymanPearson) name(m constraints.Measures) measures {
	named := map[string]float64{"max_violation": problem.MaxViolation(m.Constraints)}
	wrong, total := 0.0, 0
	for k, class := range p.classes {
		named[fmt.Sprintf("loss_%d", class)] = m.Losses[k]
		named[fmt.Sprintf("error_%d", class)] = m.Errors[k]
		wrong += m.Errors[k] * float64(m.Rows[k])
		total += m.Rows[k]
	}
	named["error"] = wrong / float64(total)
	return measures{named: named, values: m.Losses, decisions: m.Errors}
}
