package session

import (
	"fmt"
	"path/filepath"
	"slices"

	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/rundir"
)

// The names of the training and test parts of picture sets in rows.csv.
const (
	trainingSet = "train"
	testSet     = "test"
)

// model describes the trained model for model.json, except for the values that training decides.
func (a *assembly) model(d Description) rundir.Model {
	m := rundir.Model{
		Task: d.Task, Dataset: a.data.dataset, Kind: a.builder.Model.Kind(), Normalization: d.Normalization, Objective: d.Objective,
		Input:    rundir.Input{Format: rundir.FormatMatrix, Features: d.Features},
		Decision: rundir.Decision{Rule: rundir.RuleSign, Label: a.data.label},
	}
	if a.builder.Outputs() > 1 {
		m.Decision.Rule = rundir.RuleLargest
	}
	train := a.data.splits[0]
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
	for _, a := range train.attributes {
		m.Attributes = append(m.Attributes, rundir.ModelAttribute{Name: a.Name, Values: a.Values})
	}
	m.Groups, m.GroupsAttribute, m.Reading = a.counted().modelGroups, a.counted().groupsAttribute, a.data.reading
	pictures := a.data.pictures
	switch {
	case d.Preparation != nil && len(d.Preparation.Numbers) > 0:
		m.Input.Format = rundir.FormatLIBSVM
	case d.Preparation != nil:
		m.Input.Format = rundir.FormatText
	case pictures:
		m.Input.Format, m.Input.Scale = rundir.FormatPictures, picture.PixelScale
		if s := a.data.shape; s.Pixels() > 0 {
			m.Input.Shape = []int{s.Channels, s.Height, s.Width}
		}
	}
	for k, c := range train.classes {
		class := rundir.Class{Name: c.Name, Value: c.Name}
		if a.data.label != nil {
			class.Value = a.data.label.Values()[k]
		}
		if pictures {
			number := c.Number
			class.Number = &number
		}
		m.Decision.Classes = append(m.Decision.Classes, class)
	}
	return m
}

// modelGroups describes the groups of a table's rows for model.json. attribute is the name of the
// attribute whose values are the groups; "" if the groups overlap.
func (r rows) modelGroups() (list []rundir.ModelGroup, attribute string) {
	if len(r.conditions) != len(r.groups) { // data at hand
		return nil, ""
	}
	for k, g := range r.groups {
		list = append(list, rundir.ModelGroup{Name: g.Name, Conditions: r.conditions[k]})
	}
	if a, disjoint := ofGroups(r.groups, r.len()); disjoint {
		attribute = a.Name
	}
	return list, attribute
}

// members lists the rows of each split and file. The sources of tables number the rows through all
// files. The sources of pictures number the rows of the training set or the test set.
func (a *assembly) members() []rundir.Members {
	var list []rundir.Members
	pictures, files := a.data.pictures, a.data.files
	for _, s := range a.data.splits {
		switch {
		case s.source == nil:
			return nil
		case pictures && s.name == Test:
			list = append(list, rundir.Members{Split: s.name, File: testSet, Rows: s.source})
		case pictures:
			list = append(list, rundir.Members{Split: s.name, File: trainingSet, Rows: s.source})
		case len(files) < 2:
			list = append(list, rundir.Members{Split: s.name, Rows: s.source})
		default:
			list = append(list, byFile(s, files)...)
		}
	}
	// order the list by file
	slices.SortStableFunc(list, func(a, b rundir.Members) int { return place(files, a.File) - place(files, b.File) })
	return list
}

// byFile lists the rows of a split by file. The row numbers of the split increase.
func byFile(s *split, files []tabular.FileRows) []rundir.Members {
	var list []rundir.Members
	first, at := 0, 0
	for _, f := range files {
		n, _ := slices.BinarySearch(s.source[at:], first+f.Rows)
		m := rundir.Members{Split: s.name, File: f.Name, Rows: slices.Clone(s.source[at : at+n])}
		for k := range m.Rows {
			m.Rows[k] -= first
		}
		list, first, at = append(list, m), first+f.Rows, at+n
	}
	return list
}

// place returns the index of the file with the given name, or -1.
func place(files []tabular.FileRows, name string) int {
	return slices.IndexFunc(files, func(f tabular.FileRows) bool { return f.Name == name })
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
