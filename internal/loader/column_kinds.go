package loader

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// manyCategories is the number of categories up to which a column is accepted even if most rows
// have a category of their own.
const manyCategories = 20

// decide decides for each column how to read its values. The error lists every unusable column with
// advice.
func (t *UserTable) decide() error {
	sign, given := t.DecimalSign()
	problems := &dataerr.Problems{Path: t.Opts.File, List: t.duplicateErrors}
	fix := Remedy{duplicates: t.duplicates}
	kept := t.Columns[:0]
	for _, c := range t.Columns {
		if t.Dispensable(c) {
			t.ignoreIndex(c)
			continue
		}
		kept = append(kept, c)
		found := t.ProblemsOf(c, sign, given)
		problems.List = append(problems.List, found...)
		fix.Add(c, found)
	}
	t.Columns, t.places = kept, recordio.Names{}
	return problems.Found(fix.Flags(t.Opts))
}

// Remedy collects the flags that solve the problems of all columns.
type Remedy struct {
	Columns          []*UserColumn
	ignore           []string
	duplicates       []string // columns with the name of another column
	dates            bool
	missing, Dropped bool // missing: some values are missing; dropped: some of these values cannot be imputed
	hopeless         bool // a problem that no flag solves
}

// Add adds the problems of a column.
func (r *Remedy) Add(c *UserColumn, found []*dataerr.FileError) {
	var missing, other bool
	for _, e := range found {
		switch {
		case errors.Is(e, dataerr.ErrMissing):
			missing = true
			r.Dropped = r.Dropped || c.required()
		case errors.Is(e, ErrDates):
			r.dates = true
		default:
			other = true
		}
	}
	switch {
	case other && c.required():
		r.hopeless = true
	case other:
		r.ignore = append(r.ignore, c.Name)
	case missing:
		r.Columns = append(r.Columns, c)
		r.missing = true
	}
}

// Flags returns the flags that solve all problems, or nil if no flags solve all problems.
func (r *Remedy) Flags(opts *tabular.TableOptions) (flags []string) {
	if r.hopeless || len(opts.Features) > 0 && len(r.ignore) > 0 { // the user must shorten --features instead
		return nil
	}
	if r.Dropped { // a column with few values would leave few rows
		for _, c := range r.Columns {
			if 2*c.Profile.Missing > c.Profile.Rows && c.Feature && !c.Group {
				r.ignore = append(r.ignore, c.Name)
			}
		}
	}
	if more := slices.Concat(r.ignore, r.duplicates); len(more) > 0 {
		flags = append(flags, "--ignore "+textvalue.FlagNames(slices.Concat(opts.Ignore, more)...))
	}
	if r.dates {
		flags = append(flags, "--dates expand")
	}
	switch {
	case r.Dropped:
		flags = append(flags, "--missing drop")
	case r.missing:
		flags = append(flags, "--missing impute")
	}
	return flags
}

// ErrDates is the error of a column of dates.
var ErrDates = fmt.Errorf("%w", dataerr.ErrColumn)

// DecimalSign returns the decimal sign of the file's numbers, or "" if the sign is not known. given
// is true if the user gave the sign.
func (t *UserTable) DecimalSign() (sign string, given bool) {
	switch t.Opts.Decimal {
	case tabular.DecimalComma:
		return textvalue.CommaDecimals, true
	case tabular.DecimalPoint:
		return textvalue.PointDecimals, true
	}
	comma := slices.ContainsFunc(t.Columns, func(c *UserColumn) bool { return c.Profile.UsesComma() })
	point := slices.ContainsFunc(t.Columns, func(c *UserColumn) bool { return c.Profile.UsesPoint() })
	switch {
	case comma && !point:
		return textvalue.CommaDecimals, false
	case point && !comma:
		return textvalue.PointDecimals, false
	}
	return "", false
}

// pandasNameless matches the names that pandas gives to a column without a name.
var pandasNameless = regexp.MustCompile(`^(Unnamed: |__index_level_)\d+(__)?$`)

// Dispensable reports whether the column has no name, and is empty or numbers the rows. pandas
// writes row numbers in this way; the numbers of selected or shuffled rows are in any order.
func (t *UserTable) Dispensable(c *UserColumn) bool {
	nameless := layoutOf(t.Opts).Header == nil && (c.Name == recordio.ByPlace(c.Field) || pandasNameless.MatchString(c.Name))
	return nameless && c.Feature && !c.Group && !c.Attribute && !slices.Contains(t.Opts.Features, c.Name) &&
		(c.Profile.DistinguishesRows() || c.Profile.NumbersRows() || c.Profile.Missing == c.Profile.Rows)
}

// ignoreIndex leaves out a dispensable column and adds a note.
func (t *UserTable) ignoreIndex(c *UserColumn) {
	why := "holds whole numbers that are all different, as the numbers of rows are"
	switch {
	case c.Profile.Missing == c.Profile.Rows:
		why = "is empty"
	case c.Profile.NumbersRows():
		why = "only numbers the rows"
	}
	what := "no name"
	if c.Name != recordio.ByPlace(c.Field) {
		what = fmt.Sprintf("the name %q, which pandas gives to a column without a name,", c.Name)
	}
	t.notes = append(t.notes, fmt.Sprintf("Column %d has %s and %s: it is ignored.", c.Field+1, what, why))
	t.uses = append(t.uses, tabular.ColumnUse{Name: c.Name, Became: "ignored", Missing: c.Profile.Missing, Detail: why})
}

// ProblemsOf decides how to read a column, and returns the column's problems.
func (t *UserTable) ProblemsOf(c *UserColumn, sign string, given bool) (found []*dataerr.FileError) {
	p := c.Profile
	wrong := func(at *dataerr.FileError, advice, format string, args ...any) {
		e := &dataerr.FileError{Path: t.Opts.File, Offset: -1, Err: fmt.Errorf(format, args...), Advice: advice}
		if at != nil {
			e.Path, e.Line, e.Column, e.Row = at.Path, at.Line, at.Column, at.Row
		}
		found = append(found, e)
	}
	ignore := fmt.Sprintf("ignore the column (--ignore %s)", textvalue.FlagNames(c.Name))
	if p.Missing == p.Rows {
		wrong(nil, ignore, "%w %q: it has no values", dataerr.ErrColumn, c.Name)
		return found
	}
	if p.Missing > 0 && !t.MayMiss(c) {
		wrong(p.Absent, t.MissingAdvice(c, ignore), "%s: %w: %q in %d of %d rows", c.Name, dataerr.ErrMissing, p.AbsentText, p.Missing, p.Rows)
	}
	decimal, numbers, doubt := p.Decimal(sign, given)
	switch {
	case c.Label && t.When == nil, c.Categorical, c.Split, c.Query, c.picture:
		c.Kind = CategoryKind
	case doubt:
		wrong(nil, "give the decimal sign (--decimal comma or --decimal point)",
			"%w %q: it holds %s, which has two readings: with a decimal comma and with separators of thousands", dataerr.ErrColumn, c.Name, p.Doubtful())
	case numbers:
		c.decimal = decimal
		if p.Texts[columnar.InfiniteText] > 0 {
			if c.Weight {
				ignore = "correct the weight"
			}
			wrong(p.Unreal, ignore, "%s: %s is %w", c.Name, textvalue.Quoted([]byte(p.UnrealText)), dataerr.ErrNumber)
		}
	case p.Forms != 0:
		c.Kind = dateKind
		t.decideDates(c, wrong, ignore)
	default:
		c.Kind = CategoryKind
	}
	switch {
	case c.Weight && c.Kind != numberKind:
		wrong(p.Text, "name a column of numbers (--weight)", "%s: the weight %s is %w", c.Name, textvalue.Quoted([]byte(p.Example)), dataerr.ErrNumber)
	case c.Kind == CategoryKind:
		t.decideCategories(c, wrong, ignore)
	}
	return found
}

// MayMiss reports whether values of the column may be missing.
func (t *UserTable) MayMiss(c *UserColumn) bool {
	switch t.Opts.Missing {
	case tabular.MissingDropped:
		return true
	case tabular.MissingImputed:
		return !c.required() && !c.picture
	case tabular.MissingFlagged:
		return !c.Label && !c.Split && !c.Query && !c.Weight && !c.picture
	}
	return !c.required() && !c.picture && !c.Feature // an attribute
}

// MissingAdvice returns advice about a column's missing values. It does not repeat choices that the
// options already make.
func (t *UserTable) MissingAdvice(c *UserColumn, ignore string) string {
	filled := t.Opts.Missing == tabular.MissingImputed || t.Opts.Missing == tabular.MissingFlagged
	switch {
	case filled && !c.Group:
		return "--missing " + t.Opts.Missing + " fills in features only: delete these rows from the file, or use --missing drop, which also leaves out rows with missing features"
	case c.Label || c.Split || c.Query || c.Weight || c.picture:
		return "leave out these rows (--missing drop)"
	case c.Group:
		return "leave out these rows (--missing drop), or make them a group of their own (--missing flag)"
	}
	return "use --missing impute or --missing drop, or " + ignore
}

// decideDates checks a column of dates. Only features and conditions need them as numbers.
func (t *UserTable) decideDates(c *UserColumn, wrong func(at *dataerr.FileError, advice, format string, args ...any), ignore string) {
	if !c.Feature {
		c.Kind = CategoryKind
		return
	}
	p := c.Profile
	first, second, ambiguous := p.Forms.Ambiguous()
	switch t.Opts.Dates {
	case tabular.DatesDayFirst, tabular.DatesMonthFirst:
		if ambiguous && textvalue.DayFirst(first) != (t.Opts.Dates == tabular.DatesDayFirst) {
			first = second
		}
		c.layout = first
	case tabular.DatesExpanded:
		if c.layout = first; ambiguous {
			wrong(nil, "say which comes first (--dates day-first or --dates month-first)",
				"%w %q: in its dates, such as %s, day and month can be exchanged", dataerr.ErrColumn, c.Name, p.Example)
		}
	default:
		wrong(nil, "make numbers of the dates (--dates expand), or "+ignore, "%w %q: it holds dates, such as %s", ErrDates, c.Name, p.Example)
	}
}

// decideCategories checks a column of categories.
func (t *UserTable) decideCategories(c *UserColumn, wrong func(at *dataerr.FileError, advice, format string, args ...any), ignore string) {
	p := c.Profile
	n, values := p.Distinct(), p.Rows-p.Missing
	switch {
	case c.Label:
		err := p.OneSpelling()
		if err == nil && t.When == nil {
			_, err = t.LabelClasses(p.Values)
		}
		if err != nil {
			wrong(nil, "", "column %q: %w", c.Name, err)
		}
	case !c.Feature:
	case !c.Categorical && n > manyCategories && 100*p.Plain > columnar.Mostly*values:
		wrong(p.Text, "correct these values or remove them, keep the column as categories (--categorical "+textvalue.FlagNames(c.Name)+"), or "+ignore,
			"%w %q: %d of %d values are numbers, the others are texts such as %s", dataerr.ErrColumn, c.Name, p.Plain, values, textvalue.Quoted([]byte(p.Example)))
	case n > columnar.MaxCategories || n > manyCategories && n > values/2:
		if date, ok := p.MostlyDates(); ok {
			wrong(p.Undated, "correct such values or remove them, or "+ignore, "%w %q: most values are dates, such as %s, and %s is not a date",
				dataerr.ErrColumn, c.Name, date, textvalue.Quoted([]byte(p.UndatedText)))
			return
		}
		if slices.ContainsFunc(p.Values, recordio.IsPicture) {
			ignore = "read the pictures (--picture " + textvalue.FlagNames(c.Name) + "), or " + ignore
		}
		wrong(nil, ignore+", or replace it by numbers", "%w %q: it has %s different texts in %d rows", dataerr.ErrColumn, c.Name, textvalue.UpTo(n, columnar.MaxCategories), values)
	}
}

// describe records the use of every column of the file, in the order of the file.
func (t *UserTable) describe(s *columnar.Sheet) {
	ignored, places := t.uses, recordio.Names{}
	t.uses = nil
	for field, name := range t.Header {
		c := t.column(name)
		if c != nil && c.Field != field {
			t.uses = append(t.uses, tabular.ColumnUse{Name: name, Became: "ignored", Detail: "has the name of an earlier column"})
			continue
		}
		if c == nil {
			u := tabular.ColumnUse{Name: name, Became: "ignored"}
			if i := places.Find(name, len(ignored), func(i int) string { return ignored[i].Name }); i >= 0 {
				u = ignored[i]
			}
			t.uses = append(t.uses, u)
			continue
		}
		t.uses = append(t.uses, c.use(s))
	}
}

// use returns the use of one column.
func (c *UserColumn) use(s *columnar.Sheet) tabular.ColumnUse {
	u := tabular.ColumnUse{Name: c.Name, Missing: c.Profile.Missing}
	var roles, details []string
	for _, role := range []struct {
		has  bool
		name string
	}{{c.Label, "label"}, {c.Split, "split"}, {c.Query, "query"}, {c.Weight, "weight"}, {c.picture, "picture"}, {c.Group, "group"}, {c.Attribute, "attribute"}} {
		if role.has {
			roles = append(roles, role.name)
		}
	}
	if c.Feature {
		u.Became = [...]string{"number", "category", "date"}[c.Kind]
		details = roles
	} else {
		u.Became, details = roles[0], roles[1:]
	}
	if col := s.Column(c.Name); col != nil && !c.picture {
		u.Levels = len(col.Values)
	}
	switch {
	case c.Kind == dateKind:
		details = append(details, "as "+strings.Join(textvalue.DateParts(c.layout), ", "))
	case c.decimal == textvalue.CommaDecimals:
		details = append(details, "with decimal commas")
	case c.decimal == textvalue.PointDecimals:
		details = append(details, "with separators of thousands")
	case c.Kind == CategoryKind && c.Feature && c.Profile.Plain > 0:
		because := "because of texts such as " + textvalue.Quoted([]byte(c.Profile.Example))
		if first := c.Profile.Text; first != nil { // nil: all texts are numbers in some notation
			because += " in " + first.Place()
		}
		details = append(details, because)
	}
	u.Detail = strings.Join(details, ", ")
	return u
}

// Uses returns the uses of the columns of a published table.
func (d *Design) Uses(s *columnar.Sheet, p *tabular.Preparation) []tabular.ColumnUse {
	var uses []tabular.ColumnUse
	features := featureColumns(p)
	for _, col := range s.Columns {
		u := tabular.ColumnUse{Name: col.Name, Became: "ignored", Levels: len(col.Values), Missing: col.CountMissing()}
		feature := features[col.Name]
		switch {
		case col.Name == d.Label:
			u.Became = "label"
		case feature && col.Codes == nil:
			u.Became = "number"
		case feature:
			u.Became = "category"
		}
		uses = append(uses, u)
	}
	return uses
}

// addReading adds the reading of a column of a sheet, once.
func addReading(r *tabular.Reading, c *columnar.Column) {
	if !slices.ContainsFunc(r.Columns, func(other tabular.ColumnReading) bool { return other.Column == c.Name }) {
		r.Columns = append(r.Columns, tabular.ColumnReading{Column: c.Name, Number: c.Codes == nil, Decimal: c.Decimal})
	}
}
