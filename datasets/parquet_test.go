package datasets

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"ppal/datasets/dataerr"
	_ "ppal/datasets/parquet"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// A Parquet file is the same table as its text, plain and compressed.
func TestParquetTable(t *testing.T) {
	content := datatest.ParquetFile(t, []float64{1, 2.5, 3, 4}, "abba")
	want, err := everything(t, "x,y\n1,a\n2.5,b\n3,b\n4,a\n", tabular.TableOptions{Label: "y=a"})
	require.NoError(t, err)
	for name, text := range map[string]string{"plain": string(content), "gzip": string(datatest.Gzipped(content))} {
		got, err := everything(t, text, tabular.TableOptions{Label: "y=a"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(denseOf(t, want), denseOf(t, got)); diff != "" || !cmp.Equal(want.Train.Labels, got.Train.Labels) {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err = everything(t, string(content), tabular.TableOptions{Label: "z"})
	datatest.CheckError(t, err, dataerr.ErrColumn, `no column "z"`)
	_, err = everything(t, string(content[:len(content)-9]), tabular.TableOptions{Label: "y=a"})
	datatest.CheckError(t, err, dataerr.ErrFormat, "the Parquet file cannot be read: ")
	damaged := bytes.Clone(content)
	for i := range 8 { // of the first column
		damaged[len("PAR1")+i] ^= 0xff
	}
	_, err = everything(t, string(damaged), tabular.TableOptions{Label: "y=a"})
	datatest.CheckError(t, err, dataerr.ErrFormat, "own.csv: wrong format: the Parquet file cannot be read: ")
	// A file is read in place; its bytes are copied only if the reader can read them only once.
	if _, err := recordio.OpenBinary(bytes.NewReader(content), iotest.ErrReader(io.ErrClosedPipe), content[:4], "file"); err != nil {
		t.Error(err)
	}
	_, err = recordio.OpenBinary(strings.NewReader("\x1f\x8b"), iotest.ErrReader(io.ErrClosedPipe), content[:4], "file")
	datatest.CheckError(t, err, io.ErrClosedPipe, "file: ")
}

// Numbers of a file are read as numbers: those of 32 bits have their exact values, their names and
// the bounds of conditions are decimal.
func TestParquetNumbers(t *testing.T) {
	column := func(name string, typ parquet.Type, values ...any) datatest.Column {
		return datatest.Column{Name: name, Node: parquet.Leaf(typ), Values: values}
	}
	content := datatest.ParquetOf(t, 1, []datatest.Column{
		column("x", parquet.FloatType, float32(0.1), float32(0.7), float32(0.1), float32(1e6)),
		column("w", parquet.FloatType, float32(0.1), float32(0.7), float32(0.1), float32(1e6)),
		column("n", parquet.Int64Type, int64(1), int64(2), int64(2), int64(3)),
		column("id", parquet.Int64Type, int64(1<<60), int64(1<<60+1), int64(1<<60), int64(1<<60+1)),
		datatest.Texts("y", "a", "b", " b ", "a\r\nc"),
	})
	load := func(o tabular.TableOptions) (*tabular.Tables, error) {
		o.Categorical, o.Split = []string{"id"}, tabular.Split{Train: 100}
		return everything(t, string(content), o)
	}
	d, err := load(tabular.TableOptions{Label: "w>=0.7", Groups: []string{"n"}, Attributes: []string{"x", "x=0.1"}, Ignore: []string{"y"}})
	require.NoError(t, err)
	if diff := cmp.Diff([]int{-1, 1, -1, 1}, d.Train.Labels); diff != "" {
		t.Error("a bound is met by the nearest number of 32 bits:", diff)
	}
	var groups []string
	for _, g := range d.Train.Groups {
		groups = append(groups, g.Name)
	}
	for _, a := range d.Train.Attributes {
		groups = append(groups, a.Values...)
	}
	if diff := cmp.Diff([]string{"n=1", "n=2", "n=3", "0.1", "0.7", "1e+06", "x=0.1", "the rest"}, groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 1, 0, 1}, d.Train.Attributes[1].Of); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "n", "id=1152921504606846976", "id=1152921504606846977"}, d.Train.Columns); diff != "" {
		t.Error(diff)
	}
	d, err = load(tabular.TableOptions{Label: "n>2", Ignore: []string{"id", "w"}})
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"x", "y=a", "y=a\nc", "y=b"}, d.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if e := d.Preparation.Encodings[0]; e.Center != (2*float64(float32(0.1))+float64(float32(0.7))+1e6)/4 {
		t.Errorf("the mean of x is %v, want that of the exact numbers", e.Center)
	}
	for _, label := range []string{"y=a", "x>1"} {
		bad := datatest.ParquetFile(t, []float64{1, 2, 3}, "ab\xff")
		_, err = everything(t, string(bad), tabular.TableOptions{Label: label})
		datatest.CheckError(t, err, dataerr.ErrFormat, `own.csv: row 3, column 2: wrong format: "\xff" is not in UTF-8`)
	}
	_, err = load(tabular.TableOptions{Label: "n>2", Ignore: []string{"w"}, MissingValues: []string{"0.7"}})
	datatest.CheckError(t, err, dataerr.ErrMissing, `x: missing value: "0.7" in 1 of 4 rows`)
}

// A Parquet file of several chunks is the same table, with the same notes, warnings and errors, as
// its text: whatever the first reading keeps of its numbers.
func TestParquetIsItsText(t *testing.T) {
	require.NoRace(t, "the tests of datasets/parquet and of internal/loader run the same goroutines")
	const rows = 9000
	each := func(of func(i int) any) (column []any) {
		for i := range rows {
			column = append(column, of(i))
		}
		return column
	}
	real, whole, small := parquet.Leaf(parquet.DoubleType), parquet.Leaf(parquet.Int64Type), parquet.Leaf(parquet.Int32Type)
	columns := []datatest.Column{
		{Name: "wave", Node: real, Values: each(func(i int) any { return math.Sin(float64(i)) })},
		{Name: "eighths", Node: parquet.Leaf(parquet.FloatType), Values: each(func(i int) any { return float32(i%2048) / 8 })},
		{Name: "grade", Node: real, Values: each(func(i int) any { return float64(i%7) / 2 })},
		{Name: "number", Node: whole, Values: each(func(i int) any { return int64(i) })},
		{Name: "shuffled", Node: whole, Values: each(func(i int) any { return int64(i * 7919 % rows) })},
		{Name: "code", Node: small, Values: each(func(i int) any { return int32(i % 5) })},
		{Name: "same", Node: whole, Values: each(func(int) any { return int64(3) })},
		{Name: "large", Node: whole, Values: each(func(i int) any { return int64(1<<53 + i%9) })},
		{Name: "gaps", Node: parquet.Optional(real), Values: each(func(i int) any {
			if i/2000 == 2 && i%500 == 1 {
				return nil
			}
			return float64(i%1500) / 4
		})},
		{Name: "late", Node: parquet.Optional(small), Values: each(func(i int) any {
			if i == rows-1 {
				return nil
			}
			return int32(i % 1200)
		})},
		{Name: "kind", Node: parquet.String(), Values: each(func(i int) any { return []string{"a", "b", " a"}[i%3] })},
		{Name: "y", Node: small, Values: each(func(i int) any { return int32(i / 3 % 2) })},
	}
	var text strings.Builder
	for k, c := range columns {
		text.WriteString(strings.Repeat(",", min(k, 1)) + c.Name)
	}
	for i := range rows {
		for k, c := range columns {
			text.WriteString("\n,"[min(k, 1):][:1])
			if v := c.Values[i]; v != nil {
				fmt.Fprint(&text, v)
			}
		}
	}
	content := string(datatest.ParquetOf(t, 1, columns))
	pages, err := mapped.New(t.TempDir(), 1<<30)
	if err != nil {
		t.Skip(err)
	}
	defer pages.Close()
	gaps := []string{"gaps", "late"}
	for name, o := range map[string]tabular.TableOptions{
		"missing":     {},
		"without":     {Ignore: gaps},
		"in pages":    {Ignore: gaps, Pages: pages},
		"two":         {Features: []string{"code", "wave"}},
		"impute":      {Missing: tabular.MissingImputed},
		"flag":        {Missing: tabular.MissingFlagged, Groups: []string{"gaps>100"}},
		"drop":        {Missing: tabular.MissingDropped},
		"marked":      {Missing: tabular.MissingImputed, MissingValues: []string{"0.5", "17"}},
		"categories":  {Ignore: gaps, Categorical: []string{"code", "same", "grade"}, Groups: []string{"grade"}, Attributes: []string{"code"}},
		"blanks":      {Ignore: gaps, Groups: []string{"kind"}},
		"many values": {Ignore: gaps, Categorical: []string{"number"}},
		"a number":    {Ignore: gaps, Label: "eighths>=100"},
	} {
		if o.Label == "" {
			o.Label = "y"
		}
		o.Split, o.Seed = tabular.Split{Train: 70, Validation: 15, Test: 15}, 1
		want, wantErr := everything(t, text.String(), o)
		got, err := everything(t, content, o)
		if err != nil || wantErr != nil {
			_, said, _ := strings.Cut(fmt.Sprint(err), "own.csv")
			_, wanted, _ := strings.Cut(fmt.Sprint(wantErr), "own.csv")
			wanted = regexp.MustCompile(`line \d+`).ReplaceAllStringFunc(wanted, func(line string) string { // the names have a line
				n := require.Value(strconv.Atoi(line[len("line "):]))(t)
				return fmt.Sprintf("row %d", n-1)
			})
			if said != wanted || said == "" {
				t.Errorf("%s: %v, want %v", name, err, wantErr)
			}
			continue
		}
		for i, p := range want.Parts() {
			own := got.Parts()[i]
			n, cols := p.Features.Dims()
			a, b := make([]float64, n*cols), make([]float64, n*cols)
			p.Features.Float64(a, 0, n)
			own.Features.Float64(b, 0, n)
			if !slices.Equal(a, b) || !slices.Equal(p.Labels, own.Labels) || !slices.Equal(p.Columns, own.Columns) ||
				cmp.Diff(p.Groups, own.Groups) != "" || cmp.Diff(p.Attributes, own.Attributes) != "" {
				t.Errorf("%s: the %s rows differ", name, p.Name)
			}
		}
		if diff := cmp.Diff(append(want.Notes, want.Warnings...), append(got.Notes, got.Warnings...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
