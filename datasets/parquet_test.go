package datasets

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/google/go-cmp/cmp"

	"ppal/internal/parquettext"
)

// parquetFile returns a Parquet file of two columns, named x and y by default: numbers, and texts
// of one letter each.
func parquetFile(t *testing.T, numbers []float64, letters string, names ...string) []byte {
	t.Helper()
	if names == nil {
		names = []string{"x", "y"}
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, pqschema.MustGroup(pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{
		pqschema.NewFloat64Node(names[0], parquet.Repetitions.Required, -1),
		pqschema.NewByteArrayNode(names[1], parquet.Repetitions.Required, -1),
	}, -1)))
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*file.Float64ColumnChunkWriter).WriteBatch(numbers, nil, nil); err != nil {
		t.Fatal(err)
	}
	var texts []parquet.ByteArray
	for i := range letters {
		texts = append(texts, []byte(letters[i:i+1]))
	}
	if c, err = g.NextColumn(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(texts, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A Parquet file is the same table as its text, plain and compressed.
func TestParquetTable(t *testing.T) {
	content := parquetFile(t, []float64{1, 2.5, 3, 4}, "abba")
	want, err := everything(t, "x,y\n1,a\n2.5,b\n3,b\n4,a\n", TableOptions{Label: "y=a"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": string(content), "gzip": string(gzipped(content))} {
		got, err := everything(t, text, TableOptions{Label: "y=a"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(denseOf(t, want), denseOf(t, got)); diff != "" || !cmp.Equal(want.Train.Labels, got.Train.Labels) {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err = everything(t, string(content), TableOptions{Label: "z"})
	checkError(t, err, ErrColumn, `no column "z"`)
	_, err = everything(t, string(content[:len(content)-9]), TableOptions{Label: "y=a"})
	checkError(t, err, ErrFormat, "the Parquet file cannot be read: ")
	damaged := bytes.Clone(content)
	for i := range 8 { // of the first column
		damaged[len(parquettext.Magic)+i] ^= 0xff
	}
	_, err = everything(t, string(damaged), TableOptions{Label: "y=a"})
	checkError(t, err, ErrFormat, "own.csv: wrong format: the Parquet file cannot be read: ")
	// A file is read in place; its bytes are copied only if the reader can read them only once.
	if _, err := openParquet(bytes.NewReader(content), iotest.ErrReader(io.ErrClosedPipe), "file"); err != nil {
		t.Error(err)
	}
	_, err = openParquet(strings.NewReader("\x1f\x8b"), iotest.ErrReader(io.ErrClosedPipe), "file")
	checkError(t, err, io.ErrClosedPipe, "file: ")
}

// New rows come from a file, or from a reader that can be read only once.
func TestParquetNewRows(t *testing.T) {
	p := &Preparation{Encodings: []Encoding{{Column: "x", Scale: 1}}}
	content := parquetFile(t, []float64{3, 5}, "ab")
	for name, r := range map[string]io.Reader{
		"file": bytes.NewReader(content),
		"once": io.MultiReader(bytes.NewReader(content)),
		"gzip": strings.NewReader(string(gzipped(content))),
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
	_, _, _, err = newRows(p, bytes.NewReader(parquetFile(t, []float64{3, 5}, "ab", "x", "x")), NewRows{})
	checkError(t, err, ErrColumn, `2 columns are named "x"`)
}
