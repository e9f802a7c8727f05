package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// undecided marks a row whose part the split draws.
const undecided = -1

// parts returns the part of each row: an index into partNames, or undecided. nil: all rows are
// undecided. parts adds the rows of the test file to the sheet.
func (t *ownTable) parts(s **sheet) ([]int8, error) {
	switch {
	case t.opts.SplitColumn != "":
		return t.partsByColumn(*s)
	case t.opts.TestFile == "":
		return nil, nil
	}
	f, err := openUntilDone(t.ctx, t.opts.TestFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := *s
	test, err := readSheet(f, t.opts.TestFile, t.testSchema(known))
	if err != nil {
		return nil, advise(err, "the rows are prepared as those of "+t.opts.File)
	}
	if t.when != nil {
		if err := t.classes(&design{}, test); err != nil {
			return nil, &FileError{Path: test.name, Offset: -1, Err: fmt.Errorf("column %q: %w", t.label, err)}
		}
	}
	parts := make([]int8, known.rows+test.rows)
	for i := range known.rows {
		parts[i] = undecided
	}
	for i := range test.rows {
		parts[known.rows+i] = 2
	}
	inFile := t.columns[0].profile.rows
	if *s, err = known.with(test, inFile); err != nil {
		return nil, err
	}
	t.files = []FileRows{{t.opts.File, inFile}, {t.opts.TestFile, 1 + slices.Max((*s).source) - inFile}}
	return parts, nil
}

// testSchema returns the schema of the test file. If a condition defines the label, the test file
// holds the original label column, not the two categories that the condition makes.
func (t *ownTable) testSchema(known *sheet) *schema {
	s := t.schema(known)
	for i := range s.columns {
		if spec := &s.columns[i]; spec.name == t.label && t.when != nil {
			spec.categories, spec.many = nil, true
		}
	}
	return s
}

// with returns a sheet with the rows of s followed by the rows of more. Both sheets have the same
// columns. The rows of more have the numbers first, first + 1, ...
func (s *sheet) with(more *sheet, first int) (*sheet, error) {
	out := &sheet{name: s.name, rows: s.rows + more.rows, flag: s.flag, pages: s.pages}
	for i := range out.rows {
		if i < s.rows {
			out.source = append(out.source, s.number(i))
		} else {
			out.source = append(out.source, first+more.number(i-s.rows))
		}
	}
	for _, c := range s.columns {
		other := more.column(c.name)
		both, lists := &column{name: c.name, values: c.values, decimal: c.decimal, single: c.single && other.single, spelled: c.spelled}, newColumnLists(s.pages)
		for _, one := range []*column{c, other} {
			if err := lists.add(&columnPart{numbers: one.numbers, codes: one.codes}); err != nil {
				return nil, err
			}
		}
		if err := lists.end(both); err != nil {
			return nil, err
		}
		out.columns = append(out.columns, both)
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
func (t *ownTable) partsByColumn(s *sheet) ([]int8, error) {
	col := s.column(t.opts.SplitColumn)
	if col.codes == nil { // all values are numbers
		return nil, t.badSplit(s, col.text(0))
	}
	part := make([]int8, len(col.values))
	for k, v := range col.values {
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
	parts := make([]int8, s.rows)
	for i, code := range col.codes {
		parts[i] = part[code]
	}
	return parts, nil
}

// badSplit is the error for a value of the split column.
func (t *ownTable) badSplit(s *sheet, value string) error {
	return &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf("%w: the split column %q holds %q, want %s, %s or %s", ErrSplit,
		t.opts.SplitColumn, value, splitNames[0][0], splitNames[1][0], splitNames[2][0])}
}

// divide distributes the rows over the parts, without the rows of classes that are left out. The
// split draws the part of each undecided row.
func (s *source) divide(opts TableOptions) [3][]int {
	seed := opts.Seed
	if opts.SplitSeed != 0 {
		seed = opts.SplitSeed
	}
	if s.assigned == nil && len(s.label.Others) == 0 {
		return opts.Split.rows(s.strata(), seed)
	}
	var parts [3][]int
	var open, strata []int
	all := s.strata()
	for i, y := range s.labels {
		p := int8(undecided)
		if s.assigned != nil {
			p = s.assigned[i]
		}
		if y == outside {
			continue
		}
		if p == undecided {
			open, strata = append(open, i), append(strata, all[i])
		} else {
			parts[p] = append(parts[p], i)
		}
	}
	for p, rows := range opts.Split.rows(strata, seed) {
		for k, i := range rows {
			rows[k] = open[i]
		}
		parts[p] = append(rows, parts[p]...) // all undecided rows precede the rows of the test file
	}
	return parts
}
