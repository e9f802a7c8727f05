package datasets

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// userCSV reads a user's file: text of separated fields with the columns' names in the first line,
// or a Parquet file.
//
// The loader standardises a numeric column, makes several numbers of a column of dates or refuses
// the column, and makes one feature for each value of any other column. It ignores blanks around a
// field. Reading ends with the error of the context.
func userCSV(ctx context.Context, opts TableOptions) (*source, error) {
	f, err := openUntilDone(ctx, opts.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := readOwnCSV(ctx, f, opts)
	if errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote) {
		err = advise(err, "if quotes are ordinary characters in this file: --quote none")
	}
	if opts.Columns != nil && errors.Is(err, ErrFormat) {
		err = advise(err, fmt.Sprintf("--columns names %d columns", len(opts.Columns)))
	}
	return s, err
}

// absentTexts mark a missing value in a user's file.
var absentTexts = []string{"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "-nan", "-NaN", "NaT", "<NA>", "#N/A", "#NA"}

// readOwnCSV reads the file twice: first for the kinds of the columns, then for the values. It
// does not read rows that an earlier process has kept.
func readOwnCSV(ctx context.Context, f io.ReadSeeker, opts TableOptions) (*source, error) {
	text, err := newDelimited(f, opts.File, opts.layout())
	if err != nil {
		return nil, err
	}
	own, err := newOwnTable(ctx, text, &opts)
	if err != nil {
		return nil, err
	}
	kept := own.keeper()
	kept.open()
	var size int64
	if opts.shares() {
		if size, err = sizeOf(f); err != nil {
			return nil, fileError(opts.File, err)
		}
	}
	if !kept.learned() {
		if err := own.learnFile(f, text, size); err != nil {
			return nil, err
		}
	}
	if own.columns[0].profile.rows == 0 {
		return nil, &FileError{Path: opts.File, Offset: -1, Err: fmt.Errorf("%w: the file has no rows", ErrTruncated)}
	}
	profiles := kept.profiles()
	if err := own.decide(); err != nil {
		return nil, err
	}
	schema := own.schema(nil)
	s := kept.sheet(schema)
	if s == nil {
		if s, err = own.readValues(f, schema, size); err != nil {
			return nil, err
		}
		kept.write(s, schema, profiles)
	}
	own.describe(s)
	return own.source(s)
}

// learnFile makes the profiles of the columns from the rows of text, which is the beginning of
// f. size is the number of bytes of f if processes share the rows.
func (t *ownTable) learnFile(f io.ReadSeeker, text *delimited, size int64) error {
	if !t.opts.shares() {
		open := false
		err := t.learn(func(buffer []byte) (chunk, error) {
			c, err := text.next(buffer)
			open = open || err == nil && c.openEnd()
			return c, err
		}, text)
		if open && isPipe(t.opts.File) {
			t.warnings = append(t.warnings, OpenEnd(t.opts.File))
		}
		return err
	}
	err := t.learnTogether(text, t.opts.Share, size)
	if errors.Is(err, errAlone) {
		if text, err = reopened(f, *t.opts); err == nil {
			err = t.learn(text.next, text)
		}
	}
	return err
}

// readValues reads the values of all rows.
func (t *ownTable) readValues(f io.ReadSeeker, schema *schema, size int64) (*sheet, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fileError(t.opts.File, err)
	}
	if t.opts.shares() {
		t.summarise(schema)
		schema.share, schema.size = t.opts.Share, size
	}
	s, err := readSheet(f, t.opts.File, schema)
	if errors.Is(err, errAlone) {
		if _, err = f.Seek(0, io.SeekStart); err != nil {
			return nil, fileError(t.opts.File, err)
		}
		schema.share = nil
		s, err = readSheet(f, t.opts.File, schema)
	}
	return s, err
}

// reopened reads the columns' names a second time.
func reopened(f io.ReadSeeker, opts TableOptions) (*delimited, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fileError(opts.File, err)
	}
	return newDelimited(f, opts.File, opts.layout())
}

// summarise marks the columns of which the table needs the values of this process's rows alone: the
// features that determine neither labels nor groups, attributes or splits.
func (t *ownTable) summarise(s *schema) {
	for i := range s.columns {
		spec := &s.columns[i]
		c := t.column(spec.name)
		if c == nil { // a part of dates
			spec.summary = true
			continue
		}
		named := slices.ContainsFunc(c.profile.values, func(value string) bool {
			return slices.ContainsFunc(t.opts.Values, func(wanted string) bool { return strings.EqualFold(value, wanted) })
		})
		spec.summary = c.feature && !c.group && !c.attribute && !named
	}
}

// layout returns the layout of the file for another reading: with the names of the columns if no
// line has them.
func (t *ownTable) layout() Layout {
	l := t.opts.layout()
	if l.Header != nil {
		l.Header = t.header
	}
	l.Repeated = t.repeated
	return l
}

// schema returns the schema for reading the values of a file. known is nil for the training file,
// and the training file's sheet for the test file.
func (t *ownTable) schema(known *sheet) *schema {
	s := &schema{layout: t.layout(), absent: t.opts.absent(), drop: t.opts.Missing == MissingDropped, pages: t.opts.Pages, room: t.opts.Room}
	imputed := t.opts.Missing == MissingImputed || t.opts.Missing == MissingFlagged
	for _, c := range t.columns {
		missing := imputed && t.mayMiss(c) || !c.feature && !c.group && !c.label && !c.split
		spec := columnSpec{name: c.name, missing: missing, many: !c.feature && !c.label}
		categories := c.kind == categoryKind || c.kind == dateKind && (c.group || c.attribute)
		if known != nil && categories {
			spec.many, spec.unknown = false, t.opts.Unknown == UnknownIgnored && !c.label
			spec.categories = known.column(c.name).values
		}
		for _, e := range c.encodings() {
			if c.kind == categoryKind {
				break
			}
			s.columns = append(s.columns, columnSpec{name: e.title(), from: c.name, numeric: true, value: e.parser(), decimal: e.Decimal, date: e.Date, missing: missing})
		}
		if categories {
			s.columns = append(s.columns, spec)
		}
	}
	return s
}

// encodings returns the encodings of the column without their categories.
func (c *ownColumn) encodings() []Encoding {
	if c.kind != dateKind {
		return []Encoding{{Column: c.name, Decimal: c.decimal}}
	}
	var parts []Encoding
	for _, part := range dateParts(c.layout) {
		parts = append(parts, Encoding{Column: c.name, Date: c.layout, Part: part})
	}
	return parts
}

// source makes features from the columns that are features.
func (t *ownTable) source(s *sheet) (*source, error) {
	d := &design{label: t.label, layout: t.layout(), absent: t.opts.absent()}
	fail := func(err error) (*source, error) {
		return nil, &Problems{Path: s.name, List: []*FileError{{Path: s.name, Offset: -1, Err: err}}}
	}
	if err := t.classes(d, s); err != nil {
		return fail(fmt.Errorf("column %q: %w", t.label, err))
	}
	made := map[string]bool{} // the features' columns
	for _, c := range t.columns {
		if !c.feature {
			continue
		}
		for _, e := range c.encodings() {
			col := s.column(e.title())
			e.Categories, e.Missing = col.values, col.lacks || col.firstMissing() >= 0
			s.pages.Touch(8 * s.rows)
			if made[e.title()] {
				return fail(fmt.Errorf("%w: %q is a column and a part of dates; rename the column", ErrColumn, e.title()))
			}
			made[e.title()] = true
			d.encodings = append(d.encodings, e)
		}
	}
	t.remark(s)
	t.remarkSpelling()
	for _, c := range t.columns {
		if (c.group || c.attribute) && c.kind == numberKind && len(c.profile.values) <= maxCategories {
			s.column(c.name).spell(c.profile.values)
		}
	}
	parts, err := t.parts(&s)
	if err != nil {
		return nil, err
	}
	opts := *t.opts
	opts.Ignore = nil // the design no longer has these columns
	s.flag = opts.Missing == MissingFlagged
	out, err := d.table(s, opts)
	if err != nil {
		return nil, err
	}
	if t.when != nil {
		label := t.column(t.label)
		out.label = Label{Column: t.label, Condition: t.when.text, Otherwise: t.when.negation(), Text: label.kind == categoryKind, Decimal: label.decimal}
	}
	if opts.Missing != MissingRefused { // the default, which options also state as ""
		out.reading.Missing = opts.Missing
	}
	if opts.Missing == MissingDropped {
		for _, c := range t.columns {
			if c.feature || c.group || c.label || c.split {
				out.reading.Required = append(out.reading.Required, c.name)
			}
		}
	}
	if t.opts.shares() {
		e := out.features.(*encoded)
		e.share, e.again = t.opts.Share, func(s *schema) (*sheet, error) {
			s.layout = t.layout()
			f, err := openUntilDone(t.ctx, t.opts.File)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return readSheet(f, t.opts.File, s)
		}
	}
	out.files = t.files
	out.assigned, out.uses = parts, t.uses
	kept := out.features.preparation().of()
	for i := range out.uses {
		u := &out.uses[i]
		if c := t.column(u.Name); c != nil && !c.attribute && slices.ContainsFunc(out.attributes, func(a Attribute) bool { return a.Name == u.Name }) {
			u.Detail = strings.TrimSuffix("attribute, "+u.Detail, ", ")
		}
		if c := t.column(u.Name); c != nil && c.feature && !kept[u.Name] {
			u.Became, u.Detail = "ignored", u.Detail+", excluded from the features because it is sensitive"
		}
	}
	out.notes, out.warnings = append(t.notes, out.notes...), append(t.warnings, out.warnings...)
	return out, nil
}

// remark adds notes about automatic decisions, and warnings about columns that probably identify
// rows.
func (t *ownTable) remark(s *sheet) {
	var commas, thousands, codes, counts []string
	for _, c := range t.columns {
		if c.feature && c.kind == numberKind && c.profile.maybeCodes() {
			codes, counts = append(codes, c.name), append(counts, fmt.Sprintf("%s (%d)", inList(c.name), len(c.profile.values)))
		}
		switch {
		case c.decimal == commaDecimals:
			commas = append(commas, c.name)
		case c.decimal == pointDecimals:
			thousands = append(thousands, c.name)
		}
		if c.feature && c.profile.numbersRows() && c.profile.rows > manyCategories {
			t.warnings = append(t.warnings, fmt.Sprintf("The column %q only numbers the rows, so a model can learn their order: ignore it (--ignore %s).",
				c.name, flagNames(c.name)))
		}
	}
	if marks := t.opts.MissingValues; len(marks) > 0 && !slices.ContainsFunc(t.columns, func(c *ownColumn) bool { return c.profile.has(marks) }) {
		t.notes = append(t.notes, fmt.Sprintf("No field is %s, so only empty fields are missing values: --missing-values takes texts as they stand in the file.", listed(marks, 10)))
	}
	if len(codes) > 0 {
		t.notes = append(t.notes, fmt.Sprintf("These columns hold whole numbers with few different values: %s. If some are codes of categories: --categorical %s.",
			listed(counts, 10), flagNames(codes[:min(len(codes), 10)]...)))
	}
	if len(commas) > 0 {
		t.notes = append(t.notes, "These columns hold numbers with decimal commas: "+listed(commas, 10)+".")
	}
	if len(thousands) > 0 {
		t.notes = append(t.notes, "These columns hold numbers with separators of thousands: "+listed(thousands, 10)+".")
	}
	if all := t.columns[0].profile.rows; s.rows < all {
		var why []string
		for _, c := range t.columns {
			if c.profile.missing > 0 && (c.feature || c.label || c.group || c.split) {
				why = append(why, fmt.Sprintf("%s (%d)", c.name, c.profile.missing))
			}
		}
		t.notes = append(t.notes, fmt.Sprintf("%d of %d rows are left out because of missing values in %s.", all-s.rows, all, listed(why, 10)))
	}
}
