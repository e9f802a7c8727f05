package datasets

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// manyCategories is the number of categories up to which a column is accepted even if most rows
// have a category of their own.
const manyCategories = 20

// decide decides for each column how to read its values. The error lists every unusable column with
// advice.
func (t *ownTable) decide() error {
	sign, given := t.decimalSign()
	problems := &Problems{Path: t.opts.File, List: t.duplicateErrors}
	fix := remedy{duplicates: t.duplicates}
	kept := t.columns[:0]
	for _, c := range t.columns {
		if t.dispensable(c) {
			t.ignoreIndex(c)
			continue
		}
		kept = append(kept, c)
		found := t.problemsOf(c, sign, given)
		problems.List = append(problems.List, found...)
		fix.add(c, found)
	}
	t.columns, t.places = kept, names{}
	return problems.found(fix.flags(t.opts))
}

// remedy collects the flags that solve the problems of all columns.
type remedy struct {
	columns          []*ownColumn
	ignore           []string
	duplicates       []string // columns with the name of another column
	dates            bool
	missing, dropped bool // missing: some values are missing; dropped: some of these values cannot be imputed
	hopeless         bool // a problem that no flag solves
}

// add adds the problems of a column.
func (r *remedy) add(c *ownColumn, found []*FileError) {
	var missing, other bool
	for _, e := range found {
		switch {
		case errors.Is(e, ErrMissing):
			missing = true
			r.dropped = r.dropped || c.label || c.group || c.split
		case errors.Is(e, errDates):
			r.dates = true
		default:
			other = true
		}
	}
	switch {
	case other && (c.label || c.group || c.split):
		r.hopeless = true
	case other:
		r.ignore = append(r.ignore, c.name)
	case missing:
		r.columns = append(r.columns, c)
		r.missing = true
	}
}

// flags returns the flags that solve all problems, or nil if no flags solve all problems.
func (r *remedy) flags(opts *TableOptions) (flags []string) {
	if r.hopeless || len(opts.Features) > 0 && len(r.ignore) > 0 { // the user must shorten --features instead
		return nil
	}
	if r.dropped { // a column with few values would leave few rows
		for _, c := range r.columns {
			if 2*c.profile.missing > c.profile.rows && c.feature && !c.group {
				r.ignore = append(r.ignore, c.name)
			}
		}
	}
	if more := slices.Concat(r.ignore, r.duplicates); len(more) > 0 {
		flags = append(flags, "--ignore "+flagNames(slices.Concat(opts.Ignore, more)...))
	}
	if r.dates {
		flags = append(flags, "--dates expand")
	}
	switch {
	case r.dropped:
		flags = append(flags, "--missing drop")
	case r.missing:
		flags = append(flags, "--missing impute")
	}
	return flags
}

// errDates is the error of a column of dates.
var errDates = fmt.Errorf("%w", ErrColumn)

// decimalSign returns the decimal sign of the file's numbers, or "" if the sign is not known. given
// is true if the user gave the sign.
func (t *ownTable) decimalSign() (sign string, given bool) {
	switch t.opts.Decimal {
	case DecimalComma:
		return commaDecimals, true
	case DecimalPoint:
		return pointDecimals, true
	}
	comma := slices.ContainsFunc(t.columns, func(c *ownColumn) bool { return c.profile.usesComma() })
	point := slices.ContainsFunc(t.columns, func(c *ownColumn) bool { return c.profile.usesPoint() })
	switch {
	case comma && !point:
		return commaDecimals, false
	case point && !comma:
		return pointDecimals, false
	}
	return "", false
}

// pandasNameless matches the names that pandas gives to a column without a name.
var pandasNameless = regexp.MustCompile(`^(Unnamed: |__index_level_)\d+(__)?$`)

// dispensable reports whether the column has no name, and is empty or numbers the rows. pandas
// writes row numbers in this way; those of selected or shuffled rows are in any order.
func (t *ownTable) dispensable(c *ownColumn) bool {
	nameless := t.opts.layout().Header == nil && (c.name == byPlace(c.field) || pandasNameless.MatchString(c.name))
	return nameless && c.feature && !c.group && !c.attribute && !slices.Contains(t.opts.Features, c.name) &&
		(c.profile.distinguishesRows() || c.profile.numbersRows() || c.profile.missing == c.profile.rows)
}

// ignoreIndex leaves out a dispensable column and adds a note.
func (t *ownTable) ignoreIndex(c *ownColumn) {
	why := "holds whole numbers that are all different, as the numbers of rows are"
	switch {
	case c.profile.missing == c.profile.rows:
		why = "is empty"
	case c.profile.numbersRows():
		why = "only numbers the rows"
	}
	what := "no name"
	if c.name != byPlace(c.field) {
		what = fmt.Sprintf("the name %q, which pandas gives to a column without a name,", c.name)
	}
	t.notes = append(t.notes, fmt.Sprintf("Column %d has %s and %s: it is ignored.", c.field+1, what, why))
	t.uses = append(t.uses, ColumnUse{Name: c.name, Became: "ignored", Missing: c.profile.missing, Detail: why})
}

// problemsOf decides how to read a column, and returns the column's problems.
func (t *ownTable) problemsOf(c *ownColumn, sign string, given bool) (found []*FileError) {
	p := c.profile
	wrong := func(at *FileError, advice, format string, args ...any) {
		e := &FileError{Path: t.opts.File, Offset: -1, Err: fmt.Errorf(format, args...), Advice: advice}
		if at != nil {
			e.Line, e.Column = at.Line, at.Column
		}
		found = append(found, e)
	}
	ignore := fmt.Sprintf("ignore the column (--ignore %s)", flagNames(c.name))
	if p.missing == p.rows {
		wrong(nil, ignore, "%w %q: it has no values", ErrColumn, c.name)
		return found
	}
	if p.missing > 0 && !t.mayMiss(c) {
		wrong(p.absent, t.missingAdvice(c, ignore), "%s: %w: %q in %d of %d rows", c.name, ErrMissing, p.absentText, p.missing, p.rows)
	}
	decimal, numbers, doubt := p.decimal(sign, given)
	switch {
	case c.label && t.when == nil, c.categorical, c.split:
		c.kind = categoryKind
	case doubt:
		wrong(nil, "give the decimal sign (--decimal comma or --decimal point)",
			"%w %q: it holds %s, which has two readings: with a decimal comma and with separators of thousands", ErrColumn, c.name, p.doubtful())
	case numbers:
		c.decimal = decimal
		if p.texts[infiniteText] > 0 {
			wrong(p.unreal, ignore, "%s: %s is %w", c.name, quoted([]byte(p.unrealText)), ErrNumber)
		}
	case p.forms != 0:
		c.kind = dateKind
		t.decideDates(c, wrong, ignore)
	default:
		c.kind = categoryKind
	}
	if c.kind == categoryKind {
		t.decideCategories(c, wrong, ignore)
	}
	return found
}

// mayMiss reports whether values of the column may be missing.
func (t *ownTable) mayMiss(c *ownColumn) bool {
	switch t.opts.Missing {
	case MissingDropped:
		return true
	case MissingImputed:
		return !c.label && !c.group && !c.split
	case MissingFlagged:
		return !c.label && !c.split
	}
	return !c.label && !c.group && !c.split && !c.feature // an attribute
}

// missingAdvice returns advice about a column's missing values. It does not repeat choices that the
// options already make.
func (t *ownTable) missingAdvice(c *ownColumn, ignore string) string {
	switch {
	case c.label || c.split:
		return "leave out these rows (--missing drop)"
	case c.group:
		return "leave out these rows (--missing drop), or make them a group of their own (--missing flag)"
	}
	return "use --missing impute or --missing drop, or " + ignore
}

// decideDates checks a column of dates. Only features and conditions need them as numbers.
func (t *ownTable) decideDates(c *ownColumn, wrong func(at *FileError, advice, format string, args ...any), ignore string) {
	if !c.feature {
		c.kind = categoryKind
		return
	}
	p := c.profile
	first, second, ambiguous := p.forms.ambiguous()
	switch t.opts.Dates {
	case DatesDayFirst, DatesMonthFirst:
		if ambiguous && dayFirst(first) != (t.opts.Dates == DatesDayFirst) {
			first = second
		}
		c.layout = first
	case DatesExpanded:
		if c.layout = first; ambiguous {
			wrong(nil, "say which comes first (--dates day-first or --dates month-first)",
				"%w %q: in its dates, such as %s, day and month can be exchanged", ErrColumn, c.name, p.example)
		}
	default:
		wrong(nil, "make numbers of the dates (--dates expand), or "+ignore, "%w %q: it holds dates, such as %s", errDates, c.name, p.example)
	}
}

// decideCategories checks a column of categories.
func (t *ownTable) decideCategories(c *ownColumn, wrong func(at *FileError, advice, format string, args ...any), ignore string) {
	p := c.profile
	n, values := len(p.values), p.rows-p.missing
	switch {
	case c.label:
		err := p.oneSpelling()
		if err == nil && t.when == nil {
			_, err = t.labelClasses(p.values)
		}
		if err != nil {
			wrong(nil, "", "column %q: %w", c.name, err)
		}
	case !c.feature:
	case !c.categorical && n > manyCategories && 100*p.plain > mostly*values:
		wrong(p.text, "correct these values or remove them, keep the column as categories (--categorical "+flagNames(c.name)+"), or "+ignore,
			"%w %q: %d of %d values are numbers, the others are texts such as %s", ErrColumn, c.name, p.plain, values, quoted([]byte(p.example)))
	case n > maxCategories || n > manyCategories && n > values/2:
		if date, ok := p.mostlyDates(); ok {
			wrong(p.undated, "correct such values or remove them, or "+ignore, "%w %q: most values are dates, such as %s, and %s is not a date",
				ErrColumn, c.name, date, quoted([]byte(p.undatedText)))
			return
		}
		wrong(nil, ignore+", or replace it by numbers", "%w %q: it has %s different texts in %d rows", ErrColumn, c.name, upTo(n, maxCategories), values)
	}
}
