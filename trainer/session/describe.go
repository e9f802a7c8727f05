package session

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// Description describes a run: the provenance in config.yaml, and more.
type Description struct {
	results.Provenance
	Task         string   // the name of the statement
	PrimalStep   string   // of the method: lbfgs, nesterov; "": the method has its own
	Dataset      string   // the name of the data set, or "data at hand"
	Objective    string   // the name of f
	Constraints  []string // the names of g_1..g_m: classes, gaps, groups
	Bounded      []string // the same names with their bounds
	Rows         results.SplitSizes
	Preparation  *tabular.Preparation // the encoding of a table's columns; nil for other data
	FeatureNames []string
	Model        results.Model       // contents of model.json; the zero value: no model.json
	Members      []results.Members   // the split of each row; nil: the rows have no source
	DeviceBytes  int64               // peak of the GPU memory in use so far; 0 without a GPU
	Columns      []tabular.ColumnUse // use of each column of a table's file; nil for other data
}

// Describe implements Pipeline.
func (a *assembly) Describe() Description {
	d, st := a.stated(), a.builder.statement
	d.Init, d.Parameters = a.init, a.parameters
	d.Products, d.Device, d.DeviceBytes = a.products, a.device, a.devices.PeakBytes()
	d.Resolved = a.resolved()
	if rule, ok := a.options.Method.(trainer.DualRule); ok && rule.PrimalStep().Kind != step.Auto {
		d.PrimalStep = rule.PrimalStep().Kind.String()
	}
	d.Warnings = concat(d.Warnings, st.Warnings)
	d.Notes = concat(d.Notes, a.notes, a.finishes, a.devices.Notes())
	if a.eightBit {
		d.Notes = concat(d.Notes, a.devices.ProductsNote())
	}
	return d
}

// resolved returns, by the name of the setting, what the run uses for settings that leave the
// choice to the program. The choice depends on the machine, the data and the model only.
func (a *assembly) resolved() map[string]string {
	list, o, d := map[string]string{}, a.options.Device, a.devices
	maps.Copy(list, method.Automatic(a.options.Method, a.Problem()))
	if o.flag() == "auto" {
		list["device"] = string(CPU)
		if d.GPU != nil {
			list["device"] = fmt.Sprintf("%s:%d", CUDA, d.GPU.Info().Ordinal)
		}
	}
	if o.SIMD == "" && d.CPU != nil {
		list["simd"] = d.CPU.Level().String()
	}
	if o.Products == "" {
		list["products"] = a.products
	}
	if o.Threads == 0 {
		n := runtime.GOMAXPROCS(0)
		if d.CPU != nil {
			n = d.CPU.Threads()
		}
		list["threads"] = strconv.Itoa(n)
	}
	if s := a.options.Settings; s.RecordEvery == 0 && !a.onDecisions() { // the rounds differ
		a.setWork(&s)
		every, _ := s.Intervals()
		list["record-every"] = strconv.Itoa(every)
	}
	return list
}

// stated returns the part of the description that the data and the statement decide.
func (a *assembly) stated() Description {
	l, st := a.data.Description, a.builder.statement
	d := Description{Provenance: l.Provenance, Preparation: l.Preparation, FeatureNames: l.FeatureNames, Columns: l.Columns}
	d.Dataset = a.data.Name()
	d.Task, d.Objective, d.Constraints, d.Bounds = st.Name, st.Objective, st.names(), st.bounds()
	d.Bounded = st.bounded()
	if d.Objective == "" {
		d.Objective = "objective"
	}
	c := a.counted()
	d.Features, d.Members = a.builder.Inputs(), slices.Clip(c.members)
	d.Rows, d.Classes, d.Groups = c.rows, slices.Clip(c.classes), slices.Clip(c.groups)
	d.Model = a.model(d)
	return d
}

// counts is the part of a description for which every row is read. A run reads the rows once, and
// describes itself many times.
type counts struct {
	rows            results.SplitSizes
	classes, groups []results.SplitSizes
	modelGroups     []results.ModelGroup // see rows.modelGroups
	groupsAttribute string
	members         []results.Members
}

// counted returns the counts of the rows.
func (a *assembly) counted() *counts {
	if a.counts != nil {
		return a.counts
	}
	train := a.splits[0]
	c := &counts{rows: a.sizes("rows", load.Rows.Len), members: a.data.Members()}
	c.modelGroups, c.groupsAttribute = train.ModelGroups()
	for _, class := range train.Classes {
		c.classes = append(c.classes, a.sizes(class.Name, func(r load.Rows) int { return r.OfLabel(class.Label) }))
	}
	for k, g := range train.Groups {
		c.groups = append(c.groups, a.sizes(g.Name, func(r load.Rows) int { return len(r.Groups[k].Rows) }))
	}
	a.counts = c
	return c
}

// sizes returns the number of rows that count finds in every split.
func (a *assembly) sizes(name string, count func(r load.Rows) int) results.SplitSizes {
	sizes := results.SplitSizes{Name: name}
	for _, s := range a.splits {
		sizes.Set(s.Name, count(s.Rows))
	}
	return sizes
}

// concat joins lists in a new slice; nil if all are empty.
func concat(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// model describes the trained model for model.json, except for the values that training decides.
func (a *assembly) model(d Description) results.Model {
	m := results.Model{
		Task: d.Task, Dataset: a.data.Dataset, Kind: a.builder.Model.Kind(), Normalization: d.Normalization, Objective: d.Objective,
		Input:    results.Input{Format: results.FormatMatrix, Features: d.Features},
		Decision: results.Decision{Rule: results.RuleSign, Label: a.data.Label},
	}
	switch {
	case a.ranks():
		m.Decision.Rule = results.RuleRank
		m.Query = a.splits[0].Queries.Column
	case a.builder.Outputs() > 1:
		m.Decision.Rule = results.RuleLargest
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
		m.Constraints = append(m.Constraints, d.Bounded...)
	}
	for _, a := range train.Attributes {
		m.Attributes = append(m.Attributes, results.ModelAttribute{Name: a.Name, Values: a.Values})
	}
	m.Groups, m.GroupsAttribute, m.Reading = a.counted().modelGroups, a.counted().groupsAttribute, a.data.Reading
	pictures := a.data.Pictures
	switch {
	case d.Preparation != nil && len(d.Preparation.Numbers) > 0:
		m.Input.Format = results.FormatLIBSVM
	case d.Preparation != nil && d.Preparation.Pictures != nil:
		m.Input.Format = results.FormatPictureFiles
	case d.Preparation != nil:
		m.Input.Format = results.FormatText
	case pictures:
		m.Input.Format = results.FormatPictures
	}
	if f := m.Input.Format; f == results.FormatPictures || f == results.FormatPictureFiles {
		m.Input.Scale = picture.PixelScale
		if s := a.data.Shape; s.Pixels() > 0 {
			m.Input.Shape = []int{s.Channels, s.Height, s.Width}
		}
	}
	for k, c := range train.Classes {
		class := results.Class{Name: c.Name, Value: c.Name}
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
func (d Description) modelFile(o *results.Outcome) results.Model {
	m := d.Model
	m.Version, m.Weights = d.Version, filepath.Base(rundir.Dir("").Model())
	if o != nil {
		m.Decision.Threshold, m.Objective, m.Constraints = o.Threshold, o.Objective.Name, nil
		for _, c := range o.Constraints { // name constraints in the words of the user
			m.Constraints = append(m.Constraints, c.Constraint)
		}
		if p := o.Probability; p != nil {
			m.Decision.Probability = &results.Sigmoid{Slope: p.Slope, Intercept: p.Intercept}
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
