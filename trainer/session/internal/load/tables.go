package load

import (
	"context"
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/models"
	"ppal/trainer/session/results"
)

// ReadTable reads and splits a table.
func ReadTable(ctx context.Context, dir, dataset string, options tabular.TableOptions, on Request) (*Data, error) {
	own := inFiles(dataset)
	return verified(ctx, dir, dataset, options.OwnFiles(), func(report func() (*datasets.Report, error)) (*Data, error) {
		if options.Seed == 0 {
			options.Seed = on.Seed
		}
		if options.Pages = on.Pages; on.Pages == nil && own {
			options.CheckMemory = on.CheckMemory
		}
		if on.Kept != "" {
			options.Keep = &tabular.Keep{Folder: on.Kept, SHA256: func() (string, error) {
				r, err := report()
				if err != nil {
					return "", err
				}
				return r.Files[0].SHA256, nil // of options.File
			}}
		}
		if on.Share != nil && !on.Batches {
			options.Share = on.Share
		}
		t, err := loadTable(ctx, dir, dataset, options, on)
		if err != nil {
			return nil, err
		}
		l, err := FromTables(t, on)
		if err != nil {
			return nil, err
		}
		if !own {
			l.warnBeyond(on.Memory)
		}
		if builtIn(dataset) {
			for _, p := range t.Parts() {
				l.Description.Data = append(l.Description.Data, results.DataFile{Name: dataset + " " + p.Name, SHA256: p.SHA256()})
			}
		}
		return l, nil
	})
}

// inFiles reports whether the rows of a table may lie in mapped files. The rows of the user's own
// file may.
func inFiles(dataset string) bool { return dataset == datasets.CSV || dataset == datasets.LIBSVM }

// FromTables returns the rows of a table that is already read, with the earlier decisions that the
// task uses.
func FromTables(t *tabular.Tables, on Request) (*Data, error) {
	l, err := loadTables(t, on)
	if err != nil {
		return nil, err
	}
	return l, l.addEarlier(on.Needs.Files)
}

// loadTables returns the rows of a table, without earlier decisions.
func loadTables(t *tabular.Tables, on Request) (*Data, error) {
	l := &Data{Normalization: models.Normalization{Kind: models.NormalizeNone}, files: t.Files, Reading: &t.Reading}
	if t.Label.Known() {
		l.Label = &t.Label
	}
	l.Description.Notes, l.Description.Warnings = slices.Clone(t.Notes), slices.Clone(t.Warnings)
	l.Description.Normalization = "the columns' own (see notes)"
	l.Description.Columns = t.Uses
	l.Description.Preparation, l.Description.FeatureNames = t.Preparation, t.Train.Columns
	if t.Preparation != nil && t.Train.Columns == nil {
		l.Description.FeatureNames = t.Preparation.Columns()
	}
	for name, part := range InSplits(t.Train, t.Validation, t.Test) {
		r := Rows{Data: part.Features, Labels: part.Labels, Queries: part.Queries, Weights: part.Weights, Source: part.Source, Tabular: true, Named: on.Needs.Groups()}
		for k, name := range part.Classes {
			r.Classes = append(r.Classes, Class{Name: name, Label: part.Label(k), Number: k})
		}
		for _, g := range part.Groups {
			r.Groups = append(r.Groups, constraints.Group{Name: g.Name, Rows: g.Rows})
			r.Levels, r.conditions = append(r.Levels, g.Levels), append(r.conditions, g.Conditions)
		}
		for _, a := range part.Attributes {
			r.Attributes = append(r.Attributes, constraints.Attribute(a))
		}
		l.Splits = append(l.Splits, &Split{Name: name, Rows: r})
	}
	if t.Pictures != nil {
		return l, nil
	}
	return l, l.packIntegers(t, on)
}

// packIntegers replaces features that are small integers by bytes if the device has integer
// products for bytes. The graph then reads the bytes, and the first layer applies the centres and
// deviations of the columns.
func (l *Data) packIntegers(t *tabular.Tables, on Request) error {
	_, cols := t.Train.Features.Dims()
	keep := cols < 2 || !on.packs(cols) || on.Pages != nil
	var share tabular.Share
	if _, part := t.Train.Features.(*matrix.Part); part {
		share = on.Share
		var err error
		if keep, err = share.Vote(keep); err != nil { // the machines may differ
			return err
		}
	}
	if keep {
		return nil
	}
	list, err := loader.Integers(t, share)
	if list == nil {
		return err
	}
	for k, x := range list {
		l.Splits[k].Data = x.Values
		if part, ok := t.Parts()[k].Features.(*matrix.Part); ok {
			l.Splits[k].Data = matrix.NewEightBitPart(part.Rows, part.From, x.Values)
		}
	}
	l.Center, l.Scale = make([]float64, cols), make([]float64, cols)
	for j := range cols {
		x := list[0]
		l.Center[j], l.Scale[j] = x.Stretch[j]*(x.Center[j]-x.First[j]), 1/(x.Stretch[j]*x.Deviation[j])
	}
	l.Description.Notes = append(l.Description.Notes, fmt.Sprintf("All %d features are small integers before they are standardised. ppal stores them as bytes.", cols))
	return nil
}

// loadTable reads the table with the attributes that constraints name. "groups" means the groups of
// the table; if the groups do not overlap, it may be a column.
func loadTable(ctx context.Context, dir, dataset string, options tabular.TableOptions, on Request) (*tabular.Tables, error) {
	needs := on.Needs
	options.Attributes, options.Values = slices.Clone(options.Attributes), needs.Values
	for _, name := range needs.Attributes {
		if name != constraints.GroupsName && !slices.Contains(options.Attributes, name) {
			options.Attributes = append(options.Attributes, name)
		}
	}
	for _, value := range needs.Values { // fpr[age<45] is about the rows that meet the comparison
		if value != options.Label && columnar.Comparison(value) && !slices.Contains(options.Attributes, value) {
			options.Attributes = append(options.Attributes, value)
		}
	}
	if on.Scores != nil {
		options.Features, options.Raw = slices.Clone(on.Scores), on.Scores
		if on.ByGroup {
			options.Features = append(options.Features, needs.Attributes...)
			options.Categorical = append(slices.Clone(options.Categorical), needs.Attributes...)
		}
	}
	t, err := datasets.LoadTableContext(ctx, dir, dataset, options)
	// the constraints of a published problem have no text, and mean the groups
	if err == nil && needs.Groups() && needs.Texts != nil && !overlap(t.Train) && !slices.Contains(options.Attributes, constraints.GroupsName) {
		options.Attributes = append(options.Attributes, constraints.GroupsName)
		t, err = datasets.LoadTableContext(ctx, dir, dataset, options)
	}
	return t, namesAttribute(err, needs)
}

// overlap reports whether the table has groups that OfGroups cannot turn into an attribute.
func overlap(t *tabular.Table) bool {
	groups := make([]constraints.Group, len(t.Groups))
	for k, g := range t.Groups {
		groups[k] = constraints.Group{Name: g.Name, Rows: g.Rows}
	}
	_, disjoint := OfGroups(groups, t.Rows())
	return len(groups) > 0 && !disjoint
}

// namesAttribute adds the name of the constraint to the error of an attribute that the table lacks.
func namesAttribute(err error, needs constraints.Needs) error {
	for k, name := range needs.Attributes {
		if unknown := dataerr.UnknownAs(err, name); unknown != nil {
			return needs.UnknownAttribute(k, unknown.Hint)
		}
	}
	return err
}
