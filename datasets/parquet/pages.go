package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// chunkColumn holds the values of a column in consecutive rows: numbers or texts.
type chunkColumn struct {
	col     *column
	numbers []float64 // NaN: null or NaN; nil for texts
	whole   []int64   // the numbers, if float64 does not hold all of them; else nil
	texts   [][]byte  // empty: null
	finite  bool      // all numbers are finite
}

// Numeric reports whether the file stores numbers.
func (c *chunkColumn) Numeric() bool { return c.numbers != nil }

// Number returns a finite number. ok is false for all other values, which have a text.
func (c *chunkColumn) Number(row int) (x float64, ok bool) {
	if c.numbers == nil || math.IsNaN(c.numbers[row]) { // null and NaN are an empty text
		return 0, false
	}
	x = c.numbers[row]
	return x, x-x == 0
}

// Numbers returns the numbers of all rows if all of them are finite and float64 holds them, and nil
// otherwise.
func (c *chunkColumn) Numbers() []float64 {
	if c.finite && c.whole == nil {
		return c.numbers
	}
	return nil
}

// Key returns a number that differs for different numbers of these rows.
func (c *chunkColumn) Key(row int) uint64 {
	if c.whole != nil {
		return uint64(c.whole[row])
	}
	return math.Float64bits(c.numbers[row])
}

// Text returns the value as text; "" for null and NaN. The text of a number is appended to buffer.
func (c *chunkColumn) Text(buffer []byte, row int) []byte {
	switch {
	case c.numbers == nil:
		return c.texts[row]
	case math.IsNaN(c.numbers[row]):
		return nil
	case c.whole != nil && c.col.unsigned:
		return strconv.AppendUint(buffer, uint64(c.whole[row]), 10)
	case c.whole != nil:
		return strconv.AppendInt(buffer, c.whole[row], 10)
	}
	return c.col.spell(buffer, c.numbers[row])
}

// cursor decodes a column of a row group, page by page.
type cursor struct {
	col     *column
	pages   parquet.Pages
	page    parquet.Page
	levels  []byte          // the definition level of each row of the page; nil: no value is null
	data    encoding.Values // of the page or of its dictionary
	count   int             // number of values in data
	indexes []int32         // of the values in the dictionary; nil: data has the values
	rows    int             // of the page that are left
	row, at int             // number of rows and of values of the page that were read
}

// take decodes the next n rows. Numbers are appended to buffer, if it is not nil.
func (c *cursor) take(n int, buffer []float64) (out chunkColumn, err error) {
	defer recovered(&err)
	out.col = c.col
	if c.col.number() {
		if out.numbers = buffer; buffer == nil {
			out.numbers = make([]float64, 0, n)
		}
	} else {
		out.texts = make([][]byte, 0, n)
	}
	for n > 0 {
		for c.rows == 0 {
			if err := c.next(); err != nil {
				return out, err
			}
		}
		part := min(n, c.rows)
		if err := c.append(&out, part); err != nil {
			return out, err
		}
		n, c.rows, c.row = n-part, c.rows-part, c.row+part
	}
	out.finite = !slices.ContainsFunc(out.numbers, func(x float64) bool { return x-x != 0 })
	return out, nil
}

// next reads the next page.
func (c *cursor) next() error {
	if c.page != nil {
		parquet.Release(c.page) // the values were copied
		c.page = nil
	}
	page, err := c.pages.ReadPage()
	switch {
	case errors.Is(err, io.EOF):
		return errShort
	case err != nil:
		return err
	}
	c.page, c.rows, c.row, c.at, c.indexes, c.levels = page, int(page.NumRows()), 0, 0, nil, nil
	if c.col.optional && page.NumNulls() > 0 {
		if c.levels = page.DefinitionLevels(); len(c.levels) < c.rows {
			return errShort
		}
	}
	physical := page
	if dictionary := page.Dictionary(); dictionary != nil {
		values := page.Data()
		c.indexes, physical = values.Int32(), dictionary.Page()
	}
	c.data, c.count = physical.Data(), int(physical.NumValues()-physical.NumNulls())
	return nil
}

// values calls add(row, i) for each of the next n rows with a value, which is value i of data. The
// first of the rows is row 0.
func (c *cursor) values(n int, add func(row, i int)) error {
	for row := range n {
		if c.levels != nil && c.levels[c.row+row] == 0 {
			continue
		}
		i := c.at
		if c.indexes != nil {
			if i >= len(c.indexes) {
				return errShort
			}
			i = int(c.indexes[i])
		}
		if i < 0 || i >= c.count {
			return errNoValue(i)
		}
		add(row, i)
		c.at++
	}
	return nil
}

// errNoValue is the error of an index outside the values of a page.
func errNoValue(i int) error { return fmt.Errorf("a page has no value %d", i+1) }

// append appends the next n rows to a column. All of them are in the page.
func (c *cursor) append(out *chunkColumn, n int) error {
	if out.numbers == nil {
		return c.appendTexts(out, n)
	}
	first := len(out.numbers)
	out.numbers = out.numbers[:first+n]
	to := out.numbers[first:]
	if c.levels != nil { // a row without a value stays NaN
		for i := range to {
			to[i] = math.NaN()
		}
	}
	switch {
	case c.count == 0: // all values are null
		return c.values(n, nil)
	case c.col.half:
		data, _ := c.data.FixedLenByteArray()
		halves := halfNumbers()
		return c.values(n, func(row, i int) { to[row] = halves[binary.LittleEndian.Uint16(data[2*i:])] })
	}
	switch from := c.data; {
	case c.col.kind == parquet.Float:
		return widen(c, to, from.Float())
	case c.col.kind == parquet.Double:
		return widen(c, to, from.Double())
	case c.col.kind == parquet.Int32 && c.col.unsigned:
		return widen(c, to, from.Uint32())
	case c.col.kind == parquet.Int32:
		return widen(c, to, from.Int32())
	}
	return c.appendWhole(out, to, first)
}

// widen writes the numbers of the next rows to to.
func widen[T float32 | float64 | int32 | uint32](c *cursor, to []float64, from []T) error {
	end := c.at + len(to)
	switch {
	case c.levels != nil:
		return c.values(len(to), func(row, i int) { to[row] = float64(from[i]) })
	case c.indexes != nil && end <= len(c.indexes):
		for row, i := range c.indexes[c.at:end] {
			if int(i) < 0 || int(i) >= len(from) {
				return errNoValue(int(i))
			}
			to[row] = float64(from[i])
		}
	case c.indexes == nil && end <= len(from):
		for row, x := range from[c.at:end] {
			to[row] = float64(x)
		}
	default:
		return errShort
	}
	c.at = end
	return nil
}

// exactly is the first whole number whose successor float64 does not hold.
const exactly = 1 << 53

// appendWhole appends integers of 64 bits, which begin at row first of the column, to the numbers
// to.
func (c *cursor) appendWhole(out *chunkColumn, to []float64, first int) error {
	from, large := c.data.Int64(), out.whole != nil
	whole := make([]int64, len(to))
	err := c.values(len(to), func(row, i int) {
		v := from[i]
		whole[row], to[row] = v, float64(v)
		if c.col.unsigned {
			to[row] = float64(uint64(v))
		}
		large = large || to[row] >= exactly || to[row] <= -exactly
	})
	if large && out.whole == nil {
		out.whole = make([]int64, first, cap(out.numbers))
		for row, x := range out.numbers[:first] {
			if x == x {
				out.whole[row] = int64(x)
			}
		}
	}
	if large {
		out.whole = append(out.whole, whole...)
	}
	return err
}

// appendTexts appends texts, which own their memory.
func (c *cursor) appendTexts(out *chunkColumn, n int) error {
	first := len(out.texts)
	out.texts = out.texts[:first+n]
	to, col := out.texts[first:], c.col
	if c.count == 0 { // all values are null
		return c.values(n, nil)
	}
	switch col.kind {
	case parquet.Boolean:
		bits := c.data.Boolean()
		return c.values(n, func(row, i int) { to[row] = boolean(bits[i/8]>>(i%8)&1 != 0) })
	case parquet.Int32:
		from := c.data.Int32()
		return c.values(n, func(row, i int) { to[row] = []byte(col.whole(int64(from[i]))) })
	case parquet.Int64:
		from := c.data.Int64()
		return c.values(n, func(row, i int) { to[row] = col.time(col.whole(from[i])) })
	case parquet.Int96:
		from := c.data.Int96()
		return c.values(n, func(row, i int) { to[row] = col.time(timestamp(legacyTime(from[i]))) })
	case parquet.ByteArray:
		data, offsets := c.data.ByteArray()
		return c.values(n, func(row, i int) { to[row] = col.bytes(data[offsets[i]:offsets[i+1]]) })
	}
	data, size := c.data.FixedLenByteArray()
	return c.values(n, func(row, i int) { to[row] = col.bytes(data[i*size:][:size]) })
}
