package loader

import (
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
)

// undecided marks a row whose part the split draws.
const undecided = -1

// parts returns the part of each row: an index into PartNames, or undecided. nil: all rows are
// undecided. parts adds the rows of the test file to the sheet.
func (t *UserTable) parts(s **columnar.Sheet) ([]int8, error) {
	switch {
	case t.Opts.SplitColumn != "":
		return t.partsByColumn(*s)
	case t.Opts.TestFile == "":
		return nil, nil
	}
	f, err := recordio.OpenUntilDone(t.ctx, t.Opts.TestFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := *s
	schema := t.testSchema(known)
	test, err := columnar.ReadSheet(f, t.Opts.TestFile, schema)
	if err != nil {
		advice := "the rows are prepared as those of " + t.Opts.File
		if t.Opts.JoinFile != "" && schema.Layout.JoinFile == "" && t.pixels == nil {
			advice = fmt.Sprintf("%s is joined to %s row by row: the test file needs these columns as arrays of its own, or both files need an array of keys (--key)", t.Opts.JoinFile, t.Opts.File)
		}
		return nil, dataerr.Advise(err, advice)
	}
	if test.LeftOut != "" {
		t.notes = append(t.notes, test.LeftOut)
	}
	if err := t.takeQueries(test); err != nil {
		return nil, err
	}
	if err := t.pixels.take(test, schema.Layout); err != nil {
		return nil, err
	}
	if t.When != nil {
		if err := t.classes(&Design{}, test); err != nil {
			return nil, &dataerr.FileError{Path: test.Name, Offset: -1, Err: fmt.Errorf("column %q: %w", t.Label, err)}
		}
	}
	parts := make([]int8, known.Rows+test.Rows)
	for i := range known.Rows {
		parts[i] = undecided
	}
	for i := range test.Rows {
		parts[known.Rows+i] = 2
	}
	inFile := t.Columns[0].Profile.Rows
	if *s, err = appendRows(known, test, inFile); err != nil {
		return nil, err
	}
	t.files = []tabular.FileRows{{Name: t.Opts.File, Rows: inFile}, {Name: t.Opts.TestFile, Rows: 1 + slices.Max((*s).Source) - inFile}}
	return parts, nil
}

// testSchema returns the schema of the test file. If a condition defines the label, the test file
// holds the original label column, not the two categories that the condition makes.
func (t *UserTable) testSchema(known *columnar.Sheet) *columnar.Schema {
	s := t.schema(known)
	if s.Layout.Shared = true; t.pixels != nil || s.Layout.Key == "" {
		s.Layout.JoinFile = "" // belongs to the rows of File
	}
	for i := range s.Columns {
		if spec := &s.Columns[i]; spec.Name == t.Label && t.When != nil {
			spec.Categories, spec.Many = nil, true
		} else if spec.Name == t.Opts.Query && spec.Name != "" {
			spec.Categories, spec.Many, spec.Unknown = nil, true, false
		}
	}
	return s
}

// appendRows returns a sheet with the rows of s followed by the rows of more. Both sheets have the
// same columns. The rows of more have the numbers first, first + 1, ...
func appendRows(s *columnar.Sheet, more *columnar.Sheet, first int) (*columnar.Sheet, error) {
	out := &columnar.Sheet{Name: s.Name, Rows: s.Rows + more.Rows, Flag: s.Flag, Pages: s.Pages}
	for i := range out.Rows {
		if i < s.Rows {
			out.Source = append(out.Source, s.Number(i))
		} else {
			out.Source = append(out.Source, first+more.Number(i-s.Rows))
		}
	}
	wide := map[*columnar.Wide]*columnar.Wide{} // the rows of both sheets
	for _, c := range s.Columns {
		other := more.Column(c.Name)
		if c.Wide != nil && other.Wide != nil && c.At == other.At && c.Wide.Columns == other.Wide.Columns {
			if wide[c.Wide] == nil {
				var err error
				if wide[c.Wide], err = c.Wide.Follow(other.Wide, s.Pages); err != nil {
					return nil, err
				}
			}
			out.Columns = append(out.Columns, &columnar.Column{Name: c.Name, Decimal: c.Decimal, Single: c.Single && other.Single,
				Lacks: c.Lacks || other.Lacks, Wide: wide[c.Wide], At: c.At})
			continue
		}
		both, lists := &columnar.Column{Name: c.Name, Values: c.Values, Decimal: c.Decimal, Single: c.Single && other.Single, Spelled: c.Spelled}, columnar.NewColumnLists(s.Pages)
		for _, one := range []*columnar.Column{c, other} {
			if err := lists.Add(&columnar.ColumnPart{Numbers: one.Listed(), Codes: one.Codes}); err != nil {
				return nil, err
			}
		}
		if err := lists.End(both); err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, both)
	}
	return out, nil
}

// splitNames are the texts in a split column, in lower case, for each part.
var splitNames = [3][]string{
	{"train", "training", "fit"},
	{"validation", "valid", "val", "dev", "development"},
	{"test", "testing", "holdout", "hold-out", "eval", "evaluation"},
}

// partsByColumn reads the part of each row from the split column.
func (t *UserTable) partsByColumn(s *columnar.Sheet) ([]int8, error) {
	col := s.Column(t.Opts.SplitColumn)
	if col.Codes == nil { // all values are numbers
		return nil, t.badSplit(s, col.Text(0))
	}
	part := make([]int8, len(col.Values))
	for k, v := range col.Values {
		part[k] = undecided
		for p, names := range splitNames {
			for _, name := range names {
				if strings.EqualFold(v, name) {
					part[k] = int8(p)
				}
			}
		}
		if part[k] == undecided {
			return nil, t.badSplit(s, v)
		}
	}
	parts := make([]int8, s.Rows)
	for i, code := range col.Codes {
		parts[i] = part[code]
	}
	return parts, nil
}

// badSplit is the error for a value of the split column.
func (t *UserTable) badSplit(s *columnar.Sheet, value string) error {
	return &dataerr.FileError{Path: s.Name, Offset: -1, Err: fmt.Errorf("%w: the split column %q holds %q, want %s, %s or %s", dataerr.ErrSplit,
		t.Opts.SplitColumn, value, splitNames[0][0], splitNames[1][0], splitNames[2][0])}
}

// divide distributes the rows over the parts, without the rows of weight 0 and of classes that are
// left out. The
// split draws the part of each undecided row.
func (s *Source) divide(opts tabular.TableOptions) (parts [3][]int, err error) {
	seed := opts.Seed
	if opts.SplitSeed != 0 {
		seed = opts.SplitSeed
	}
	if s.queries != nil {
		return s.divideQueries(opts.Split, seed)
	}
	if s.assigned == nil && len(s.Label.Others) == 0 && s.weights == nil {
		return opts.Split.Rows(s.strata(), seed), nil
	}
	var open, strata []int
	all := s.strata()
	for i, y := range s.Labels {
		p := int8(undecided)
		if s.assigned != nil {
			p = s.assigned[i]
		}
		if y == Outside {
			continue
		}
		if p == undecided {
			open, strata = append(open, i), append(strata, all[i])
		} else {
			parts[p] = append(parts[p], i)
		}
	}
	for p, rows := range opts.Split.Rows(strata, seed) {
		for k, i := range rows {
			rows[k] = open[i]
		}
		parts[p] = append(rows, parts[p]...) // all undecided rows precede the rows of the test file
	}
	return parts, nil
}
