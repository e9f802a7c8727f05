package session

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/internal/measure"
)

// scored are the features of a model of given scores.
type scored struct {
	columns []int    // the feature of each score
	groups  []int    // the feature of each group; nil: one threshold for all rows
	names   []string // of the groups
	column  string   // of the groups
}

// checkScores returns an error if the model has given scores and the run cannot use them.
func (o *Options) checkScores() error {
	m, ok := o.Model.(models.Scores)
	if !ok {
		return nil
	}
	refuse := func(name, format string, args ...any) error {
		return &OptionError{Option: name, Problem: fmt.Sprintf(format, args...)}
	}
	if len(m.Columns) == 0 {
		return refuse("score", "names no column; name the column with the scores")
	}
	if t, ok := readFrom(o.Data).(Table); ok && t.Dataset != datasets.CSV {
		return refuse("model", "is scores, which are columns of your own table; give the table with --file")
	}
	if m.Thresholds != models.ByGroup {
		return nil
	}
	names := o.needs().Attributes
	switch {
	case len(names) == 0:
		return refuse("thresholds", "is by-group, and no bound compares groups; add one, such as --subject-to \"gap(positive_rate, COLUMN) <= 0.02\"")
	case len(names) > 1:
		return refuse("thresholds", "is by-group, which needs one column, and the bounds name %s; bound the groups of one column, or make a column of both",
			option.List(names, "and"))
	case names[0] == constraints.GroupsName || strings.ContainsAny(names[0], "<>!="):
		return refuse("thresholds", "is by-group, and %s is not a column; make a column with the groups, and name it in the bound", names[0])
	}
	return nil
}

// ofScores checks the statement for given scores, and names measures of decisions alone.
func (s *Statement) ofScores() error {
	refuse := func(name, problem string) error { return &OptionError{Option: name, Problem: problem} }
	switch {
	case s.system == nil || s.Decided != nil || s.system.Margins != nil || s.objective != nil:
		return fmt.Errorf("session: %w: thresholds on scores need a task in the language of constraints (Decisions)", ErrOptions)
	case s.system.OfPairs():
		return refuse("model", "is scores, and thresholds do not change the order of documents; train a model")
	case s.boundsOn != constraints.OnDecisions && len(s.system.Subject) > 0:
		return refuse("bounds-on", "must be decisions: thresholds change no surrogate")
	case s.system.IsLoss():
		return refuse("minimize", "must be a rate of decisions, such as error: thresholds do not change a loss")
	}
	for j, c := range s.system.Subject {
		if s.system.DependsOnLoss(j) {
			return refuse("subject-to", fmt.Sprintf("%s: thresholds change neither a loss nor weights; bound a rate of decisions", c))
		}
	}
	s.named = nameCounted
	return nil
}

// scoresOf finds the features of the given scores; nil: the run trains a model.
func (a *assembly) scoresOf() (*scored, error) {
	m, ok := a.options.Model.(models.Scores)
	if !ok {
		return nil, nil
	}
	if a.devices.Team != nil {
		return nil, &OptionError{Option: "model", Problem: "is scores, whose thresholds one process chooses: leave out mpirun"}
	}
	s, names := &scored{}, a.data.Description.FeatureNames
	classes := a.splits[0].Classes
	want := len(classes)
	if want == 2 {
		want = 1
	}
	if len(m.Columns) != want {
		var list []string
		for _, c := range classes {
			list = append(list, c.Name)
		}
		advice := "name a column for each class, in this order"
		if want == 1 {
			advice = fmt.Sprintf("name one column, with the scores of %s", list[1])
		}
		return nil, &OptionError{Option: "score", Problem: fmt.Sprintf("names %s, and the label has the classes %s; %s",
			option.Counted(len(m.Columns), "column"), strings.Join(list, ", "), advice)}
	}
	for _, name := range m.Columns {
		at := slices.Index(names, name)
		if at < 0 {
			return nil, &OptionError{Option: "score", Problem: fmt.Sprintf("names %q, which is not a column of numbers", name)}
		}
		if slices.Contains(names, name+" missing") {
			return nil, &OptionError{Option: "score", Problem: fmt.Sprintf("names %q, which lacks scores of some rows; leave these rows out (--missing drop)", name)}
		}
		s.columns = append(s.columns, at)
	}
	if m.Thresholds != models.ByGroup {
		return s, nil
	}
	s.column = a.options.needs().Attributes[0]
	for j, name := range names {
		if value, ok := strings.CutPrefix(name, s.column+"="); ok && !slices.Contains(s.columns, j) {
			s.groups, s.names = append(s.groups, j), append(s.names, value)
		} else if name == s.column+" missing" {
			s.groups, s.names = append(s.groups, j), append(s.names, "missing")
		}
	}
	if s.groups == nil {
		return nil, &OptionError{Option: "thresholds", Problem: fmt.Sprintf("is by-group, and the rows have no indicators of the values of %s", s.column)}
	}
	return s, nil
}

// weights returns the weights of a model of given scores for offsets of each group, one group after
// the other. With groups, the biases have the offsets mean.
func (s *scored) weights(model models.Architecture, offsets, mean []float64) (models.Weights, error) {
	inputs, outputs := model.Dims()
	weight, bias := make([]float64, outputs*inputs), slices.Clone(offsets[:outputs])
	for k, j := range s.columns {
		weight[k*inputs+j] = 1
	}
	if mean != nil {
		copy(bias, mean)
	}
	for g, j := range s.groups {
		for k := range outputs {
			weight[k*inputs+j] = offsets[g*outputs+k] - bias[k]
		}
	}
	list := model.Parameters()
	return models.Weights{{Name: list[0].Name, Shape: list[0].Shape, Data: weight}, {Name: list[1].Name, Shape: list[1].Shape, Data: bias}}, nil
}

// given returns the scores of a split, and the groups of its rows.
func (s *scored) given(rows load.Rows) measure.Scores {
	n, cols := rows.Data.Dims()
	var out measure.Scores
	row := make([]float64, cols)
	for i := range n {
		rows.Data.Float64(row, i, i+1)
		for _, j := range s.columns {
			out.Scores = append(out.Scores, row[j])
		}
		for g, j := range s.groups {
			if row[j] == 1 {
				out.Groups = append(out.Groups, int32(g))
				break
			}
		}
	}
	return out
}

// chooseThresholds is optimizeDecisions for given scores: it searches thresholds, and makes them
// the weights.
func (a *assembly) chooseThresholds(f *measure.Solution, p problem.Problem, tell func(trainer.Warnings), early trainer.Warnings) (*trainer.Result, error) {
	began, s := time.Now(), a.scored
	f.OnScores = &measure.ScoreThresholds{Column: s.column, Names: s.names, Outputs: a.builder.Outputs()}
	held := func() (measure.Scores, error) { return s.given(a.validation().Rows), nil }
	if err := f.Thresholds(s.given(a.splits[0].Rows), measure.Resolution(false), a.confidence, held); err != nil {
		return nil, err
	}
	weights, err := s.weights(a.builder.Model, f.OnScores.Offsets, f.OnScores.Mean)
	if err != nil {
		return nil, err
	}
	x, err := models.Stack(a.builder.Model, weights)
	if err != nil {
		return nil, err
	}
	a.problem.Space().Write(problem.Iterate, x)
	a.solved = f
	none := math.NaN()
	r := &trainer.Result{Status: trainer.Compared, Point: problem.NewPoint(p), Seconds: time.Since(began).Seconds(), Decay: trainer.Decay{Stationarity: none, Infeasibility: none, Complementarity: none}}
	late := append(f.Warnings(false, a.circumstances(r.Status)), a.confidence.Warnings()...)
	tell(late)
	r.Warnings = append(slices.Clone(early), late...)
	return r, nil
}

// judgeThresholds is Certify for given scores. The objective and the constraints are those of the
// decisions, and there is no certificate.
func (a *assembly) judgeThresholds(result *Result) error {
	result.Thresholds = true
	if _, err := a.problem.Forward(make([]float64, len(a.builder.statement.Constraints))); err != nil {
		return err
	}
	all, err := a.measureSplits(result)
	if err != nil {
		return err
	}
	last := len(all) - 1
	if result.Examples, err = a.examples(a.splits[last], all[last], a.options.Files.Examples); err != nil {
		return err
	}
	if result.Outcome, err = a.outcome(result.Training, all, result); err != nil {
		return err
	}
	result.Objective, result.Constraints = a.solved.Counted(all[0])
	return nil
}

// groupWeight is a weight of a linear model that shifts the scores of a group of documents against
// the others. values has the feature of each training row; nil: there is no such weight.
type groupWeight struct {
	column int
	values []float64
}

// ranks reports whether the task is about pairs of documents.
func (a *assembly) ranks() bool {
	s := a.builder.statement.system
	return s != nil && s.OfPairs()
}

// ofQueries reports whether a bound is on the pairs of a single query, so that every step needs all
// queries.
func (a *assembly) ofQueries() bool { return a.ranks() && a.builder.statement.system.OfQueries() }

// groupWeight finds the feature that tells the two kinds of documents of the sample apart: it has
// one value in each of them. Networks, other numbers of kinds, and rows in several processes have
// no such weight.
func (a *assembly) groupWeight(sample *constraints.Sample) (g groupWeight, err error) {
	kinds, kindOf := sample.Kinds()
	train := a.splits[0]
	if kinds != 2 || !models.IsLinear(a.builder.Model) || a.devices.Team != nil {
		return g, nil
	}
	features := train.Features()
	first, row := [2][]float64{}, make([]float64, features)
	var left []int // the columns that have one value in each kind so far
	for j := range features {
		left = append(left, j)
	}
	for i, kind := range kindOf {
		if err := train.readRow(row, i); err != nil {
			return g, err
		}
		if first[kind] == nil {
			first[kind] = append([]float64{}, row...)
			continue
		}
		kept := left[:0]
		for _, j := range left {
			if row[j] == first[kind][j] {
				kept = append(kept, j)
			}
		}
		if left = kept; len(left) == 0 {
			return g, nil
		}
	}
	for _, j := range left {
		if first[0][j] != first[1][j] {
			g = groupWeight{j, make([]float64, len(kindOf))}
			for i, kind := range kindOf {
				g.values[i] = first[kind][j]
			}
			return g, nil
		}
	}
	return g, nil
}
