package parquettext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// batch is the number of values of a column that are decoded at once.
const batch = 1024

// maxScale is the largest number of digits after the point of a decimal number. Known programs
// write at most 76.
const maxScale = 100

// midnight ends the text of a timestamp at the beginning of a day.
const midnight = " 00:00:00"

// errShort is the error of a column with fewer values than its row group has rows.
var errShort = errors.New("the column ends too early")

// texts converts the values of a column to texts.
type texts struct {
	of        *schema.Column
	whole     func(int64) string  // of values in 32 or 64 bits
	bytes     func([]byte) string // of values of bytes
	timestamp bool                // the values are timestamps without a time zone
	dates     bool                // the timestamps are all at midnight
}

// textsOf returns the conversion of a column's values. zone is the time zone that the file's Arrow
// schema gives the column; "": none.
func textsOf(of *schema.Column, zone string) (texts, error) {
	t := texts{of: of, whole: func(v int64) string { return strconv.FormatInt(v, 10) }, bytes: func(v []byte) string { return string(v) }}
	t.timestamp = of.PhysicalType() == parquet.Types.Int96 // in files of older programs
	switch l := of.LogicalType().(type) {
	case schema.DateLogicalType:
		t.whole = func(v int64) string { return time.Unix(v*24*60*60, 0).UTC().Format(time.DateOnly) }
	case schema.TimestampLogicalType:
		if !l.IsAdjustedToUTC() || l.IsFromConvertedType() { // older programs call all times UTC
			t.timestamp = true
			t.whole = func(v int64) string { return timestamp(instant(v, l.TimeUnit())) }
			break
		}
		in, err := location(zone)
		if err != nil {
			return t, err
		}
		t.whole = func(v int64) string { return zoned(instant(v, l.TimeUnit()).In(in)) }
	case schema.TimeLogicalType:
		t.whole = func(v int64) string { return instant(v, l.TimeUnit()).Format("15:04:05.999999999") }
	case schema.IntLogicalType:
		if !l.IsSigned() {
			t.whole = natural(of.PhysicalType())
		}
	case schema.DecimalLogicalType:
		if l.Scale() < 0 || l.Scale() > maxScale {
			return t, fmt.Errorf("decimal numbers with %d digits after the point, want 0 to %d", l.Scale(), maxScale)
		}
		t.whole = func(v int64) string { return decimal(big.NewInt(v), int(l.Scale())) }
		t.bytes = func(v []byte) string { return decimal(twosComplement(v), int(l.Scale())) }
	case schema.UUIDLogicalType:
		t.bytes = hex.EncodeToString
	case schema.Float16LogicalType:
		t.bytes = func(v []byte) string { return half(float16(v)) }
	}
	return t, nil
}

// cursor returns the function that returns the next text of a part of the column, "" for null.
func (t *texts) cursor(chunk file.ColumnChunkReader) (func() (string, error), error) {
	most := t.of.MaxDefinitionLevel()
	switch r := chunk.(type) {
	case *file.BooleanColumnChunkReader:
		return values(r.ReadBatch, most, boolean), nil
	case *file.Int32ColumnChunkReader:
		return values(r.ReadBatch, most, func(v int32) string { return t.whole(int64(v)) }), nil
	case *file.Int64ColumnChunkReader:
		return values(r.ReadBatch, most, func(v int64) string { return t.time(t.whole(v)) }), nil
	case *file.Int96ColumnChunkReader:
		return values(r.ReadBatch, most, func(v parquet.Int96) string { return t.time(timestamp(v.ToTime())) }), nil
	case *file.Float32ColumnChunkReader:
		return values(r.ReadBatch, most, func(v float32) string { return number(float64(v), 32) }), nil
	case *file.Float64ColumnChunkReader:
		return values(r.ReadBatch, most, func(v float64) string { return number(v, 64) }), nil
	case *file.ByteArrayColumnChunkReader:
		return values(r.ReadBatch, most, func(v parquet.ByteArray) string { return t.bytes(v) }), nil
	case *file.FixedLenByteArrayColumnChunkReader:
		return values(r.ReadBatch, most, func(v parquet.FixedLenByteArray) string { return t.bytes(v) }), nil
	}
	return nil, fmt.Errorf("values of type %v are not supported", t.of.PhysicalType())
}

// time returns the text without the time of day if the column has dates.
func (t *texts) time(text string) string {
	if t.dates {
		return strings.TrimSuffix(text, midnight)
	}
	return text
}

// values returns the function that returns the next text of a column, "" for null. A value is not
// null if its definition level is most.
func values[T any](read func(n int64, values []T, defined, repeated []int16) (int64, int, error), most int16, text func(T) string) func() (string, error) {
	buffer, defined := make([]T, batch), make([]int16, batch)
	rows, row, at := 0, 0, 0
	return func() (string, error) {
		if row == rows {
			n, _, err := read(batch, buffer, defined, nil)
			switch {
			case err != nil && err != io.EOF:
				return "", err
			case n == 0:
				return "", errShort
			}
			rows, row, at = int(n), 0, 0
		}
		row++
		if most > 0 && defined[row-1] < most {
			return "", nil
		}
		at++
		return text(buffer[at-1]), nil
	}
}

// boolean returns "True" or "False", as pandas writes them.
func boolean(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// number returns the shortest text that gives the same number, and "" for NaN, as pandas does.
func number(x float64, bits int) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}

// natural returns the conversion of unsigned integers.
func natural(of parquet.Type) func(int64) string {
	if of == parquet.Types.Int32 {
		return func(v int64) string { return strconv.FormatUint(uint64(uint32(v)), 10) }
	}
	return func(v int64) string { return strconv.FormatUint(uint64(v), 10) }
}

// instant returns the time that is v units after the beginning of 1970.
func instant(v int64, unit schema.TimeUnitType) time.Time {
	switch unit {
	case schema.TimeUnitMillis:
		return time.UnixMilli(v).UTC()
	case schema.TimeUnitMicros:
		return time.UnixMicro(v).UTC()
	}
	return time.Unix(0, v).UTC()
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

// half returns the shortest text whose nearest number of 16 bits is x, and "" for NaN.
func half(x float64) string {
	for digits := range 6 { // 5 digits are enough
		y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits, 64), 64)
		if err == nil && nearest16(y) == x {
			return number(y, 64)
		}
	}
	return number(x, 64)
}

// nearest16 returns the number of 16 bits that is nearest to x.
func nearest16(x float64) float64 {
	_, exponent := math.Frexp(x)
	unit := math.Ldexp(1, max(exponent-11, -24))
	return math.RoundToEven(x/unit) * unit
}

// float16 returns the number of two bytes in IEEE 754's binary16, the lower byte first.
func float16(b []byte) float64 {
	if len(b) != 2 {
		return math.NaN()
	}
	bits := int(b[0]) | int(b[1])<<8
	sign := 1 - 2*float64(bits>>15)
	exponent, fraction := bits>>10&31, float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
