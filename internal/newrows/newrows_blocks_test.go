package newrows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"ppal/datasets/dataerr"
	_ "ppal/datasets/parquet"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// A block is a chunk of pictures, and Work gets as many rows at a time as featureBytes hold.
func TestNewRowsBlocks(t *testing.T) {
	const pixels, rows = 64, 2*recordio.ChunkBytes/64 + 3
	text := []byte{0, 0, 8, 2, 0, 0, rows >> 8, rows & 255, 0, 0, 0, pixels}
	for i := range rows {
		text = append(text, slices.Repeat([]byte{byte(i % 251)}, pixels)...)
	}
	var calls, blocks []int
	set := NewRows{Pixels: pixels, Scale: 1,
		Work: func(features, results []float64) ([]float64, error) {
			calls = append(calls, len(features)/pixels)
			return append(results, features...), nil
		},
		Emit: func(b *Block) error {
			for i, x := range b.Results {
				if want := float64((b.First + i/pixels) % 251); x != want {
					return fmt.Errorf("pixel %d from row %d is %v, want %v", i, b.First, x, want)
				}
			}
			blocks = append(blocks, b.Rows)
			return nil
		}}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the calls come in order
	require.NoError(t, set.Read(strings.NewReader(string(text)), "file"))
	const full, part = recordio.ChunkBytes / pixels, featureBytes / 8 / pixels
	wantCalls := append(slices.Repeat([]int{part}, 2*full/part), 3)
	if diff := cmp.Diff([]int{full, full, 3}, blocks) + cmp.Diff(wantCalls, calls); diff != "" {
		t.Error(diff)
	}
	set.Keep = []string{"x"}
	datatest.CheckError(t, set.Read(strings.NewReader(string(text)), "file"), dataerr.ErrColumn, "pictures have no columns")
	set.Keep = nil
	for _, magic := range []string{"\x01\x00\x08\x02", "\x00\x01\x08\x02", "\x00\x00\x09\x02", "\x00\x00\x08\x01", "\x00\x00\x08\x05"} {
		body := strings.Repeat("\x00\x00\x00\x01", int(magic[3])-1) + "\x00\x00\x00\x40" + string(make([]byte, pixels))
		datatest.CheckError(t, set.Read(strings.NewReader(magic+body), "file"), dataerr.ErrFormat, "magic number")
	}
	for _, header := range []string{"\x00\x00\x08\x02\x00\x00\x00\x01\x00\x00\x00\x40", "\x00\x00\x08\x04\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x08\x00\x00\x00\x08"} {
		if err := set.Read(strings.NewReader(header+string(make([]byte, pixels))), "file"); err != nil {
			t.Errorf("% x: %v", header, err)
		}
	}
}

// The kept texts and the unknown categories of each block are its own, over several chunks.
func TestNewRowsKeepInChunks(t *testing.T) {
	const n = 90000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // blocks are used again
	var text strings.Builder
	text.WriteString("x,y,c,d\n")
	want := [][]string{make([]string, n), make([]string, n)}
	for i := range n {
		want[0][i], want[1][i] = fmt.Sprint(i%7), []string{"p", "q", "new"}[i%3]
		fmt.Fprintf(&text, "%s,%d,a,%s\n", want[0][i], i, want[1][i])
	}
	x, kept, unknown, err := newRows(newColumns(), strings.NewReader(text.String()), NewRows{Keep: []string{"x", "d=p"}, IgnoreUnknown: true})
	if err != nil || x.Rows != n || unknown != n/3 {
		t.Fatalf("%d rows, %d unknown, %v", x.Rows, unknown, err)
	}
	if !reflect.DeepEqual(want, kept) { // faster than cmp.Diff
		t.Error(cmp.Diff(want, kept))
	}
	for i := range n {
		d := [][]float64{{1, 0}, {0, 1}, {0, 0}}[i%3]
		row := []float64{(float64(i%7) - 1) / 2, float64(i) - 3, 0, 0, 1, d[0], d[1], 0}
		if got := x.Data[8*i : 8*i+8]; !slices.Equal(got, row) {
			t.Fatalf("row %d: %v, want %v", i, got, row)
		}
	}
	// a condition keeps its column, and a missing column of the preparation is told first
	set := NewRows{Preparation: newColumns(), Keep: []string{"d=p", "c"}, Work: func(_, r []float64) ([]float64, error) { return r, nil },
		Emit: func(b *Block) error {
			if !slices.Equal(b.Columns, []string{"d", "c"}) {
				return fmt.Errorf("columns %q", b.Columns)
			}
			return nil
		}}
	if err := set.Read(strings.NewReader("x,y,c,d\n1,2,a,p\n"), "file"); err != nil {
		t.Error(err)
	}
	_, _, _, err = newRows(newColumns(), strings.NewReader("x,y,c\n1,2,a\n"), NewRows{Keep: []string{"label"}})
	datatest.CheckError(t, err, dataerr.ErrColumn, `no column "d"`)
	x, kept, _, err = newRows(newColumns(), strings.NewReader("x,y,c,d,a<b\n1,2,a,p,u\n"), NewRows{Keep: []string{"a<b"}})
	if err != nil || x.Rows != 1 || kept[0][0] != "u" {
		t.Errorf("a name with an operator: %v, %q", err, kept)
	}
	if _, _, _, err = newRows(newColumns(), strings.NewReader("x,y,c,d\n1,2,a,p\n"), NewRows{Keep: []string{"x<z"}}); !errors.Is(err, dataerr.ErrColumn) {
		t.Errorf("a condition without a number: %v", err)
	}
}

// A row in LIBSVM's format keeps its texts only if it is whole; a quote has no meaning.
func TestNewRowsLIBSVMChunks(t *testing.T) {
	p := &tabular.Preparation{Numbers: []int{2, 5}, Indices: 6}
	x, kept, _, err := newRows(p, strings.NewReader("1 2:1\n2:1\n"), NewRows{Keep: []string{"6", ""}})
	if !errors.Is(err, dataerr.ErrMissing) || x.Rows != 1 {
		t.Errorf("%d rows, kept %q, %v", x.Rows, kept, err)
	}
	for keep, want := range map[string][]string{"1": {"1"}, "2": {"1"}, "6": {"0"}} {
		if _, kept, _, err := newRows(p, strings.NewReader("1 1:3 2:1\n"), NewRows{Keep: []string{keep}}); err != nil || !slices.Equal(kept[0], want) {
			t.Errorf("%s: %q, %v", keep, kept, err)
		}
	}
	for _, keep := range []string{"0", "7", "x", "1x", "-1"} {
		if _, _, _, err := newRows(p, strings.NewReader("1 1:3 2:1\n"), NewRows{Keep: []string{keep}}); !errors.Is(err, dataerr.ErrColumn) {
			t.Errorf("keep %s: %v", keep, err)
		}
	}
	first := -1
	set := NewRows{Preparation: p, Work: func(_, r []float64) ([]float64, error) { return r, nil }, Emit: func(b *Block) error {
		if first < 0 {
			first = b.Rows
		}
		return nil
	}}
	const line = "1 2:1\n"
	if err := set.Read(strings.NewReader("# \"\n"+strings.Repeat(line, 3*recordio.ChunkBytes/len(line))), "file"); err != nil || first > recordio.ChunkBytes/len(line) {
		t.Errorf("a quote joins chunks: a block of %d rows, %v", first, err)
	}
	w := worker{results: set.newResults(2), texts: copies{}, rows: &sparseRows{SparseReader: recordio.SparseReader{Name: "file", Cols: 6}, place: make([]int, 6), preparation: &tabular.Preparation{}}}
	if err := w.do(recordio.Chunk{Text: []byte("1 2:1\n1 2:1"), Line: 4}, &Block{}); !errors.Is(err, recordio.ErrLongRecord) || err.(*dataerr.FileError).Line != 5 {
		t.Errorf("a line that does not end: %v", err)
	}
	if err := w.do(recordio.Chunk{Text: []byte("1 2:1\n1 2:1"), Line: 4, Last: true}, &Block{}); err != nil {
		t.Errorf("the last line: %v", err)
	}
}

// An error of one call of Work ends the reading, wherever the call comes.
func TestNewRowsOneError(t *testing.T) {
	broken := errors.New("broken pipe")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the calls come in order
	for name, tc := range map[string]struct {
		preparation *tabular.Preparation
		text        string
		calls       int
	}{
		"texts":    {newColumns(), "x,y,c,d\n" + strings.Repeat("1,2,a,p\n", 2*featureBytes/8/8+5), 3},
		"pictures": {nil, idxFile(2*(featureBytes/8/6) + 5), 3},
		"LIBSVM":   {&tabular.Preparation{Numbers: []int{2}, Indices: 2}, strings.Repeat("1 2:1\n", featureBytes/8+5), 2},
	} {
		for wrong := range tc.calls {
			call := -1
			set := NewRows{Preparation: tc.preparation, Pixels: 6, Emit: func(*Block) error { return nil },
				Work: func(features, results []float64) ([]float64, error) {
					if call++; call == wrong {
						return nil, broken
					}
					return results, nil
				}}
			if err := set.Read(strings.NewReader(tc.text), "file"); err != broken || call != wrong {
				t.Errorf("%s, call %d: %v after call %d", name, wrong, err, call)
			}
		}
	}
}

// TestNewRowsLIBSVM reads rows in LIBSVM's format, with and without labels.
func TestNewRowsLIBSVM(t *testing.T) {
	p := &tabular.Preparation{Numbers: []int{2, 5}, Indices: 6}
	text := "# begin\n+1 qid:3 2:0.5 5:2 6:1 # note\n\n2:1\r\n-1 5:4"
	x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
	if diff := cmp.Diff([]float64{0.5, 2, 1, 0, 0, 4}, x.Data); err != nil || diff != "" {
		t.Error(err, diff)
	}
	_, kept, _, err := newRows(p, strings.NewReader("+1 2:1 6:1\n-1 6:0\n"), NewRows{Keep: []string{"", "6"}})
	if diff := cmp.Diff([][]string{{"+1", "-1"}, {"1", "0"}}, kept); err != nil || diff != "" {
		t.Error(err, diff)
	}
	x, _, unknown, err := newRows(p, strings.NewReader("1 2:1 9:1\n"), NewRows{IgnoreUnknown: true})
	if diff := cmp.Diff([]float64{1, 0}, x.Data); err != nil || diff != "" || unknown != 1 {
		t.Error(err, diff, unknown)
	}
	for text, want := range map[string]error{
		"1 2:1\n1 7:1\n": dataerr.ErrIndex, "1 2:1\n:5 2:1\n": dataerr.ErrIndex, "1 2:1\nx 2:1\n": dataerr.ErrNumber, "1 2:1\n1 2:1 2:1\n": dataerr.ErrIndex, "1 2:1\n1 2\n": dataerr.ErrFormat, "": dataerr.ErrTruncated,
	} {
		x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
		if !errors.Is(err, want) || text != "" && !strings.Contains(err.Error(), "file: line 2: ") || x.Rows != min(1, len(text)) {
			t.Errorf("%q: %d rows, %v", text, x.Rows, err)
		}
	}
	if _, _, _, err := newRows(p, strings.NewReader("2:1\n"), NewRows{Keep: []string{""}}); !errors.Is(err, dataerr.ErrMissing) {
		t.Errorf("no label: %v", err)
	}
	if _, _, _, err := newRows(p, strings.NewReader("1 2:1\n"), NewRows{Keep: []string{"7"}}); !errors.Is(err, dataerr.ErrColumn) {
		t.Errorf("no such feature: %v", err)
	}
}

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

// idxFile returns an IDX file of pictures of 2 x 3 bytes.
func idxFile(rows int) string {
	header := []byte{0, 0, 8, 3, 0, 0, byte(rows >> 8), byte(rows), 0, 0, 0, 2, 0, 0, 0, 3}
	for i := range 6 * rows {
		header = append(header, byte(i%251))
	}
	return string(header)
}

func TestNewRowsPictures(t *testing.T) {
	const rows = 60000
	for name, text := range map[string]string{"plain": idxFile(rows), "gzip": string(datatest.Gzipped([]byte(idxFile(rows))))} {
		n := 0
		set := NewRows{Pixels: 6, Scale: 0.5,
			Work: func(features, results []float64) ([]float64, error) { return append(results, features...), nil },
			Emit: func(b *Block) error {
				for i, x := range b.Results {
					if want := float64((6*b.First+i)%251) * 0.5; x != want {
						return fmt.Errorf("number %d from row %d is %v, want %v", i, b.First, x, want)
					}
				}
				n += b.Rows
				return nil
			}}
		if err := set.Read(strings.NewReader(text), "file"); err != nil || n != rows {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
	set := NewRows{Pixels: 6, Work: func(_, results []float64) ([]float64, error) { return results, nil }, Emit: func(*Block) error { return nil }}
	for name, tc := range map[string]struct {
		text string
		want error
	}{
		"cut": {idxFile(9)[:60], dataerr.ErrTruncated}, "longer": {idxFile(9) + "x", dataerr.ErrTrailing}, "magic": {"P5 28 28", dataerr.ErrFormat},
		"empty": {"", dataerr.ErrTruncated}, "labels": {"\x00\x00\x08\x01\x00\x00\x00\x01\x05", dataerr.ErrFormat},
		"shape": {strings.Replace(idxFile(9), "\x00\x00\x00\x03\x00", "\x00\x00\x00\x04\x00", 1), dataerr.ErrFormat},
	} {
		if err := set.Read(strings.NewReader(tc.text), "file"); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// An IDX file of pictures of another size is named once.
func TestPicturesOfAnotherSize(t *testing.T) {
	set := NewRows{Preparation: &tabular.Preparation{Pictures: &tabular.PictureEncoding{Column: "picture", Height: 2, Width: 2, Channels: 1}},
		Work: func(_, results []float64) ([]float64, error) { return results, nil }, Emit: func(*Block) error { return nil }}
	err := set.Read(strings.NewReader(idxFile(9)), "new.idx")
	if want := "new.idx: wrong format: 2 x 3 pixels, and the training had 2 x 2; train with --size to resize pictures"; err == nil || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "new.idx") != 1 {
		t.Errorf("%v, want %q", err, want)
	}
}
