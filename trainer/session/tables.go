package session

import (
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/models"
)

// loadTables reads a table and splits it.
func (e *Experiment) loadTables(dataDir string) error {
	split, err := datasets.ParseSplit(e.cfg.Split)
	if err != nil {
		return err
	}
	t, err := datasets.LoadTable(dataDir, e.cfg.Dataset, datasets.TableOptions{
		Seed: e.cfg.Seed, Split: split, Groups: e.cfg.Group, DropSensitive: e.cfg.DropSensitive, Ignore: e.cfg.Ignore,
		File: e.cfg.File, Label: e.cfg.Label, Categorical: e.cfg.Categorical, Impute: e.cfg.Missing == "impute",
		Separator: e.cfg.SeparatorRune(),
	})
	if err != nil {
		return err
	}
	return e.takeTables(t)
}

// takeTables states the fairness problem.
func (e *Experiment) takeTables(t *datasets.Tables) (err error) {
	if e.cfg.Data.Problem != "if" {
		if _, _, err := t.Train.Partition(); err != nil {
			return err
		}
	}
	e.info.Notes, e.info.Warnings = append(e.info.Notes, t.Notes...), append(e.info.Warnings, t.Warnings...)
	for _, p := range t.Parts() {
		e.splits = append(e.splits, newTableSplit(p))
		if d, err := datasets.Lookup(e.cfg.Dataset); err == nil && len(d.Files) == 0 && !d.Own {
			e.info.DataFiles = append(e.info.DataFiles, FileSum{Name: e.cfg.Dataset + " " + p.Name, SHA256: p.SHA256()})
		}
	}
	e.takeIntegers(t)
	e.normalization = models.Normalization{Kind: models.NormalizeNone}
	e.info.Normalization = "the columns' own (see notes)"
	e.info.Preparation, e.info.FeatureNames = t.Preparation, t.Train.Columns
	if t.Preparation != nil && t.Train.Columns == nil {
		e.info.FeatureNames = t.Preparation.Columns()
	}
	if e.t.spec, err = e.spec(e.splits[0].features(), 1); err != nil {
		return err
	}
	var names []string
	for _, g := range t.Train.Groups {
		names = append(names, g.Name)
	}
	if e.t.goal, err = newFairness(e.cfg, names); err != nil {
		return err
	}
	e.info.Objective = "loss"
	for k, name := range t.Train.Classes {
		e.info.Classes = append(e.info.Classes, e.part(name, func(r rows) int { return r.ofLabel(2*k - 1) }))
	}
	for k, name := range names {
		e.info.Groups = append(e.info.Groups, e.part(name, func(r rows) int { return len(r.groups[k].Rows) }))
	}
	e.t.regularizer, err = e.regularizer()
	return err
}

// splitNames are the splits' names in a run's files.
var splitNames = map[string]string{"training": "train", "validation": "validation", "test": "test"}

func newTableSplit(p datasets.Part) *split {
	r := rows{data: p.Features, labels: p.Labels}
	for _, g := range p.Groups {
		r.groups = append(r.groups, constraints.Group{Name: g.Name, Rows: g.Rows})
		r.levels = append(r.levels, g.Levels)
	}
	r.strata = r.byGroupAndLabel()
	return &split{name: splitNames[p.Name], rows: r}
}

// ofLabel counts the rows of a label.
func (r rows) ofLabel(label int) int {
	n := 0
	for _, y := range r.labels {
		if y == label {
			n++
		}
	}
	return n
}

// byGroupAndLabel are the rows of each group and label, or of each label where groups overlap; none is empty.
func (r rows) byGroupAndLabel() [][]int {
	group := make([]int, r.len()) // of each row, from 1
	for k, g := range r.groups {
		for _, i := range g.Rows {
			if group[i] != 0 {
				return r.strataOf(make([]int, r.len()))
			}
			group[i] = k + 1
		}
	}
	return r.strataOf(group)
}

// strataOf are the rows of each group and label.
func (r rows) strataOf(group []int) [][]int {
	all := make([][]int, 2*(len(r.groups)+1))
	for i, y := range r.labels {
		k := 2 * group[i]
		if y > 0 {
			k++
		}
		all[k] = append(all[k], i)
	}
	return slices.DeleteFunc(all, func(rows []int) bool { return len(rows) == 0 })
}
