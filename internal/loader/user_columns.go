package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/option"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// UserColumn is a used column of a user's file.
type UserColumn struct {
	Name  string
	Field int // index in a record
	// uses of the column; a feature is not the label or the split, and may also determine groups
	Feature, Label, Group, Attribute, Split, Query, Weight bool
	picture                                                bool // the paths of the rows' pictures
	Categorical                                            bool // the user asked for categories
	wide                                                   bool // a number of an array, and a feature alone: see columnar.Wide
	Profile                                                *columnar.Profile
	Kind                                                   columnKind
	decimal, layout                                        string // as in Encoding; empty for the other kinds
}

// columnKind says how the values of a column are read.
type columnKind int

const (
	numberKind   columnKind = iota
	CategoryKind            // categories
	dateKind
)

// UserTable holds the columns of a user's file, and how they are used.
type UserTable struct {
	ctx             context.Context // ends the reading of the file
	Opts            *tabular.TableOptions
	Header          []string
	Columns         []*UserColumn        // the used columns, in the order of the file
	Label           string               // the label's column
	Positive        string               // the value of class +1 as given; may be empty
	When            *columnar.Condition  // the condition of class +1; nil: positive decides
	uses            []tabular.ColumnUse  // of all columns
	files           []tabular.FileRows   // nil: one file
	duplicates      []string             // places of the columns with the name of an earlier used column, unless they are ignored
	duplicateErrors []*dataerr.FileError // the problems of these columns
	repeated        []string             // names that several columns have, of which the first counts
	arrays          map[string]int       // as in Layout: the arrays with a used column
	notes           []string
	warnings        []string
	places          recordio.Names // of the columns
	queries         queryList
	grades          []uint8
	graded          bool // TableOptions.Relevant makes the condition of class +1
	// the numbers of a field that the file stores, from the reading of the profiles; nil: not kept
	stored func(field int) []float64
	wides  map[int]*columnar.Wide // Schema.Wides, from the same reading
	pixels *pictured              // the pictures of the rows; nil: the features are columns
}

// newUserTable finds the columns that the options name. The error lists all unknown names.
func newUserTable(ctx context.Context, text *recordio.Delimited, opts *tabular.TableOptions) (*UserTable, error) {
	header := text.Header
	t := &UserTable{ctx: ctx, Opts: opts, Header: header}
	if note := text.LeftOut(); note != "" {
		t.notes = append(t.notes, note)
	}
	problems := &dataerr.Problems{Path: opts.File}
	wrong := func(format string, args ...any) {
		problems.Add(&dataerr.FileError{Path: opts.File, Offset: -1, Line: text.HeaderLine, Err: fmt.Errorf(format, args...)})
	}
	if err := t.FindLabel(); err != nil {
		wrong("%w", err)
		column, _, _ := columnar.CutOperator(t.Opts.Label)
		if advice := text.NamesElsewhere(t.Opts.Label, column); advice != "" { // the other names are unknown, too
			problems.List[0].Advice = advice
			return nil, problems.Found(nil)
		}
	}
	named := []string{}
	if opts.SplitColumn != "" {
		named = append(named, opts.SplitColumn)
	}
	for _, name := range []string{opts.Query, opts.Weight} {
		if name != "" {
			named = append(named, name)
		}
	}
	if opts.Picture != "" {
		named, t.pixels = append(named, opts.Picture), newPictured(ctx, opts)
	}
	known, ignored, features, categorical := textvalue.SetOf(header), textvalue.SetOf(opts.Ignore), textvalue.SetOf(opts.Features), textvalue.SetOf(opts.Categorical)
	for field, name := range header {
		if slices.Index(header, name) < field {
			known[recordio.ByPlace(field)] = true // the name of a column with the name of an earlier column
		}
	}
	for _, name := range slices.Concat(opts.Ignore, opts.Features, opts.Categorical, named) {
		if !known[name] {
			wrong("%w", recordio.NoColumn(name, header))
		}
	}
	for _, name := range opts.Features {
		switch {
		case name == t.Label:
			wrong("%w: the label %q cannot be a feature", dataerr.ErrColumn, name)
		case ignored[name]:
			wrong("%w: --features and --ignore both name %q", dataerr.ErrColumn, name)
		}
	}
	if ignored[t.Label] {
		wrong("%w: the label %q cannot be ignored", dataerr.ErrColumn, t.Label)
	}
	if opts.Query != "" && (opts.Query == t.Label || opts.Query == opts.SplitColumn || ignored[opts.Query] || features[opts.Query]) {
		wrong("%w: the column of the queries, %q, cannot be the label, the split, a feature or ignored", dataerr.ErrColumn, opts.Query)
	}
	if w := opts.Weight; w != "" && (w == t.Label || w == opts.SplitColumn || w == opts.Query || ignored[w] || features[w]) {
		wrong("%w: the column of the weights, %q, cannot be the label, the split, the queries, a feature or ignored", dataerr.ErrColumn, w)
	}
	if opts.Weight != "" && opts.Query != "" {
		wrong("%w: --weight: a ranking counts pairs of documents, which have no weights; leave out --weight or --query", dataerr.ErrOption)
	}
	conditions := func(texts []string, what string) (columns []string) {
		for _, text := range texts {
			c, err := columnar.ParseCondition(text, header)
			switch {
			case err == nil:
				columns = append(columns, c.Column)
			case known[c.Column] || !features[c.Column]: // otherwise the feature's error says it
				wrong("%s%w", what, err)
			}
		}
		return columns
	}
	groups, attributes := conditions(opts.Groups, ""), conditions(opts.Attributes, "attribute: ")
	if slices.Contains(slices.Concat(groups, attributes), opts.Query) {
		wrong("%w: the column of the queries, %q, cannot be a group or an attribute of a bound", dataerr.ErrColumn, opts.Query)
	}
	for field, name := range header {
		c := &UserColumn{
			Name: name, Field: field, Label: name == t.Label, Split: name == opts.SplitColumn, Query: name == opts.Query && name != "", Weight: name == opts.Weight && name != "",
			Group: slices.Contains(groups, name), Attribute: slices.Contains(attributes, name),
			Categorical: categorical[name],
		}
		c.picture = t.pixels != nil && name == opts.Picture
		c.Feature = t.pixels == nil && !c.Label && !c.Split && !c.Query && !c.Weight && !ignored[name] && (len(opts.Features) == 0 && !text.Auxiliary(field) || features[name])
		c.wide = c.Feature && !c.Group && !c.Attribute && !c.Categorical && inBlock(text, field)
		if !c.used() {
			continue
		}
		if first := t.column(name); first != nil {
			if place := recordio.ByPlace(field); !ignored[place] {
				two, keep := "two columns are named %q", "keep the first (--ignore %s), or rename a column"
				if text.Joined(field) && !text.Joined(first.Field) {
					two, keep = "the arrays and the --table both have %q", "keep the arrays' (--ignore %s), or rename it in the table"
				}
				t.duplicates = append(t.duplicates, place)
				t.duplicateErrors = append(t.duplicateErrors, &dataerr.FileError{Path: opts.File, Offset: -1, Line: text.HeaderLine, Err: fmt.Errorf("%w: "+two, dataerr.ErrColumn, name),
					Advice: fmt.Sprintf(keep, textvalue.FlagNames(place))})
			}
			if !slices.Contains(t.repeated, name) {
				t.repeated = append(t.repeated, name)
			}
			continue
		}
		c.Profile = columnar.NewProfile(c.Categorical || c.Split || c.picture || c.Label && t.When == nil)
		t.Columns = append(t.Columns, c)
	}
	for _, a := range text.Arrays() {
		if slices.ContainsFunc(t.Columns, func(c *UserColumn) bool { return c.Field >= a.First && c.Field < a.First+a.Columns }) {
			if t.arrays == nil {
				t.arrays = map[string]int{}
			}
			t.arrays[a.Name] = a.Columns
		}
	}
	return t, problems.Found(nil)
}

// used reports whether the column is read.
func (c *UserColumn) used() bool {
	return c.Feature || c.Attribute || c.required() || c.picture
}

// required reports whether a row without a value in the column has no use, besides a feature.
func (c *UserColumn) required() bool {
	return c.Label || c.Group || c.Split || c.Query || c.Weight
}

// column returns the used column with the given name, or nil.
func (t *UserTable) column(name string) *UserColumn {
	i := t.places.Find(name, len(t.Columns), func(i int) string { return t.Columns[i].Name })
	if i < 0 {
		return nil
	}
	return t.Columns[i]
}

// FindLabel finds the label's column, and the value or the condition of class +1.
func (t *UserTable) FindLabel() (err error) {
	t.Label = t.Opts.Label
	relevant := t.Opts.Query != "" && !slices.Contains([]string{"", tabular.EachGrade}, t.Opts.Relevant)
	if slices.Contains(t.Header, t.Label) {
		if !relevant {
			return nil
		}
		if _, _, err := ParseRelevant(t.Opts.Relevant); err != nil {
			return fmt.Errorf("%w: relevant %w", dataerr.ErrOption, err)
		}
		c, err := columnar.ParseCondition(t.Label+">"+t.Opts.Relevant, t.Header)
		t.When, t.graded = &c, true
		return err
	}
	if relevant {
		return fmt.Errorf("%w: --relevant needs a label of grades without a value or a condition, as in --label GRADE", dataerr.ErrOption)
	}
	if t.Opts.Classes != nil {
		defer func() {
			if err == nil {
				err = fmt.Errorf("%w: --classes needs a label without a value or a condition, as in --label %s", dataerr.ErrClass, option.ShellWord(t.Label))
			}
		}()
	}
	left, value, _ := strings.Cut(t.Opts.Label, "=")
	if left = strings.TrimSpace(left); slices.Contains(t.Header, left) && value != "" {
		t.Label, t.Positive = left, strings.TrimSpace(value)
		return nil
	}
	c, err := columnar.ParseCondition(t.Opts.Label, t.Header)
	if err != nil {
		column, op, _ := columnar.CutOperator(t.Opts.Label)
		if _, number := textvalue.Number([]byte(column)); (op == "" || !number) && !slices.Contains(t.Header, column) {
			return recordio.NoColumn(column, t.Header)
		}
		return fmt.Errorf("label: %w", err)
	}
	t.Label, t.When = c.Column, &c
	return nil
}

// learn reads the rows of the chunks that next returns, and makes the profiles of the columns.
func (t *UserTable) learn(next func(buffer []byte) (recordio.Chunk, error), text *recordio.Delimited) error {
	for _, c := range t.Columns {
		c.Profile.Reset()
	}
	absent := columnar.NewTextSet(absentOf(t.Opts))
	var fields, places []int // the fields that are read by records, and their columns
	for i, c := range t.Columns {
		if !c.wide {
			fields, places = append(fields, c.Field), append(places, i)
		}
	}
	arrays := newArrayReader(text, t.Columns)
	text.Skip(fields)
	if err := t.keepNumbers(text, arrays, absent.HasNumbers()); err != nil {
		return err
	}
	full := make([]atomic.Bool, len(t.Columns)) // profile.full of the profiles so far
	newWorker := func() func(recordio.Chunk, *learned) error {
		records, unusual := text.Records(), arrays.worker()
		var left, columns []int // the fields whose values are added one by one, and their columns
		return func(c recordio.Chunk, own *learned) error {
			own.reset(t.Columns)
			left, columns = left[:0], columns[:0]
			for k, field := range fields {
				i := places[k]
				if own.numbers[i] = absent.Numbers(records, c, field); own.numbers[i] == nil {
					own.profiles[i].Full = full[i].Load()
					left, columns = append(left, field), append(columns, i)
				}
			}
			if err := recordio.EachField(records, c, left, func(i int) { own.profiles[columns[i]].Add(records, left[i], absent) }); err != nil {
				return err
			}
			return unusual(c, own.profiles)
		}
	}
	spell := func(i int) func(x float64) string {
		return func(x float64) string { return text.Spelling(t.Columns[i].Field, x) }
	}
	err := recordio.InOrder(next, newWorker, func(own *learned) error {
		for i, c := range t.Columns {
			if numbers := own.numbers[i]; numbers != nil {
				c.Profile.AddNumbers(numbers, spell(i))
			} else {
				c.Profile.Spell(spell(i))
				c.Profile.Join(own.profiles[i])
			}
			full[i].Store(c.Profile.Distinct() > columnar.MaxCategories)
		}
		return nil
	})
	arrays.end()
	t.wides = arrays.kept()
	for i, c := range t.Columns {
		c.Profile.Spell(spell(i))
	}
	return err
}

// learned is what a chunk says about each column: all its numbers, or a profile.
type learned struct {
	numbers  [][]float64 // nil: the profile has the values
	profiles []*columnar.Profile
}

// reset forgets the last chunk.
func (l *learned) reset(columns []*UserColumn) {
	if l.profiles == nil {
		l.numbers = make([][]float64, len(columns))
		for _, c := range columns {
			l.profiles = append(l.profiles, columnar.NewProfile(c.Profile.OnlyCategories))
		}
	}
	for _, p := range l.profiles {
		p.Reset()
	}
}

// keepNumbers lets the reading of the profiles keep the numbers that the file stores as numbers, so
// that the file is decoded once. It does nothing if the values go to pages or to several processes,
// or if rows or numbers may be left out.
func (t *UserTable) keepNumbers(text *recordio.Delimited, arrays *arrayReader, marked bool) error {
	if t.stored = nil; pagesOf(t.Opts) != nil || t.Opts.Share != nil || t.Opts.Missing == tabular.MissingDropped || marked {
		return nil
	}
	if err := arrays.keep(t.Opts.CheckMemory); err != nil {
		return err
	}
	var fields []int
	for _, c := range t.Columns {
		if !c.Profile.OnlyCategories {
			fields = append(fields, c.Field)
		}
	}
	bytes := text.Keep(fields)
	if bytes == 0 {
		return nil
	}
	t.stored = text.Numbers
	if t.Opts.CheckMemory == nil {
		return nil
	}
	return t.Opts.CheckMemory(columnar.RowCopies * bytes)
}
