package newrows

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"ppal/datasets/dataerr"
	_ "ppal/datasets/parquet"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/textvalue"
)

// New rows come from a file, or from a reader that can be read only once.
func TestParquetNewRows(t *testing.T) {
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}
	content := datatest.ParquetFile(t, []float64{3, 5}, "ab")
	for name, r := range map[string]io.Reader{
		"file": bytes.NewReader(content),
		"once": io.MultiReader(bytes.NewReader(content)),
		"gzip": strings.NewReader(string(datatest.Gzipped(content))),
	} {
		x, _, _, err := newRows(p, r, NewRows{})
		if diff := cmp.Diff([]float64{3, 5}, x.Data); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	_, kept, _, err := newRows(p, bytes.NewReader(content), NewRows{Keep: []string{"y"}})
	if diff := cmp.Diff([][]string{{"a", "b"}}, kept); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	_, _, _, err = newRows(p, bytes.NewReader(datatest.ParquetFile(t, []float64{3, 5}, "ab", "x", "x")), NewRows{})
	datatest.CheckError(t, err, dataerr.ErrColumn, `2 columns are named "x"`)
	_, _, _, err = newRows(p, bytes.NewReader(datatest.ParquetFile(t, []float64{1, 2, 3}, "ab\xff")), NewRows{})
	datatest.CheckError(t, err, dataerr.ErrFormat, `row 3, column 2: wrong format: "\xff" is not in UTF-8`)
}

// New rows of a file have the numbers of the file, however the training wrote its numbers.
func TestParquetNewNumbers(t *testing.T) {
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1, Decimal: textvalue.CommaDecimals}, {Column: "y", Scale: 1, Categories: []string{"1", "2"}}}, Absent: loader.AbsentTexts}
	content := datatest.ParquetOf(t, 1, []datatest.Column{
		{Name: "y", Node: parquet.Leaf(parquet.Int32Type), Values: []any{int32(1), int32(2)}},
		{Name: "x", Node: parquet.Optional(parquet.Leaf(parquet.FloatType)), Values: []any{float32(1.234), float32(2)}},
	})
	x, kept, _, err := newRows(p, bytes.NewReader(content), NewRows{Keep: []string{"x", "y"}})
	if diff := cmp.Diff([]float64{float64(float32(1.234)), 1, 0, 2, 0, 1}, x.Data); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if diff := cmp.Diff([][]string{{"1.234", "2"}, {"1", "2"}}, kept); diff != "" {
		t.Error(diff)
	}
}
