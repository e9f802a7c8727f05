package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"ppal/internal/datatest"
	"ppal/internal/require"
)

// typed is a column of a test's file, and the texts of its values.
type typed struct {
	datatest.Column
	want []string
}

func int96(t time.Time) (v deprecated.Int96) {
	nanoseconds := uint64(t.Sub(t.Truncate(24 * time.Hour)))
	return deprecated.Int96{uint32(nanoseconds), uint32(nanoseconds >> 32), uint32(t.Unix()/86400 + 2440588)}
}

// fixed returns a value of fixed length.
func fixed(bytes ...byte) parquet.Value { return parquet.FixedLenByteArrayValue(bytes) }

// halfType is the type of numbers of 16 bits.
type halfType struct{ parquet.Type }

func (halfType) LogicalType() *format.LogicalType {
	return &format.LogicalType{Value: &format.Float16Type{}}
}

var (
	leap    = time.Date(2024, 2, 29, 13, 5, 6, 250_000_000, time.UTC)
	newYear = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
)

// columns has each type.
var columns = []typed{
	of("number", parquet.Leaf(parquet.DoubleType), 1.5, math.NaN(), -1e300).want("1.5", "", "-1e+300"),
	of("single", parquet.Leaf(parquet.FloatType), float32(0.1), float32(2), float32(math.Inf(1))).want("0.1", "2", "+Inf"),
	of("whole", parquet.Leaf(parquet.Int64Type), int64(-7), int64(1<<60+1), int64(0)).want("-7", "1152921504606846977", "0"),
	of("small", parquet.Optional(parquet.Leaf(parquet.Int32Type)), int32(3), nil, int32(-4)).want("3", "", "-4"),
	of("missing", parquet.Optional(parquet.Int(64)), int64(3), nil, int64(1<<60)).want("3", "", "1152921504606846976"),
	of("natural", parquet.Uint(32), int32(-1), int32(5), int32(0)).want("4294967295", "5", "0"),
	of("large", parquet.Uint(64), int64(-1), int64(5), int64(0)).want("18446744073709551615", "5", "0"),
	of("byte", parquet.Uint(8), int32(255), int32(5), int32(0)).want("255", "5", "0"),
	of("yes", parquet.Leaf(parquet.BooleanType), true, false, true).want("True", "False", "True"),
	of("perhaps", parquet.Optional(parquet.Leaf(parquet.BooleanType)), nil, false, true).want("", "False", "True"),
	of("text", parquet.String(), `say "a, b"`, "", "é").want(`say "a, b"`, "", "é"),
	of("kind", parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary)), "a", nil, "a").want("a", "", "a"),
	of("day", parquet.Date(), int32(19000), int32(0), int32(-1)).want("2022-01-08", "1970-01-01", "1969-12-31"),
	of("at", parquet.Timestamp(parquet.Microsecond), leap.UnixMicro(), int64(0), newYear.UnixMicro()).
		want("2024-02-29 13:05:06.250000+00:00", "1970-01-01 00:00:00+00:00", "2025-01-01 00:00:00+00:00"),
	of("since", parquet.Optional(parquet.TimestampAdjusted(parquet.Millisecond, false)), int64(0), nil, newYear.UnixMilli()).
		want("1970-01-01", "", "2025-01-01"),
	of("time", parquet.Time(parquet.Nanosecond), int64(time.Hour), int64(1), int64(0)).want("01:00:00", "00:00:00.000000001", "00:00:00"),
	of("old", parquet.Leaf(parquet.Int96Type), int96(leap), int96(newYear), int96(newYear)).
		want("2024-02-29 13:05:06.25", "2025-01-01 00:00:00", "2025-01-01 00:00:00"),
	of("price", parquet.Decimal(2, 10, parquet.Int64Type), int64(-1205), int64(7), int64(100)).want("-12.05", "0.07", "1.00"),
	of("debt", parquet.Decimal(1, 4, parquet.FixedLenByteArrayType(2)), fixed(0xff, 0xfe), fixed(0, 12), fixed(1, 0)).want("-0.2", "1.2", "25.6"),
	of("half", parquet.Leaf(halfType{parquet.FixedLenByteArrayType(2)}), fixed(0, 0x3c), fixed(0, 0xc1), fixed(1, 0)).want("1", "-2.5", "6e-08"),
	of("__index_level_0__", parquet.Leaf(parquet.Int64Type), int64(0), int64(1), int64(2)).want("0", "1", "2"),
}

func of(name string, node parquet.Node, values ...any) parquetColumn {
	return parquetColumn{Name: name, Node: node, Values: values}
}

type parquetColumn datatest.Column

func (c parquetColumn) want(texts ...string) typed { return typed{datatest.Column(c), texts} }

// written returns a file with the columns, the same in each row group.
func written(t testing.TB, groups int, columns []typed, options ...parquet.WriterOption) []byte {
	t.Helper()
	var plain []datatest.Column
	for _, c := range columns {
		plain = append(plain, c.Column)
	}
	return datatest.ParquetOf(t, groups, plain, options...)
}

// opened opens the content of a file.
func opened(content []byte) (*tableFile, error) {
	return openFile(bytes.NewReader(content), int64(len(content)))
}

// read returns the columns' names and the texts of each column.
func read(content []byte) (names []string, texts [][]string, err error) {
	f, err := opened(content)
	if err != nil {
		return nil, nil, err
	}
	names, texts = f.Names(), make([][]string, len(f.Names()))
	for i := range names {
		f.Keep([]int{i})
	}
	for row := 0; ; {
		rows, err := f.Next()
		if err == io.EOF {
			return names, texts, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range rows.Columns {
			for k := range rows.Count {
				texts[i] = append(texts[i], string(rows.Columns[i].Text(nil, k)))
			}
		}
		row += rows.Count
	}
}

func TestEachType(t *testing.T) {
	var names []string
	for _, c := range columns {
		names = append(names, strings.TrimPrefix(c.Name, "__index_level_0__"))
	}
	for name, options := range map[string][]parquet.WriterOption{
		"default":          nil,
		"zstd":             {parquet.Compression(&parquet.Zstd)},
		"version 1, lz4":   {parquet.DataPageVersion(1), parquet.Compression(&parquet.Lz4Raw)},
		"gzip":             {parquet.Compression(&parquet.Gzip)},
		"brotli":           {parquet.Compression(&parquet.Brotli)},
		"several per page": {parquet.PageBufferSize(1), parquet.Compression(&parquet.Snappy)},
	} {
		t.Run(name, func(t *testing.T) {
			gotNames, got, err := read(written(t, 2, columns, options...))
			require.NoError(t, err)
			if diff := cmp.Diff(names, gotNames); diff != "" {
				t.Error(diff)
			}
			for i, c := range columns {
				if diff := cmp.Diff(append(append([]string{}, c.want...), c.want...), got[i]); diff != "" {
					t.Errorf("%s: %s", c.Name, diff)
				}
			}
		})
	}
}

// Numbers are numbers: the exact ones of 32 bits, and the shortest decimal ones of 16 bits. NaN,
// null and infinities have no number.
func TestNumbers(t *testing.T) {
	f := require.Value(opened(written(t, 1, columns)))(t)
	rows := require.Value(f.Next())(t)
	none := math.NaN()
	for name, want := range map[string][]float64{
		"number": {1.5, none, -1e300}, "single": {float64(float32(0.1)), 2, none}, "whole": {-7, 1 << 60, 0}, "small": {3, none, -4},
		"natural": {4294967295, 5, 0}, "large": {1 << 64, 5, 0}, "byte": {255, 5, 0}, "half": {1, -2.5, 6e-8},
		"yes": {none, none, none}, "text": {none, none, none}, "price": {none, none, none}, "day": {none, none, none},
	} {
		i := 0
		for f.columns[i].name != name {
			i++
		}
		if got := f.Single(i); got != (name == "single") {
			t.Errorf("%s is single: %t", name, got)
		}
		for row, x := range want {
			got, ok := rows.Columns[i].Number(row)
			if ok == math.IsNaN(x) || ok && got != x {
				t.Errorf("%s, row %d: %v, %t, want %v", name, row, got, ok, x)
			}
		}
	}
}

// Numbers beyond those that float64 holds differ by their keys.
func TestKeys(t *testing.T) {
	f := require.Value(opened(written(t, 1, []typed{of("id", parquet.Leaf(parquet.Int64Type), int64(1<<60), int64(1<<60+1), int64(1<<60)).want()})))(t)
	rows := require.Value(f.Next())(t)
	if c := &rows.Columns[0]; c.Key(0) == c.Key(1) || c.Key(0) != c.Key(2) {
		t.Error(c.Key(0), c.Key(1), c.Key(2))
	}
}

// The kept numbers are those of all chunks. Columns with values that are not finite, with integers
// that float64 does not hold, with texts, and skipped columns are not kept.
func TestKeep(t *testing.T) {
	const n = mostRows + 7
	each := func(of func(i int) any) (values []any) {
		for i := range n {
			values = append(values, of(i))
		}
		return values
	}
	double, whole := parquet.Leaf(parquet.DoubleType), parquet.Leaf(parquet.Int64Type)
	file := written(t, 2, []typed{
		of("a", double, each(func(i int) any { return float64(i) / 2 })...).want(),
		of("nan", double, each(func(i int) any { return []float64{1, math.NaN()}[i/(n-1)] })...).want(),
		of("null", parquet.Optional(whole), each(func(i int) any { return []any{nil, int64(i)}[min(i, 1)] })...).want(),
		of("present", parquet.Optional(whole), each(func(i int) any { return int64(-i) })...).want(),
		of("large", whole, each(func(i int) any { return int64(1<<53 + i) })...).want(),
		of("text", parquet.String(), each(func(i int) any { return "t" })...).want(),
		of("not asked", double, each(func(i int) any { return 1.0 })...).want(),
		of("skipped", double, each(func(i int) any { return 1.0 })...).want(),
	})
	f := require.Value(opened(file))(t)
	if bytes := f.Keep([]int{0, 1, 2, 3, 4, 5}); bytes != 5*8*2*n {
		t.Errorf("%d bytes, want %d", bytes, 5*8*2*n)
	}
	f.Skip(5) // texts are not skipped, because they are checked
	f.Skip(7)
	parts := 0
	for {
		if f.Numbers(0) != nil {
			t.Error("numbers before the last row")
		}
		rows, err := f.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		for i := range rows.Columns {
			c := &rows.Columns[i]
			want := rows.Count
			if i == 7 {
				want = 0
			}
			if len(c.numbers)+len(c.texts) != want || c.Numeric() != (i != 5) {
				t.Fatalf("column %d: %d numbers, %d texts", i, len(c.numbers), len(c.texts))
			}
		}
		if numbers := rows.Columns[6].Numbers(); len(numbers) != rows.Count || cap(rows.Columns[0].Numbers()) != rows.Count {
			t.Errorf("%d numbers in %d rows", len(numbers), rows.Count)
		}
		if parts++; f.row == f.Rows() {
			break
		}
	}
	if parts < 3 {
		t.Errorf("%d chunks", parts)
	}
	for i := range f.columns {
		got := f.Numbers(i)
		if i != 0 && i != 3 {
			if got != nil {
				t.Errorf("column %d has %d numbers", i, len(got))
			}
			continue
		}
		for row, x := range got {
			if want := []float64{0: float64(row%n) / 2, 3: -float64(row % n)}[i]; x != want {
				t.Fatalf("column %d, row %d: %v, want %v", i, row, x, want)
			}
		}
		if len(got) != 2*n {
			t.Errorf("column %d: %d numbers, want %d", i, len(got), 2*n)
		}
	}
	if f.Spelling(0, 0.5) != "0.5" || f.Spelling(3, 7) != "7" {
		t.Error(f.Spelling(0, 0.5), f.Spelling(3, 7))
	}
}

// A small file that claims many rows keeps none, and row groups with more rows than the file are an
// error.
func TestKeepsNoMoreThanTheFileHas(t *testing.T) {
	same := make([]any, 1<<16)
	for i := range same {
		same[i] = 1.0
	}
	file := written(t, 1, []typed{of("same", parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary), same...).want()})
	f := require.Value(opened(file))(t)
	if bytes := f.Keep([]int{0}); bytes != 0 {
		t.Errorf("%d bytes of a file of %d", bytes, len(file))
	}
	f.size = int64(len(same)) / 2 // 8 bytes for each row are 16 times as much
	if bytes := f.Keep([]int{0}); bytes != uint64(8*len(same)) {
		t.Errorf("%d bytes", bytes)
	}
	f.kept[0] = f.kept[0][:mostRows-1]
	if _, err := f.Next(); err == nil || !strings.Contains(err.Error(), "more rows than the file") {
		t.Error(err)
	}
}

// More rows than are decoded at once, in several row groups.
func TestManyRows(t *testing.T) {
	const n = 5*mostRows + 4
	many, large := make([]any, n), make([]any, n)
	for i := range many {
		if i%7 != 0 {
			many[i] = int64(i)
		}
		if large[i] = int64(i); i == n/2 { // the first that float64 does not hold
			large[i] = int64(1<<53 + 1)
		}
	}
	_, texts, err := read(written(t, 2, []typed{of("a", parquet.Optional(parquet.Leaf(parquet.Int64Type)), many...).want(),
		of("b", parquet.Leaf(parquet.Int64Type), large...).want()}))
	if err != nil || len(texts[0]) != 2*n || texts[0][n-1] != "20483" || texts[0][n] != "" || texts[0][2*n-1] != "20483" ||
		texts[1][n/2] != "9007199254740993" || texts[1][n/2-1] != "10241" {
		t.Errorf("%v, %d rows, want %d: %q %q %q", err, len(texts[0]), 2*n, texts[0][n-1], texts[0][n], texts[1][n/2-1:n/2+1])
	}
}

func TestRefused(t *testing.T) {
	whole := written(t, 1, columns)
	list := of("tags", parquet.Repeated(parquet.Leaf(parquet.Int64Type)), int64(1), int64(2), int64(3)).want()
	digits := of("p", parquet.Decimal(150, 200, parquet.ByteArrayType), []byte{1}).want()
	footer := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(footer[len(footer)-8:], math.MaxUint32)
	for _, tc := range []struct {
		name string
		file []byte
		says string
	}{
		{"a list", written(t, 1, []typed{columns[2], list}), "the columns tags hold lists or structures; write the file with a column for each part"},
		{"too many digits", written(t, 1, []typed{digits}), "column p: decimal numbers with 150 digits after the point, want 0 to 100"},
		{"text", []byte("a,b\n1,2\n" + strings.Repeat("1,2\n", 10)), "want PAR1 at the beginning"},
		{"cut", whole[:len(whole)-1], "want PAR1 at the beginning and at the end"},
		{"cut in front", append([]byte(magic), whole[len(whole)/2:]...), ""},
		{"a large footer", footer, "smaller than its footer, which has 4294967295 bytes"},
		{"empty", nil, "too small"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := read(tc.file); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

// A damaged byte gives an error or values, and never a panic.
func TestDamaged(t *testing.T) {
	whole := written(t, 1, columns, parquet.Compression(&parquet.Snappy))
	for at := 0; at < len(whole); at += 7 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x55
		_, _, _ = read(damaged)
	}
}

// FuzzFile checks that a damaged file gives an error or values.
func FuzzFile(f *testing.F) {
	whole := written(f, 1, columns)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for at := 0; at < len(whole); at += len(whole) / 64 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x55
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _, _ = read(content)
	})
}
