package loader

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// UserCSV reads a user's file: text of separated fields with the columns' names in the first line,
// or a Parquet file.
//
// The loader standardises a numeric column, makes several numbers of a column of dates or refuses
// the column, and makes one feature for each value of any other column. It ignores blanks around a
// field. Reading ends with the error of the context.
func UserCSV(ctx context.Context, opts tabular.TableOptions) (*Source, error) {
	f, err := recordio.OpenUntilDone(ctx, opts.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := ReadUserCSV(ctx, f, opts)
	if errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote) {
		err = dataerr.Advise(err, "if quotes are ordinary characters in this file: --quote none")
	}
	if opts.Columns != nil && errors.Is(err, dataerr.ErrFormat) {
		err = dataerr.Advise(err, fmt.Sprintf("--columns names %d columns", len(opts.Columns)))
	}
	return s, err
}

// AbsentTexts mark a missing value in a user's file.
var AbsentTexts = []string{"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "-nan", "-NaN", "NaT", "<NA>", "#N/A", "#NA"}

// ArchiveLabel is the default of TableOptions.Label for an archive of arrays.
const ArchiveLabel = "y"

// ReadUserCSV reads the file twice: first for the kinds of the columns, then for the values. It
// does not read rows that an earlier process has kept.
func ReadUserCSV(ctx context.Context, f io.ReadSeeker, opts tabular.TableOptions) (*Source, error) {
	text, err := recordio.NewDelimited(f, opts.File, layoutOf(&opts))
	if err != nil {
		return nil, err
	}
	if flag := layoutFlag(&opts); flag != "" && !text.IsText() && opts.TestFile == "" {
		return nil, &dataerr.FileError{Path: opts.File, Offset: -1, Err: fmt.Errorf("%w: %s is for text of separated fields, and this file is of another format", dataerr.ErrOption, flag),
			Advice: "leave the flag out"}
	}
	if opts.Label == "" {
		opts.Label = ArchiveLabel
	}
	own, err := newUserTable(ctx, text, &opts)
	if err != nil {
		return nil, err
	}
	kept := own.keeper()
	kept.open()
	if !kept.learned() {
		if err := own.learnFile(text); err != nil {
			return nil, err
		}
	}
	if own.Columns[0].Profile.Rows == 0 {
		return nil, &dataerr.FileError{Path: opts.File, Offset: -1, Err: dataerr.ErrNoRows}
	}
	profiles := kept.profiles()
	if err := own.decide(); err != nil {
		return nil, err
	}
	schema := own.schema(nil)
	own.stored, own.wides = nil, nil
	s := kept.sheet(schema)
	if s == nil {
		if s, err = own.readValues(f, schema); err != nil {
			return nil, err
		}
		kept.write(s, schema, profiles)
	}
	own.describe(s)
	return own.source(s)
}

// learnFile makes the profiles of the columns from the rows of text.
func (t *UserTable) learnFile(text *recordio.Delimited) error {
	open := false
	err := t.learn(func(buffer []byte) (recordio.Chunk, error) {
		c, err := text.Next(buffer)
		open = open || err == nil && c.OpenEnd()
		return c, err
	}, text)
	if open && recordio.IsPipe(t.Opts.File) {
		t.warnings = append(t.warnings, recordio.OpenEnd(t.Opts.File))
	}
	return err
}

// readValues reads the values of all rows. If processes share the rows, it reads the values of the
// columns that all processes need.
func (t *UserTable) readValues(f io.ReadSeeker, schema *columnar.Schema) (*columnar.Sheet, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, recordio.FileError(t.Opts.File, err)
	}
	if Shares(t.Opts) {
		t.summarise(schema)
	}
	return columnar.ReadSheet(f, t.Opts.File, schema)
}

// summarise marks the columns of which the table needs the values of this process's rows alone: the
// features that determine neither labels nor groups, attributes or splits.
func (t *UserTable) summarise(s *columnar.Schema) {
	for i := range s.Columns {
		spec := &s.Columns[i]
		c := t.column(spec.Name)
		if c == nil { // a part of dates
			spec.Summary = true
			continue
		}
		named := slices.ContainsFunc(c.Profile.Values, func(value string) bool {
			return slices.ContainsFunc(t.Opts.Values, func(wanted string) bool { return strings.EqualFold(value, wanted) })
		})
		spec.Summary = c.Feature && !c.Group && !c.Attribute && !named
	}
}

// layout returns the layout of the file for another reading, and for new rows: with the names of
// the columns if no line has them.
func (t *UserTable) layout() tabular.Layout {
	l := layoutOf(t.Opts)
	if l.Header != nil {
		l.Header = t.Header
	}
	l.Repeated, l.Arrays = t.repeated, t.arrays
	return l
}

// schema returns the schema for reading the values of a file. known is nil for the training file,
// and the training file's sheet for the test file.
func (t *UserTable) schema(known *columnar.Sheet) *columnar.Schema {
	s := &columnar.Schema{Layout: t.layout(), Absent: absentOf(t.Opts), Drop: t.Opts.Missing == tabular.MissingDropped, Pages: pagesOf(t.Opts), CheckMemory: t.Opts.CheckMemory}
	if known == nil {
		s.Wides = t.wides
	}
	imputed := t.Opts.Missing == tabular.MissingImputed || t.Opts.Missing == tabular.MissingFlagged
	for _, c := range t.Columns {
		missing := imputed && t.MayMiss(c) || !c.Feature && !c.required() && !c.picture
		if known != nil && c.Feature { // training made no feature for a missing value
			column := known.Column(c.encodings()[0].Title())
			missing = missing && (column.Lacks || column.FirstMissing() >= 0)
		}
		spec := columnar.ColumnSpec{Name: c.Name, Missing: missing, Many: !c.Feature && !c.Label}
		categories := c.Kind == CategoryKind || c.Kind == dateKind && (c.Group || c.Attribute)
		if known != nil && categories && !c.picture {
			spec.Many, spec.Unknown = false, t.Opts.Unknown == tabular.UnknownIgnored && !c.Label
			spec.Categories = known.Column(c.Name).Values
		}
		for _, e := range c.encodings() {
			if c.Kind == CategoryKind {
				break
			}
			numbers := columnar.ColumnSpec{Name: e.Title(), From: c.Name, Numeric: true, Value: e.Parser(), Decimal: e.Decimal, Date: e.Date, Missing: missing,
				Wide: c.wide, Lacks: c.wide && missing && c.Profile.Missing > 0}
			if known == nil && t.stored != nil && e.Date == "" {
				numbers.Stored = t.stored(c.Field)
			}
			s.Columns = append(s.Columns, numbers)
		}
		if categories {
			s.Columns = append(s.Columns, spec)
		}
	}
	return s
}

// encodings returns the encodings of the column without their categories.
func (c *UserColumn) encodings() []tabular.Encoding {
	if c.Kind != dateKind {
		return []tabular.Encoding{{Column: c.Name, Decimal: c.decimal}}
	}
	var parts []tabular.Encoding
	for _, part := range textvalue.DateParts(c.layout) {
		parts = append(parts, tabular.Encoding{Column: c.Name, Date: c.layout, Part: part})
	}
	return parts
}

// source makes features from the columns that are features.
func (t *UserTable) source(s *columnar.Sheet) (*Source, error) {
	d := &Design{pixels: t.pixels, Label: t.Label, Layout: t.layout(), Absent: absentOf(t.Opts)}
	fail := func(err error) (*Source, error) {
		return nil, &dataerr.Problems{Path: s.Name, List: []*dataerr.FileError{{Path: s.Name, Offset: -1, Err: err}}}
	}
	if err := t.takeQueries(s); err != nil {
		return nil, err
	}
	if err := t.pixels.take(s, t.layout()); err != nil {
		return nil, err
	}
	if err := t.classes(d, s); err != nil {
		return fail(fmt.Errorf("column %q: %w", t.Label, err))
	}
	made := map[string]bool{} // the features' columns
	for _, c := range t.Columns {
		if !c.Feature {
			continue
		}
		for _, e := range c.encodings() {
			col := s.Column(e.Title())
			e.Categories, e.Missing = col.Values, col.Lacks || col.FirstMissing() >= 0
			if made[e.Title()] {
				return fail(fmt.Errorf("%w: %q is a column and a part of dates; rename the column", dataerr.ErrColumn, e.Title()))
			}
			made[e.Title()] = true
			d.Encodings = append(d.Encodings, e)
		}
	}
	t.remark(s)
	t.remarkSpelling()
	for _, c := range t.Columns {
		if (c.Group || c.Attribute) && c.Kind == numberKind && c.Profile.Distinct() <= columnar.MaxCategories {
			s.Column(c.Name).Spell(c.Profile.Values)
		}
	}
	parts, err := t.parts(&s)
	if err != nil {
		return nil, err
	}
	opts := *t.Opts
	opts.Ignore = nil // the design no longer has these columns
	s.Flag = opts.Missing == tabular.MissingFlagged
	out, err := d.Table(s, opts)
	if err != nil {
		return nil, err
	}
	if t.When != nil {
		label := t.column(t.Label)
		out.Label = tabular.Label{Column: t.Label, Condition: t.When.Text, Otherwise: t.When.Negation(), Grades: t.graded, Text: label.Kind == CategoryKind, Decimal: label.decimal}
	}
	if opts.Missing != tabular.MissingRefused { // the default, which options also state as ""
		out.reading.Missing = opts.Missing
	}
	if opts.Missing == tabular.MissingDropped {
		for _, c := range t.Columns {
			if (c.Feature || c.required() || c.picture) && !c.Weight { // evaluate may count rows without weights
				out.reading.Required = append(out.reading.Required, c.Name)
			}
		}
	}
	if Shares(t.Opts) {
		e := out.Features.(*Encoded)
		e.share, e.again = t.Opts.Share, func(s *columnar.Schema) (*columnar.Sheet, error) {
			s.Layout = t.layout()
			f, err := recordio.OpenUntilDone(t.ctx, t.Opts.File)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return columnar.ReadSheet(f, t.Opts.File, s)
		}
	}
	t.setQueries(out)
	if err := t.setWeights(out, s); err != nil {
		return nil, err
	}
	out.Files = t.files
	out.assigned, out.uses, out.leftOut = parts, t.uses, t.Columns[0].Profile.Rows-s.Rows
	kept := featureColumns(out.Features.Preparation())
	for i := range out.uses {
		u := &out.uses[i]
		if c := t.column(u.Name); c != nil && !c.Attribute && slices.ContainsFunc(out.attributes, func(a tabular.Attribute) bool { return a.Name == u.Name }) {
			u.Detail = strings.TrimSuffix("attribute, "+u.Detail, ", ")
		}
		if c := t.column(u.Name); c != nil && c.Feature && !kept[u.Name] {
			u.Became, u.Detail = "ignored", u.Detail+", excluded from the features because it is sensitive"
		}
	}
	out.Notes, out.Warnings = append(t.notes, out.Notes...), append(t.warnings, out.Warnings...)
	return out, nil
}

// remark adds notes about automatic decisions, and warnings about columns that probably identify
// rows.
func (t *UserTable) remark(s *columnar.Sheet) {
	var commas, thousands, codes, counts []string
	for _, c := range t.Columns {
		if c.Feature && c.Kind == numberKind && c.Profile.MaybeCodes() {
			codes, counts = append(codes, c.Name), append(counts, fmt.Sprintf("%s (%d)", textvalue.InList(c.Name), c.Profile.Distinct()))
		}
		switch {
		case c.decimal == textvalue.CommaDecimals:
			commas = append(commas, c.Name)
		case c.decimal == textvalue.PointDecimals:
			thousands = append(thousands, c.Name)
		}
		if c.Feature && c.Profile.NumbersRows() && c.Profile.Rows > manyCategories {
			t.warnings = append(t.warnings, fmt.Sprintf("The column %q only numbers the rows, so a model can learn their order: ignore it (--ignore %s).",
				c.Name, textvalue.FlagNames(c.Name)))
		}
	}
	if marks := t.Opts.MissingValues; len(marks) > 0 && !slices.ContainsFunc(t.Columns, func(c *UserColumn) bool { return c.Profile.Has(marks) }) {
		t.notes = append(t.notes, fmt.Sprintf("No field is %s, so only empty fields are missing values: --missing-values takes texts as they stand in the file.", textvalue.Listed(marks, 10)))
	}
	if len(codes) > 0 {
		t.notes = append(t.notes, fmt.Sprintf("These columns hold whole numbers with few different values: %s. If some are codes of categories: --categorical %s.",
			textvalue.Listed(counts, 10), textvalue.FlagNames(codes[:min(len(codes), 10)]...)))
	}
	if len(commas) > 0 {
		t.notes = append(t.notes, "These columns hold numbers with decimal commas: "+textvalue.Listed(commas, 10)+".")
	}
	if len(thousands) > 0 {
		t.notes = append(t.notes, "These columns hold numbers with separators of thousands: "+textvalue.Listed(thousands, 10)+".")
	}
	if all := t.Columns[0].Profile.Rows; s.Rows < all {
		var why []string
		for _, c := range t.Columns {
			if c.Profile.Missing > 0 && (c.Feature || c.required() || c.picture) {
				why = append(why, fmt.Sprintf("%s (%d)", c.Name, c.Profile.Missing))
			}
		}
		t.notes = append(t.notes, fmt.Sprintf("%d of %d rows are left out because of missing values in %s.", all-s.Rows, all, textvalue.Listed(why, 10)))
	}
}
