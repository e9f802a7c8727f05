package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ownCSV describes a user's file: text of separated fields with the columns' names in the first
// line.
//
// A numeric column is standardised; any other column becomes one feature for each of its values.
// Blanks around a field are ignored.
func ownCSV() Dataset {
	return Dataset{
		Name:        "csv",
		Description: "your own file, with the columns' names in its first line",
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
			opts.Ignore = nil // the design no longer has these columns
			return design.table(s, opts)
		},
	}
}

// absentTexts mark a missing value in a user's file.
var absentTexts = []string{"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"}

// readOwnCSV reads the file twice: for the kinds of its columns, then for its values.
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
			fe.Advice = "use --missing impute, or ignore the column (--ignore)"
		}
		return nil, nil, err
	}
	design, err := own.design(s)
	return s, design, err
}

// ownColumns holds the columns of a file that are used.
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
	var groups, attributes []string
	for _, text := range opts.Groups {
		c, err := parseCondition(text, header)
		if err != nil {
			return nil, err
		}
		groups = append(groups, c.column)
	}
	for _, text := range opts.Attributes {
		c, err := parseCondition(text, header)
		if err != nil {
			return nil, fmt.Errorf("attribute: %w", err)
		}
		attributes = append(attributes, c.column)
	}
	for field, name := range header {
		group, ignored := slices.Contains(groups, name), slices.Contains(opts.Ignore, name)
		attribute := slices.Contains(attributes, name)
		if ignored && !group && !attribute {
			continue
		}
		if slices.Contains(own.names, name) {
			return nil, fmt.Errorf("%w: two columns are named %q; ignore the name (--ignore), or rename a column", ErrColumn, name)
		}
		own.names = append(own.names, name)
		own.fields = append(own.fields, field)
		own.numeric = append(own.numeric, name != own.label && !slices.Contains(opts.Categorical, name))
		own.group = append(own.group, group)
		own.ignored = append(own.ignored, ignored)
	}
	return own, nil
}

// infer reads all records. A column is categorical if it has a text that is neither a number nor
// the mark of a missing value.
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

// looksNumeric also accepts infinities and numbers out of range: in a numeric column they are
// errors, and not a reason to read the column as text.
func looksNumeric(text string) bool {
	if _, ok := number([]byte(text)); ok {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// schema returns the schema for reading the file's values.
func (own *ownColumns) schema(opts TableOptions) *schema {
	s := &schema{separator: opts.Separator, absent: absentTexts}
	s.attributes = opts.Attributes
	for i, name := range own.names {
		s.columns = append(s.columns, columnSpec{
			name: name, numeric: own.numeric[i], label: name == own.label,
			free:    own.ignored[i] && !own.numeric[i],
			missing: (opts.Impute || own.ignored[i]) && !own.group[i] && name != own.label,
		})
	}
	return s
}

// design makes features from all columns except the label.
func (own *ownColumns) design(s *sheet) (*design, error) {
	label := s.column(own.label)
	positive, err := positiveClass(label.values, own.positive)
	if err != nil {
		return nil, &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf("column %q: %w", own.label, err)}
	}
	negative := without(label.values, positive)
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

// positiveClass returns the label of class +1: the given value; of two numbers the larger number;
// of two words the word that means yes.
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
	return "", fmt.Errorf("%w: is %q or %q the class +1? specify it, as in COLUMN=VALUE", ErrLabel, values[0], values[1])
}

// manyCategories is the number of categories up to which a column is accepted even if most rows
// have a category of their own.
const manyCategories = 20

// checkCategories refuses a text column without values, and a text column that identifies rows
// instead of describing them (names, dates, record numbers).
func checkCategories(c *column, rows int) error {
	n := len(c.values)
	if c.codes != nil && n == 0 {
		return fmt.Errorf("%w %q: it has no values", ErrColumn, c.name)
	}
	if n > manyCategories && n > rows/2 {
		return fmt.Errorf("%w %q: it has %d different texts in %d rows; ignore it (--ignore), or replace it by numbers", ErrColumn, c.name, n, rows)
	}
	return nil
}
