package datasets

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/inputfile"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// A record that never ends is refused. Records up to the limit are read.
func TestEndlessRecords(t *testing.T) {
	for name, begin := range map[string]string{"row": "a,b\n1,2\n", "quotes": "a,b\n1,\""} {
		d, err := recordio.NewDelimited(io.MultiReader(strings.NewReader(begin), datatest.Again("ab")), "file", tabular.Layout{Separator: ","})
		require.NoError(t, err)
		if d.Text.Most != recordio.MaxLine {
			t.Errorf("the limit is %d", d.Text.Most)
		}
		d.Text.Most = 1 << 17
		if err = eachRow(d, func([]string) error { return nil }); !errors.Is(err, recordio.ErrLongRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := require.Value(recordio.NewDelimited(strings.NewReader("a,b\n"+strings.Repeat(strings.Repeat("1", 40_000)+",2\n", 20)), "file", tabular.Layout{Separator: ","}))(t)
	d.Text.Most = 1 << 17
	rows := 0
	if err := eachRow(d, func([]string) error { rows++; return nil }); err != nil || rows != 20 {
		t.Errorf("%d of 20 records of 40,000 bytes: %v", rows, err)
	}
}

// A small file that claims many labels is refused before they are read.
func TestLabelBomb(t *testing.T) {
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	header := binary.BigEndian.AppendUint32([]byte{0, 0, inputfile.IDXBytes, 1}, 1<<31-1)
	require.Value(zip.Write(header))(t)
	require.NoError(t, zip.Close())
	_, err := newrows.ReadIDXLabels(&text, "labels.gz")
	datatest.CheckFileError(t, err, dataerr.ErrFormat, "2147483647 labels, want at most 16777216")
}

// Reading a table ends when the context is cancelled, in the training and in the test file.
func TestReadingIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	long := datatest.Write(t, dir, "long.csv", []byte("a,b\n"+strings.Repeat("1,yes\n2,no\n", 300_000)))
	short := datatest.Write(t, dir, "short.csv", []byte("a,b\n"+strings.Repeat("1,yes\n2,no\n", 50)))
	sparse := datatest.Write(t, dir, "long.svm", []byte(strings.Repeat("1 1:1\n-1 2:1\n", 300_000)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, opts := range map[string]tabular.TableOptions{
		"csv": {File: long, Label: "b=yes"}, "libsvm": {File: sparse}, "test": {File: short, TestFile: long, Label: "b=yes"},
	} {
		dataset := name
		if name == "test" {
			dataset = "csv"
		}
		if _, err := LoadTableContext(ctx, "", dataset, opts); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The time and the memory of a table with many columns grow with their number: every lookup by name
// is a map's.
func TestManyColumns(t *testing.T) {
	const columns = 3000
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "c%d,", i)
	}
	text.WriteString("label\n")
	for row := range 12 {
		for i := range columns {
			fmt.Fprintf(&text, "%d,", (row*(i+1))%7)
		}
		text.WriteString([]string{"no", "yes"}[row%2] + "\n")
	}
	file := datatest.Write(t, t.TempDir(), "wide.csv", []byte(text.String()))
	tables := loaded(t, "csv", tabular.TableOptions{File: file, Label: "label=yes", Groups: []string{"c5<3"}, Ignore: []string{"c7"}, Split: tabular.Split{Train: 100}})
	if names := tables.Train.Columns; len(names) != columns-1 || !slices.Contains(names, "c2999") || slices.Contains(names, "c7") {
		t.Errorf("%d features", len(names))
	}
}
