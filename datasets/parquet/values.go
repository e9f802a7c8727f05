package parquet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"ppal/internal/textvalue"
)

// maxScale is the largest number of digits after the point of a decimal number. Known programs
// write at most 76.
const maxScale = 100

// midnight ends the text of a timestamp at the beginning of a day.
const midnight = " 00:00:00"

// column says how the values of a column are read.
type column struct {
	name      string
	kind      parquet.Kind
	optional  bool
	unsigned  bool                // the values are integers without a sign
	half      bool                // the values are numbers of 16 bits
	whole     func(int64) string  // the text of values in 32 or 64 bits; nil: numbers
	bytes     func([]byte) []byte // the text of values of bytes
	timestamp bool                // the values are timestamps without a time zone
	dates     bool                // the timestamps are all at midnight
}

// number reports whether the values are numbers.
func (c *column) number() bool {
	switch c.kind {
	case parquet.Float, parquet.Double:
		return true
	case parquet.Int32, parquet.Int64:
		return c.whole == nil
	}
	return c.half
}

// spell appends the text of a finite number that float64 holds.
func (c *column) spell(buffer []byte, x float64) []byte {
	switch c.kind {
	case parquet.Int32, parquet.Int64:
		return strconv.AppendInt(buffer, int64(x), 10)
	case parquet.Float:
		return strconv.AppendFloat(buffer, x, 'g', -1, 32)
	}
	return strconv.AppendFloat(buffer, x, 'g', -1, 64)
}

// newColumn returns how the values of a column are read. element is the column in the file's
// schema, and zone is the time zone that the file's Arrow schema gives the column; "": none.
func newColumn(leaf *parquet.Column, element *format.SchemaElement, zone string) (column, error) {
	c := column{name: leaf.Name(), kind: parquet.Kind(element.Type.V), optional: leaf.Optional(), bytes: bytes.Clone}
	c.timestamp = c.kind == parquet.Int96 // in files of older programs
	if _, c.half = element.LogicalType.Value.(*format.Float16Type); c.half {
		return c, nil
	}
	logical := leaf.Type().LogicalType()
	if logical == nil {
		return c, nil
	}
	switch l := logical.Value.(type) {
	case *format.DateType:
		c.whole = func(v int64) string { return time.Unix(v*24*60*60, 0).UTC().Format(time.DateOnly) }
	case *format.TimestampType:
		unit := unitOf(l.Unit)
		if !l.IsAdjustedToUTC || element.LogicalType.Value == nil { // older programs call all times UTC
			c.timestamp = true
			c.whole = func(v int64) string { return timestamp(instant(v, unit)) }
			break
		}
		in, err := location(zone)
		if err != nil {
			return c, err
		}
		c.whole = func(v int64) string { return zoned(instant(v, unit).In(in)) }
	case *format.TimeType:
		unit := unitOf(l.Unit)
		c.whole = func(v int64) string { return instant(v, unit).Format("15:04:05.999999999") }
	case *format.IntType:
		c.unsigned = !l.IsSigned
	case *format.DecimalType:
		if l.Scale < 0 || l.Scale > maxScale {
			return c, fmt.Errorf("decimal numbers with %d digits after the point, want 0 to %d", l.Scale, maxScale)
		}
		c.whole = func(v int64) string { return decimal(big.NewInt(v), int(l.Scale)) }
		c.bytes = func(v []byte) []byte { return []byte(decimal(twosComplement(v), int(l.Scale))) }
	case *format.UUIDType:
		c.bytes = func(v []byte) []byte { return []byte(hex.EncodeToString(v)) }
	}
	return c, nil
}

// time returns a text without the time of day if the column has dates.
func (c *column) time(text string) []byte {
	if c.dates {
		text = strings.TrimSuffix(text, midnight)
	}
	return []byte(text)
}

// boolean returns "True" or "False", as pandas writes them.
func boolean(v bool) []byte {
	if v {
		return []byte("True")
	}
	return []byte("False")
}

// unitOf returns the length of a unit of time.
func unitOf(unit format.TimeUnit) time.Duration {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond
	case *format.MicroSeconds:
		return time.Microsecond
	}
	return time.Nanosecond
}

// instant returns the time that is v units after the beginning of 1970.
func instant(v int64, unit time.Duration) time.Time {
	switch unit {
	case time.Millisecond:
		return time.UnixMilli(v).UTC()
	case time.Microsecond:
		return time.UnixMicro(v).UTC()
	}
	return time.Unix(0, v).UTC()
}

// legacyTime returns the time of a timestamp of 96 bits: the nanoseconds of a day, and the day's
// number.
func legacyTime(v deprecated.Int96) time.Time {
	const epoch = 2440588 // the number of 1 January 1970
	return time.Unix((int64(v[2])-epoch)*24*60*60, int64(uint64(v[0])|uint64(v[1])<<32))
}

// timestamp returns a time as text.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999999") }

// zoned returns a time in its zone as text, as pandas writes it.
func zoned(t time.Time) string {
	switch ns := t.Nanosecond(); {
	case ns == 0:
		return t.Format("2006-01-02 15:04:05-07:00")
	case ns%1000 == 0:
		return t.Format("2006-01-02 15:04:05.000000-07:00")
	}
	return t.Format("2006-01-02 15:04:05.000000000-07:00")
}

// twosComplement returns the number in two's complement, the highest byte first.
func twosComplement(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

// decimal returns v/10^scale in decimal notation.
func decimal(v *big.Int, scale int) string {
	digits, sign := new(big.Int).Abs(v).String(), ""
	if v.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	if n := scale + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// halfNumbers holds the number with the shortest decimal form among those whose nearest number of
// 16 bits is that of the index's bits.
var halfNumbers = sync.OnceValue(func() *[1 << 16]float64 {
	all := new([1 << 16]float64)
	for bits := range all {
		x := textvalue.Half(uint16(bits))
		if all[bits] = x; x-x == 0 {
			all[bits], _ = strconv.ParseFloat(half(x), 64)
		}
	}
	return all
})

// half returns the shortest text whose nearest number of 16 bits is the finite number x.
func half(x float64) string {
	for digits := range 6 { // 5 digits are enough
		y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits, 64), 64)
		if err == nil && nearest16(y) == x {
			return strconv.FormatFloat(y, 'g', -1, 64)
		}
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// nearest16 returns the number of 16 bits that is nearest to x.
func nearest16(x float64) float64 {
	_, exponent := math.Frexp(x)
	unit := math.Ldexp(1, max(exponent-11, -24))
	return math.RoundToEven(x/unit) * unit
}
