package session

import (
	"fmt"
	"slices"

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
	t = t.completed().(NeymanPearson)
	phi, err := constraints.ParsePhi(string(t.Phi))
	if err != nil {
		return nil, err
	}
	kappa, err := boundsOf(t, len(train.Classes)-1)
	if err != nil {
		return nil, err
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
	for j, c := range train.Classes[1:] {
		meanings = append(meanings, meaning{measure: errorOf(c).String(), constraints: []int{j}, interval: classInterval(1 + j)})
	}
	return &Statement{
		minimise: errorOf(train.Classes[0]).String(), meanings: meanings,
		Name: NameNeymanPearson, Objective: names[0],
		Constraints: named(p.ConstraintNames(), p.Bounds()), Outputs: len(names),
		Nodes: func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			labels, err := rows.indices()
			if err != nil {
				return nil, nil, err
			}
			f, g, err := p.Nodes(scores, labels)
			return f, gorgonia.Nodes{g}, err
		},
		CollapseAbove: collapse, Warnings: p.Warnings(),
		Measures: func(rows Rows) (func(scores []float64) (Measures, error), error) {
			labels, err := rows.indices()
			if err != nil {
				return nil, err
			}
			if err := everyClass(rows.Classes, labels); err != nil {
				return nil, err
			}
			return func(scores []float64) (Measures, error) {
				e := p.NewEvaluator()
				if err := e.Add(scores, labels); err != nil {
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

// errorOf returns the error of a class, whatever characters the name of the class has.
func errorOf(c Class) constraints.Rate {
	return constraints.Error(constraints.Attribute{Name: c.Name}.Quoted())
}

// everyClass returns an error if a class has no rows.
func everyClass(classes []Class, labels []int) error {
	for k, c := range classes {
		if !slices.Contains(labels, k) {
			return &OptionError{Option: "split", Problem: fmt.Sprintf("leaves no rows of class %s here, and --problem mnpc measures the loss of every class: "+
				"use another --split or --split-seed, leave out the class (--classes), or use --bounds-on decisions", c.Name)}
		}
	}
	return nil
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
