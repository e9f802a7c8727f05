package session

import (
	"fmt"
	"path/filepath"

	"ppal/datasets/picture"
	"ppal/internal/rundir"
)

// model describes the trained model for model.json, except for the values that training decides.
func (a *assembly) model(d Description) rundir.Model {
	m := rundir.Model{
		Task: d.Task, Dataset: a.data.Dataset, Kind: a.builder.Model.Kind(), Normalization: d.Normalization, Objective: d.Objective,
		Input:    rundir.Input{Format: rundir.FormatMatrix, Features: d.Features},
		Decision: rundir.Decision{Rule: rundir.RuleSign, Label: a.data.Label},
	}
	if a.builder.Outputs() > 1 {
		m.Decision.Rule = rundir.RuleLargest
	}
	train := a.splits[0]
	if s := a.builder.statement.system; s != nil && s.Margins == nil {
		m.Objective, m.LeftOut = s.Minimize.String(), map[string][]string{}
		for j, c := range s.Subject {
			m.Constraints = append(m.Constraints, c.String())
			if s.LeftOut[j] != nil {
				m.LeftOut[c.String()] = s.LeftOut[j]
			}
		}
	} else {
		for j, name := range d.Constraints {
			m.Constraints = append(m.Constraints, fmt.Sprintf("%s <= %v", name, d.Bounds[j]))
		}
	}
	for _, a := range train.Attributes {
		m.Attributes = append(m.Attributes, rundir.ModelAttribute{Name: a.Name, Values: a.Values})
	}
	m.Groups, m.GroupsAttribute, m.Reading = a.counted().modelGroups, a.counted().groupsAttribute, a.data.Reading
	pictures := a.data.Pictures
	switch {
	case d.Preparation != nil && len(d.Preparation.Numbers) > 0:
		m.Input.Format = rundir.FormatLIBSVM
	case d.Preparation != nil:
		m.Input.Format = rundir.FormatText
	case pictures:
		m.Input.Format, m.Input.Scale = rundir.FormatPictures, picture.PixelScale
		if s := a.data.Shape; s.Pixels() > 0 {
			m.Input.Shape = []int{s.Channels, s.Height, s.Width}
		}
	}
	for k, c := range train.Classes {
		class := rundir.Class{Name: c.Name, Value: c.Name}
		if a.data.Label != nil {
			class.Value = a.data.Label.Values()[k]
		}
		if pictures {
			number := c.Number
			class.Number = &number
		}
		m.Decision.Classes = append(m.Decision.Classes, class)
	}
	return m
}

// modelFile returns the content of model.json for a run with the outcome, without the names and
// checksums that depend on other files.
func (d Description) modelFile(o *Outcome) rundir.Model {
	m := d.Model
	m.Version, m.Weights = d.Version, filepath.Base(rundir.Dir("").Model())
	if o != nil {
		m.Decision.Threshold, m.Objective, m.Constraints = o.Threshold, o.Objective.Name, nil
		for _, c := range o.Constraints { // name constraints in the words of the user
			m.Constraints = append(m.Constraints, c.Constraint)
		}
		if p := o.Probability; p != nil {
			m.Decision.Probability = &rundir.Sigmoid{Slope: p.Slope, Intercept: p.Intercept}
		}
		if p := o.Probabilities; p != nil {
			m.Decision.Probabilities = &p.Softmax
		}
	}
	if d.Preparation != nil {
		m.Input.Preparation = filepath.Base(rundir.Dir("").Preparation())
	}
	return m
}
