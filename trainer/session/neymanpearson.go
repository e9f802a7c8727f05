package session

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/trainer/problem"
)

// NeymanPearson is multi-class Neyman-Pearson classification: it minimises the loss of the first
// class and bounds the loss of every other class. See constraints.NeymanPearson.
type NeymanPearson struct {
	Kappa []float64 // bound on each other class's loss, common or by class; nil: 0.2
	Phi   Surrogate // surrogate of the error; "" means Sigmoid
}

var _ Task = NeymanPearson{}

// State implements Task.
func (t NeymanPearson) State(train Rows, _ bool) (*Statement, error) {
	phi, err := t.Phi.or(DefaultsOf(NameNeymanPearson).Phi)
	if err != nil {
		return nil, err
	}
	kappa := t.Kappa
	if kappa == nil {
		kappa = []float64{DefaultKappa}
	}
	names := make([]string, len(train.Classes))
	for k, c := range train.Classes {
		names[k] = c.Name
	}
	p, err := constraints.NewNeymanPearson(names, kappa, phi)
	if err != nil {
		return nil, err
	}
	collapse, _ := p.CollapseThreshold()
	var meanings []meaning
	for j, name := range names[1:] {
		meanings = append(meanings, meaning{measure: constraints.Error(name).String(), constraints: []int{j}, interval: classInterval(1 + j)})
	}
	return &Statement{
		minimise: constraints.Error(names[0]).String(), meanings: meanings,
		Name: NameNeymanPearson, Objective: names[0],
		Constraints: named(p.ConstraintNames(), p.Bounds()), Outputs: len(names),
		Nodes: func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			f, g, err := p.Nodes(scores, rows.Labels)
			return f, gorgonia.Nodes{g}, err
		},
		NonSmooth: !p.Smooth(), CollapseAbove: collapse, Warnings: p.Warnings(),
		Measures: func(rows Rows) (func(scores []float64) (Measures, error), error) {
			return func(scores []float64) (Measures, error) {
				e := p.NewEvaluator()
				if err := e.Add(scores, rows.Labels); err != nil {
					return Measures{}, err
				}
				m, err := e.Measures()
				if err != nil {
					return Measures{}, err
				}
				return byClass(m, train.Classes), nil
			}, nil
		},
	}, nil
}

// byClass names the losses and error rates of the classes after the classes' numbers.
func byClass(m constraints.Measures, classes []Class) Measures {
	named := map[string]float64{"max_violation": problem.MaxViolation(m.Constraints)}
	wrong, total := 0.0, 0
	for k, class := range classes {
		named[fmt.Sprintf("loss_%d", class.Number)] = m.Losses[k]
		named[fmt.Sprintf("error_%d", class.Number)] = m.Errors[k]
		wrong += m.Errors[k] * float64(m.Rows[k])
		total += m.Rows[k]
	}
	named["error"] = wrong / float64(total)
	return Measures{Named: named, Values: m.Losses, Decisions: m.Errors}
}
