package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"ppal/internal/option"
)

// ownColumn is a used column of a user's file.
type ownColumn struct {
	name  string
	field int // index in a record
	// uses of the column; a feature is not the label or the split, and may also determine groups
	feature, label, group, attribute, split bool
	categorical                             bool // the user asked for categories
	profile                                 *profile
	kind                                    columnKind
	decimal, layout                         string // as in Encoding; empty for the other kinds
}

// columnKind says how the values of a column are read.
type columnKind int

const (
	numberKind columnKind = iota
	categoryKind
	dateKind
)

// ownTable holds the columns of a user's file, and how they are used.
type ownTable struct {
	ctx             context.Context // ends the reading of the file
	opts            *TableOptions
	header          []string
	columns         []*ownColumn // the used columns, in the order of the file
	label           string       // the label's column
	positive        string       // the value of class +1 as given; may be empty
	when            *condition   // the condition of class +1; nil: positive decides
	uses            []ColumnUse  // of all columns
	files           []FileRows   // nil: one file
	duplicates      []string     // places of the columns with the name of an earlier used column, unless they are ignored
	duplicateErrors []*FileError // the problems of these columns
	repeated        []string     // names that several columns have, of which the first counts
	notes           []string
	warnings        []string
	places          names // of the columns
}

// newOwnTable finds the columns that the options name. The error lists all unknown names.
func newOwnTable(ctx context.Context, text *delimited, opts *TableOptions) (*ownTable, error) {
	header := text.header
	t := &ownTable{ctx: ctx, opts: opts, header: header}
	problems := &Problems{Path: opts.File}
	wrong := func(format string, args ...any) {
		problems.add(&FileError{Path: opts.File, Offset: -1, Line: 1, Err: fmt.Errorf(format, args...)})
	}
	if err := t.findLabel(); err != nil {
		wrong("%w", err)
		column, _, _ := cutOperator(t.opts.Label)
		if advice := text.namesElsewhere(t.opts.Label, column); advice != "" { // the other names are unknown, too
			problems.List[0].Advice = advice
			return nil, problems.found(nil)
		}
	}
	named := []string{}
	if opts.SplitColumn != "" {
		named = append(named, opts.SplitColumn)
	}
	known, ignored, features, categorical := setOf(header), setOf(opts.Ignore), setOf(opts.Features), setOf(opts.Categorical)
	for field, name := range header {
		if slices.Index(header, name) < field {
			known[byPlace(field)] = true // the name of a column with the name of an earlier column
		}
	}
	for _, name := range slices.Concat(opts.Ignore, opts.Features, opts.Categorical, named) {
		if !known[name] {
			wrong("%w", noColumn(name, header))
		}
	}
	for _, name := range opts.Features {
		switch {
		case name == t.label:
			wrong("%w: the label %q cannot be a feature", ErrColumn, name)
		case ignored[name]:
			wrong("%w: --features and --ignore both name %q", ErrColumn, name)
		}
	}
	if ignored[t.label] {
		wrong("%w: the label %q cannot be ignored", ErrColumn, t.label)
	}
	conditions := func(texts []string, what string) (columns []string) {
		for _, text := range texts {
			if c, err := parseCondition(text, header); err != nil {
				wrong("%s%w", what, err)
			} else {
				columns = append(columns, c.column)
			}
		}
		return columns
	}
	groups, attributes := conditions(opts.Groups, ""), conditions(opts.Attributes, "attribute: ")
	for field, name := range header {
		c := &ownColumn{
			name: name, field: field, label: name == t.label, split: name == opts.SplitColumn,
			group: slices.Contains(groups, name), attribute: slices.Contains(attributes, name),
			categorical: categorical[name],
		}
		c.feature = !c.label && !c.split && !ignored[name] && (len(opts.Features) == 0 || features[name])
		if !c.used() {
			continue
		}
		if t.column(name) != nil {
			if !ignored[byPlace(field)] {
				t.duplicates = append(t.duplicates, byPlace(field))
				t.duplicateErrors = append(t.duplicateErrors, &FileError{Path: opts.File, Offset: -1, Line: 1, Err: fmt.Errorf("%w: two columns are named %q", ErrColumn, name),
					Advice: fmt.Sprintf("keep the first (--ignore %s), or rename a column", flagNames(byPlace(field)))})
			}
			if !slices.Contains(t.repeated, name) {
				t.repeated = append(t.repeated, name)
			}
			continue
		}
		c.profile = newProfile(c.categorical || c.split || c.label && t.when == nil)
		t.columns = append(t.columns, c)
	}
	return t, problems.found(nil)
}

// used reports whether the column is read.
func (c *ownColumn) used() bool { return c.feature || c.label || c.group || c.attribute || c.split }

// column returns the used column with the given name, or nil.
func (t *ownTable) column(name string) *ownColumn {
	i := t.places.find(name, len(t.columns), func(i int) string { return t.columns[i].name })
	if i < 0 {
		return nil
	}
	return t.columns[i]
}

// findLabel finds the label's column, and the value or the condition of class +1.
func (t *ownTable) findLabel() (err error) {
	t.label = t.opts.Label
	if slices.Contains(t.header, t.label) {
		return nil
	}
	if t.opts.Classes != nil {
		defer func() {
			if err == nil {
				err = fmt.Errorf("%w: --classes needs a label without a value or a condition, as in --label %s", ErrClass, option.ShellWord(t.label))
			}
		}()
	}
	left, value, _ := strings.Cut(t.opts.Label, "=")
	if left = strings.TrimSpace(left); slices.Contains(t.header, left) && value != "" {
		t.label, t.positive = left, strings.TrimSpace(value)
		return nil
	}
	c, err := parseCondition(t.opts.Label, t.header)
	if err != nil {
		column, _, _ := cutOperator(t.opts.Label)
		if _, interval := number([]byte(column)); !interval && !slices.Contains(t.header, column) {
			return noColumn(column, t.header)
		}
		return fmt.Errorf("label: %w", err)
	}
	t.label, t.when = c.column, &c
	return nil
}

// learn reads the rows of the chunks that next returns, and makes the profiles of the columns.
func (t *ownTable) learn(next func(buffer []byte) (chunk, error), text *delimited) error {
	for _, c := range t.columns {
		c.profile.reset()
	}
	absent, fields := newTextSet(t.opts.absent()), make([]int, len(t.columns))
	for i, c := range t.columns {
		fields[i] = c.field
	}
	full := make([]atomic.Bool, len(t.columns)) // profile.full of the profiles so far
	newWorker := func() func(chunk, *[]*profile) error {
		records := text.records()
		return func(c chunk, own *[]*profile) error {
			if *own == nil {
				for _, c := range t.columns {
					*own = append(*own, newProfile(c.profile.onlyCategories))
				}
			}
			for i, p := range *own {
				p.reset()
				p.full = full[i].Load()
			}
			return records.eachField(c, fields, func(i int) { (*own)[i].add(records, fields[i], absent) })
		}
	}
	return inOrder(next, newWorker, func(own *[]*profile) error {
		for i, c := range t.columns {
			c.profile.join((*own)[i])
			full[i].Store(len(c.profile.values) > maxCategories)
		}
		return nil
	})
}
