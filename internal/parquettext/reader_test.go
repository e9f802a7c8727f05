package parquettext

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// column is a column of a test's file.
type column struct {
	name     string
	logical  schema.LogicalType
	physical parquet.Type
	length   int // of values of fixed length
	repeated parquet.Repetition
	values   any
	want     []string // texts, one for each row
}

func int96(t time.Time) (v parquet.Int96) {
	nanoseconds := t.Sub(t.Truncate(24 * time.Hour))
	binary.LittleEndian.PutUint64(v[:], uint64(nanoseconds))
	binary.LittleEndian.PutUint32(v[8:], uint32(t.Unix()/86400+2440588))
	return v
}

var (
	leap    = time.Date(2024, 2, 29, 13, 5, 6, 250_000_000, time.UTC)
	newYear = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	none    = schema.NoLogicalType{}
)

// columns has each type. The values of an optional column are those that are not null.
var columns = []column{
	{"number", none, parquet.Types.Double, 0, 0, []float64{1.5, math.NaN(), -1e300}, []string{"1.5", "", "-1e+300"}},
	{"single", none, parquet.Types.Float, 0, 0, []float32{0.1, 2, float32(math.Inf(1))}, []string{"0.1", "2", "+Inf"}},
	{"whole", none, parquet.Types.Int64, 0, 0, []int64{-7, 1 << 60, 0}, []string{"-7", "1152921504606846976", "0"}},
	{"small", none, parquet.Types.Int32, 0, parquet.Repetitions.Optional, []int32{3, -4}, []string{"3", "", "-4"}},
	{"natural", schema.NewIntLogicalType(32, false), parquet.Types.Int32, 0, 0, []int32{-1, 5, 0}, []string{"4294967295", "5", "0"}},
	{"large", schema.NewIntLogicalType(64, false), parquet.Types.Int64, 0, 0, []int64{-1, 5, 0}, []string{"18446744073709551615", "5", "0"}},
	{"yes", none, parquet.Types.Boolean, 0, 0, []bool{true, false, true}, []string{"True", "False", "True"}},
	{"text", schema.StringLogicalType{}, parquet.Types.ByteArray, 0, 0, []parquet.ByteArray{[]byte(`say "a, b"`), nil, []byte("é")}, []string{`say "a, b"`, "", "é"}},
	{"day", schema.DateLogicalType{}, parquet.Types.Int32, 0, 0, []int32{19000, 0, -1}, []string{"2022-01-08", "1970-01-01", "1969-12-31"}},
	{"at", schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, 0, 0,
		[]int64{leap.UnixMicro(), 0, newYear.UnixMicro()}, []string{"2024-02-29 13:05:06.250000+00:00", "1970-01-01 00:00:00+00:00", "2025-01-01 00:00:00+00:00"}},
	{"since", schema.NewTimestampLogicalType(false, schema.TimeUnitMillis), parquet.Types.Int64, 0, parquet.Repetitions.Optional,
		[]int64{0, newYear.UnixMilli()}, []string{"1970-01-01", "", "2025-01-01"}},
	{"time", schema.NewTimeLogicalType(true, schema.TimeUnitNanos), parquet.Types.Int64, 0, 0,
		[]int64{int64(time.Hour), 1, 0}, []string{"01:00:00", "00:00:00.000000001", "00:00:00"}},
	{"old", none, parquet.Types.Int96, 0, 0, []parquet.Int96{int96(leap), int96(newYear), int96(newYear)},
		[]string{"2024-02-29 13:05:06.25", "2025-01-01 00:00:00", "2025-01-01 00:00:00"}},
	{"price", schema.NewDecimalLogicalType(10, 2), parquet.Types.Int64, 0, 0, []int64{-1205, 7, 100}, []string{"-12.05", "0.07", "1.00"}},
	{"debt", schema.NewDecimalLogicalType(4, 1), parquet.Types.FixedLenByteArray, 2, 0,
		[]parquet.FixedLenByteArray{{0xff, 0xfe}, {0, 12}, {1, 0}}, []string{"-0.2", "1.2", "25.6"}},
	{"half", schema.Float16LogicalType{}, parquet.Types.FixedLenByteArray, 2, 0,
		[]parquet.FixedLenByteArray{{0, 0x3c}, {0, 0xc1}, {1, 0}}, []string{"1", "-2.5", "6e-08"}},
	{"__index_level_0__", none, parquet.Types.Int64, 0, 0, []int64{0, 1, 2}, []string{"0", "1", "2"}},
}

// lines returns the text of the columns.
func lines(names bool) string {
	var out strings.Builder
	if names {
		var header []string
		for _, c := range columns {
			header = append(header, strings.TrimPrefix(c.name, "__index_level_0__"))
		}
		out.WriteString(strings.Join(header, ",") + "\n")
	}
	for i := range columns[0].want {
		var fields []string
		for _, c := range columns {
			text := c.want[i]
			if strings.ContainsAny(text, `",`) {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			fields = append(fields, text)
		}
		out.WriteString(strings.Join(fields, ",") + "\n")
	}
	return out.String()
}

// written returns a Parquet file with the columns, the same in each row group.
func written(t testing.TB, groups int, columns []column, properties ...parquet.WriterProperty) []byte {
	t.Helper()
	var fields schema.FieldList
	for _, c := range columns {
		fields = append(fields, schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.name, c.repeated, c.logical, c.physical, c.length, -1)))
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)),
		file.WithWriterProps(parquet.NewWriterProperties(properties...)))
	for range groups {
		g, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			if err := writeColumn(g, c); err != nil {
				t.Fatal(c.name, err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writeColumn(g file.SerialRowGroupWriter, c column) error {
	cw, err := g.NextColumn()
	if err != nil {
		return err
	}
	var defined, again []int16
	if c.repeated != parquet.Repetitions.Required {
		for _, text := range c.want {
			level := int16(1)
			if text == "" {
				level = 0
			}
			defined, again = append(defined, level), append(again, 0)
		}
	}
	switch w := cw.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]bool), defined, again)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]int32), defined, again)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]int64), defined, again)
	case *file.Int96ColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]parquet.Int96), defined, again)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]float32), defined, again)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]float64), defined, again)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]parquet.ByteArray), defined, again)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(c.values.([]parquet.FixedLenByteArray), defined, again)
	}
	if err != nil {
		return err
	}
	return cw.Close()
}

// read returns the text of a file.
func read(content []byte) (string, error) {
	r, err := NewReader(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(r)
	return string(out), err
}

func TestEachType(t *testing.T) {
	for name, properties := range map[string][]parquet.WriterProperty{
		"default":          nil,
		"plain, zstd":      {parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Zstd)},
		"version 2, lz4":   {parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Lz4Raw)},
		"several per page": {parquet.WithDataPageSize(1), parquet.WithCompression(compress.Codecs.Snappy)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(written(t, 2, columns, properties...))
			if want := lines(true) + lines(false); err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// More rows than a batch and a buffer of text hold.
func TestManyRows(t *testing.T) {
	const n = 20*batch + 3
	values, texts := make([]int64, n), make([]string, n)
	kept := values[:0]
	for i := range texts {
		if i%7 != 0 {
			kept, texts[i] = append(kept, int64(i)), "x"
		}
	}
	many := column{"a", none, parquet.Types.Int64, 0, parquet.Repetitions.Optional, kept, texts}
	got, err := read(written(t, 2, []column{many, {"b", none, parquet.Types.Int64, 0, 0, make([]int64, n), texts}}))
	rows := strings.Split(got, "\n")
	if err != nil || len(rows) != 2*n+2 || rows[n-1] != "20481,0" || rows[n+1] != ",0" || rows[2*n-1] != "20481,0" {
		t.Errorf("%v, %d lines, want %d: %q", err, len(rows), 2*n+2, rows[min(n, len(rows)-1)])
	}
}

func TestRefused(t *testing.T) {
	whole := written(t, 1, columns)
	repeated := column{"tags", none, parquet.Types.Int64, 0, parquet.Repetitions.Repeated, []int64{1, 2, 3}, []string{"1", "2", "3"}}
	digits := column{"p", schema.NewDecimalLogicalType(200, 150), parquet.Types.ByteArray, 0, 0, []parquet.ByteArray{{1}}, []string{""}}
	for _, tc := range []struct {
		name string
		file []byte
		says string
	}{
		{"a list", written(t, 1, []column{columns[2], repeated}), "the columns tags hold lists or structures; write the file with a column for each part"},
		{"too many digits", written(t, 1, []column{digits}), "column p: decimal numbers with 150 digits after the point, want 0 to 100"},
		{"text", []byte("a,b\n1,2\n" + strings.Repeat("1,2\n", 10)), "smaller"},
		{"cut", whole[:len(whole)-1], "smaller"},
		{"cut in front", append([]byte(Magic), whole[len(whole)/2:]...), ""},
		{"empty", nil, "too small"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := read(tc.file); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

// FuzzReader checks that a damaged file gives an error or a text.
func FuzzReader(f *testing.F) {
	whole := written(f, 1, columns)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for at := 0; at < len(whole); at += len(whole) / 64 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x55
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = read(content)
	})
}
