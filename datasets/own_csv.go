package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ownCSV describes a file of the user's: text of separated fields with the
// columns' names in its first line.
//
// A column of numbers is standardised, any other becomes one feature for each
// of its texts. Blanks about a field do not count.
func ownCSV() Dataset {
	return Dataset{
		Name:        "csv",
		Description: "a file of yours, with the columns' names in its first line",
		Own:         true,
		table: func(_ string, opts TableOptions) (*source, error) {
			f, err := openFile(opts.File)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			s, design, err := readOwnCSV(f, opts)
			if err != nil {
				return nil, err
			}
			opts.Ignore = nil // the design has them no more
			return design.table(s, opts)
		},
	}
}

// absentTexts stand for a missing value in a file of the user's.
var absentTexts = []string{"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"}

// readOwnCSV reads the file twice: for its columns' kinds, then for its values.
func readOwnCSV(f io.ReadSeeker, opts TableOptions) (*sheet, *design, error) {
	records, err := newDelimited(f, opts.File, opts.Separator, nil)
	if err != nil {
		return nil, nil, err
	}
	own, err := newOwnColumns(records.header, opts)
	if err != nil {
		return nil, nil, &FileError{Path: opts.File, Offset: -1, Line: 1, Err: err}
	}
	if err := own.infer(records); err != nil {
		return nil, nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fileError(opts.File, err)
	}
	s, err := readSheet(f, opts.File, own.schema(opts))
	if err != nil {
		var fe *FileError
		if errors.Is(err, ErrMissing) && errors.As(err, &fe) {
			fe.Advice = "impute missing values, or ignore the column"
		}
		return nil, nil, err
	}
	design, err := own.design(s)
	return s, design, err
}

// ownColumns are the columns of a file that are of use.
type ownColumns struct {
	label, positive string // positive: as given, may be empty
	names           []string
	fields          []int
	numeric         []bool
	group           []bool
	ignored         []bool
}

// newOwnColumns finds the columns that the options name.
func newOwnColumns(header []string, opts TableOptions) (*ownColumns, error) {
	own := &ownColumns{label: opts.Label}
	if !slices.Contains(header, own.label) {
		own.label, own.positive, _ = strings.Cut(opts.Label, "=")
	}
	for _, name := range slices.Concat([]string{own.label}, opts.Ignore, opts.Categorical) {
		if !slices.Contains(header, name) {
			return nil, noColumn(name, header)
		}
	}
	var groups []string
	for _, text := range opts.Groups {
		c, err := parseCondition(text, header)
		if err != nil {
			return nil, err
		}
		groups = append(groups, c.column)
	}
	for field, name := range header {
		group, ignored := slices.Contains(groups, name), slices.Contains(opts.Ignore, name)
		if ignored && !group {
			continue
		}
		if slices.Contains(own.names, name) {
			return nil, fmt.Errorf("%w: two are called %q; ignore it, or rename one", ErrColumn, name)
		}
		own.names = append(own.names, name)
		own.fields = append(own.fields, field)
		own.numeric = append(own.numeric, name != own.label && !slices.Contains(opts.Categorical, name))
		own.group = append(own.group, group)
		own.ignored = append(own.ignored, ignored)
	}
	return own, nil
}

// infer reads all records: a column with a text that is no number, and does not
// stand for a missing value, is one of categories.
func (own *ownColumns) infer(records *delimited) error {
	for {
		record, err := records.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i, field := range own.fields {
			text := record[field]
			if own.numeric[i] && !looksNumeric(text) && !slices.Contains(absentTexts, text) {
				own.numeric[i] = false
			}
		}
	}
}

// looksNumeric accepts infinities and numbers out of range too: in a column of
// numbers they are errors, no reason to read it as text.
func looksNumeric(text string) bool {
	if _, ok := number([]byte(text)); ok {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// schema says how to read the file for its values.
func (own *ownColumns) schema(opts TableOptions) *schema {
	s := &schema{separator: opts.Separator, absent: absentTexts}
	for i, name := range own.names {
		s.columns = append(s.columns, columnSpec{
			name: name, numeric: own.numeric[i], label: name == own.label,
			missing: opts.Impute && !own.group[i] && name != own.label,
		})
	}
	return s
}

// design makes features of the columns other than the label.
func (own *ownColumns) design(s *sheet) (*design, error) {
	label := s.column(own.label)
	positive, err := positiveClass(label.values, own.positive)
	if err != nil {
		return nil, &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf("column %q: %w", own.label, err)}
	}
	negative := slices.DeleteFunc(slices.Clone(label.values), func(v string) bool { return v == positive })
	d := &design{label: own.label, positive: positive, absent: absentTexts,
		classes: [2]string{own.label + "=" + listed(negative, 3), own.label + "=" + positive}}
	for i, name := range own.names {
		if name == own.label || own.ignored[i] {
			continue
		}
		c := s.column(name)
		e := Encoding{Column: name, Categories: c.values, Missing: c.firstMissing() >= 0}
		if err := checkCategories(c, s.rows); err != nil {
			return nil, &FileError{Path: s.name, Offset: -1, Err: err}
		}
		d.encodings = append(d.encodings, e)
	}
	return d, nil
}

// positiveClass chooses the label that is +1: the one given; of two numbers the
// larger, of two words the one that says yes.
func positiveClass(values []string, given string) (string, error) {
	if given != "" {
		if !slices.Contains(values, given) {
			return "", fmt.Errorf("%w: it is never %q, it is one of %s", ErrLabel, given, listed(values, 20))
		}
		return given, nil
	}
	if len(values) != 2 {
		return "", fmt.Errorf("%w: it has %d values (%s), want two, or the one that is +1, as in COLUMN=VALUE",
			ErrLabel, len(values), listed(values, 10))
	}
	first, ok := number([]byte(values[0]))
	second, both := number([]byte(values[1]))
	yes := func(v string) bool { return slices.Contains([]string{"yes", "true", "y", "t"}, strings.ToLower(v)) }
	switch {
	case ok && both && first < second, yes(values[1]) && !yes(values[0]):
		return values[1], nil
	case ok && both && second < first, yes(values[0]) && !yes(values[1]):
		return values[0], nil
	}
	return "", fmt.Errorf("%w: is %q or %q the class +1? say which, as in COLUMN=VALUE", ErrLabel, values[0], values[1])
}

// manyCategories is how many categories may do where most rows have their own.
const manyCategories = 20

// checkCategories refuses columns of texts that tell rows apart rather than
// describe them (names, dates, numbers of records), or that hold none.
func checkCategories(c *column, rows int) error {
	n := len(c.values)
	if c.codes != nil && n == 0 {
		return fmt.Errorf("%w %q: it has no value", ErrColumn, c.name)
	}
	if n > manyCategories && n > rows/2 {
		return fmt.Errorf("%w %q: it has %d different texts in %d rows; ignore it or make numbers of it", ErrColumn, c.name, n, rows)
	}
	return nil
}
