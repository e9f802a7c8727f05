package newrows

import (
	"fmt"
	"math"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// rowEncoder makes the features of a record. The values are those that loader.MakeFeatures makes
// from the columns of a sheet.
type rowEncoder struct {
	columns []encodedColumn
	width   int
	// absent holds the texts that mark a missing value
	absent map[string]bool
	// ignoreUnknown leaves the features of an unknown category at 0
	ignoreUnknown bool
	unknown       int // number of unknown categories so far
}

// encodedColumn is a column and the place of its features.
type encodedColumn struct {
	*tabular.Encoding
	field int // index in a record
	at    int // index of the first feature
	// place of each category's feature, relative to at; -1: no feature; nil: the column holds
	// numbers
	places map[string]int
	// unclear: a text that marks a missing value may also be read as a number
	unclear bool
}

// newRowEncoder finds the columns that the features need in the header.
func newRowEncoder(p *tabular.Preparation, header []string, ignoreUnknown bool) (*rowEncoder, error) {
	e := &rowEncoder{absent: map[string]bool{}, ignoreUnknown: ignoreUnknown}
	for _, text := range p.Absent {
		e.absent[text] = true
	}
	places := recordio.HeaderPlaces{Header: header, Repeated: p.Repeated}
	for i := range p.Encodings {
		c := encodedColumn{Encoding: &p.Encodings[i], at: e.width}
		var err error
		if c.field, err = places.Column(c.Column); err != nil {
			return nil, err
		}
		if !c.Numeric() {
			c.places = map[string]int{}
			for _, category := range c.Categories {
				c.places[category] = slices.Index(c.EncodedLevels(), category)
			}
		} else {
			c.unclear = slices.ContainsFunc(p.Absent, func(text string) bool {
				_, ok := c.Value([]byte(text))
				return ok
			})
		}
		e.columns = append(e.columns, c)
		e.width += c.Width()
	}
	return e, nil
}

// encode writes the features of a record to out, whose elements are 0. After an error it returns
// the index of the field.
func (e *rowEncoder) encode(record recordio.RecordReader, out []float64) (field int, err error) {
	for i := range e.columns {
		c := &e.columns[i]
		x, stored := record.Number(c.field)
		switch {
		case c.places != nil:
			err = e.category(c, record, out)
		case stored && c.Date == "" && !c.unclear:
			err = c.standardised(x, record, out)
		default:
			err = e.Number(c, record, out)
		}
		if err != nil {
			return c.field, fmt.Errorf("%s: %w", c.Column, err)
		}
	}
	return 0, nil
}

// lacks reports whether a field marks a missing value.
func (e *rowEncoder) lacks(record recordio.RecordReader, field int) bool {
	return e.absent[string(record.Text(field))]
}

// Number writes the features of a number.
func (e *rowEncoder) Number(c *encodedColumn, record recordio.RecordReader, out []float64) error {
	text := record.Text(c.field)
	x, ok := c.Value(text)
	if (!ok || c.unclear) && e.absent[string(text)] {
		return c.missing(text, record, out, 1)
	}
	if !ok {
		return textvalue.NotReadable(text, c.Date)
	}
	return c.standardised(x, record, out)
}

// standardised writes the feature of a number.
func (c *encodedColumn) standardised(x float64, record recordio.RecordReader, out []float64) error {
	if x = (x - c.Center) / c.Scale; math.IsInf(x, 0) { // too far from the training rows
		return fmt.Errorf("%w: %s is out of range once standardised", dataerr.ErrNumber, textvalue.Quoted(record.Text(c.field)))
	}
	out[c.at] = x
	return nil
}

// category writes the features of a category.
func (e *rowEncoder) category(c *encodedColumn, record recordio.RecordReader, out []float64) error {
	text := record.Text(c.field)
	if e.absent[string(text)] {
		return c.missing(text, record, out, len(c.EncodedLevels()))
	}
	place, ok := c.places[string(text)]
	switch {
	case !ok && !e.ignoreUnknown:
		return fmt.Errorf("%w %s, want one of %s", dataerr.ErrCategory, textvalue.Quoted(text), textvalue.Listed(c.Categories, 20))
	case !ok:
		e.unknown++
	case place >= 0:
		out[c.at+place] = 1
	}
	return nil
}

// missing writes the features of a missing value. flag is the place of the indicator feature,
// relative to at. If the column allows no missing values, the error is ErrMissing.
func (c *encodedColumn) missing(text []byte, record recordio.RecordReader, out []float64, flag int) error {
	if !c.Missing {
		return fmt.Errorf("%w: %q", dataerr.ErrMissing, recordio.Absent(text, record, c.field))
	}
	out[c.at+flag] = 1
	return nil
}

// Row returns the features of one row, whose texts are given by the names of the columns, and the
// number of unknown categories. Columns that are not features are ignored. A column that is absent
// is ErrColumn; other errors are the errors of a file of new rows (NewRows). ignoreUnknown leaves
// the features of an unknown category at 0, instead of ErrCategory.
func Row(p *tabular.Preparation, texts map[string]string, ignoreUnknown bool) (features []float64, unknown int, err error) {
	var header []string
	var fields [][]byte
	for i := range p.Encodings {
		name := p.Encodings[i].Column
		text, given := texts[name]
		switch {
		case slices.Contains(header, name): // an earlier encoding of the column
			continue
		case !given:
			return nil, 0, fmt.Errorf("datasets: %w %s: the row has no text for it", dataerr.ErrColumn, textvalue.Quoted([]byte(name)))
		}
		header, fields = append(header, name), append(fields, []byte(text))
	}
	e, err := newRowEncoder(p, header, ignoreUnknown)
	if err != nil {
		return nil, 0, fmt.Errorf("datasets: %w", err)
	}
	features = make([]float64, e.width)
	if _, err := e.encode(&recordio.FieldReader{Fields: fields}, features); err != nil {
		return nil, 0, fmt.Errorf("datasets: %w", err)
	}
	return features, e.unknown, nil
}
