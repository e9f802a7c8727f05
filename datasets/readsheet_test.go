package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/racing"
)

// Rows of several chunks are in the order of the file, with its categories and row numbers, also if
// rows are dropped.
func TestReadSheetChunks(t *testing.T) {
	const rows = 60000
	category := func(i int) string { return fmt.Sprintf("k%03d", (i/1000*37+i%5)%200) } // other categories in each chunk
	var text strings.Builder
	text.WriteString("x,c,free,gap\n")
	for i := range rows {
		gap := "1"
		if i%7 == 3 {
			gap = "?"
		}
		fmt.Fprintf(&text, "%d.5,%s,%d,%s\n", i, category(i), rows-i, gap)
	}
	for _, drop := range []bool{false, true} {
		s, err := columnar.ReadSheet(strings.NewReader(text.String()), "file", &columnar.Schema{Absent: []string{"?"}, Drop: drop, Columns: []columnar.ColumnSpec{
			{Name: "x", Numeric: true}, {Name: "c"}, {Name: "free", Many: true, Guess: true}, {Name: "gap", Numeric: true, Missing: !drop},
		}})
		if err != nil {
			t.Fatal(err)
		}
		row := 0
		for i := range rows {
			missing := i%7 == 3
			if drop && missing {
				continue
			}
			x, c, free, gap := s.Columns[0], s.Columns[1], s.Columns[2], s.Columns[3]
			if x.Numbers[row] != float64(i)+0.5 || c.Text(row) != category(i) || free.Numbers[row] != float64(rows-i) ||
				math.IsNaN(gap.Numbers[row]) != missing || s.Number(row) != i {
				t.Fatalf("drop %v: row %d: %v, %s, %v, %v, number %d", drop, i, x.Numbers[row], c.Text(row), free.Numbers[row], gap.Numbers[row], s.Number(row))
			}
			row++
		}
		if s.Rows != row {
			t.Errorf("drop %v: %d rows, want %d", drop, s.Rows, row)
		}
	}
}

// The first value that makes too many categories is reported, of all columns and chunks, unless
// another error precedes it.
func TestReadSheetFirstOfTooManyCategories(t *testing.T) {
	racing.Skip(t, "TestReadSheetChunks runs the same goroutines")
	const rows = 30000
	text := func(first, second, wrong int) string {
		var text strings.Builder
		text.WriteString("a,b,x\n")
		category := func(i, most int) string { // the row most has one category too many
			if i < most {
				return fmt.Sprint("k", i%columnar.MaxCategories)
			}
			return fmt.Sprint("n", i-most)
		}
		for i := range rows {
			x := "0"
			if i == wrong {
				x = "zero"
			}
			fmt.Fprintf(&text, "%s,%s,%s\n", category(i, first), category(i, second), x)
		}
		return text.String()
	}
	for _, tc := range []struct {
		first, second, wrong int
		want                 error
		line, column         int
	}{
		{20000, 20100, rows, dataerr.ErrColumn, 20002, 1},
		{20100, 20000, rows, dataerr.ErrColumn, 20002, 2},
		{20000, 20000, rows, dataerr.ErrColumn, 20002, 1},
		{20000, 20000, 20000, dataerr.ErrColumn, 20002, 1},
		{20000, 20000, 19999, dataerr.ErrNumber, 20001, 3},
		{20000, 20000, 20001, dataerr.ErrColumn, 20002, 1},
	} {
		_, err := columnar.ReadSheet(strings.NewReader(text(tc.first, tc.second, tc.wrong)), "file",
			&columnar.Schema{Columns: []columnar.ColumnSpec{{Name: "a"}, {Name: "b"}, {Name: "x", Numeric: true}}})
		var at *dataerr.FileError
		if !errors.As(err, &at) || !errors.Is(err, tc.want) || at.Line != tc.line || at.Column != tc.column {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// The row of a number that is too large is found in any block of rows.
func TestFirstInfiniteFeature(t *testing.T) {
	const rows, wrong = 50000, 30000
	s := &columnar.Sheet{Name: "file", Rows: rows, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, rows)}, {Name: "z", Numbers: make([]float64, rows)}}}
	s.Columns[1].Numbers[wrong], s.Columns[0].Numbers[wrong+9] = 1e300, 1e300
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1e-10}, {Column: "z", Scale: 1e-10}}}
	all := make([]int, rows)
	for i := range all {
		all[i] = i
	}
	_, err := loader.MakeFeatures(p, s, all)
	checkFileError(t, err, dataerr.ErrNumber, fmt.Sprintf(`row %d of "z" is out of range once standardised`, wrong+1))
	_, err = loader.NewEncodedRows(p, s, all)
	checkFileError(t, err, dataerr.ErrNumber, fmt.Sprintf(`row %d of "z" is out of range once standardised`, wrong+1))
	defer func() {
		if recover() == nil {
			t.Error("a wrong number of elements is accepted")
		}
	}()
	m, err := loader.NewEncodedRows(p, s, all[:10])
	if err != nil {
		t.Fatal(err)
	}
	m.Float64(make([]float64, 5), 0, 2)
}

// Features of each number of rows around a block, and the row of an infinite feature that begins a
// block.
func TestFeatureBlocks(t *testing.T) {
	const height = loader.FeatureBlock / 8
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Center: 1, Scale: 2}}}
	for rows := height - 1; rows <= height+1; rows++ {
		s := &columnar.Sheet{Name: "file", Rows: rows, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, rows)}}}
		all := make([]int, rows)
		for i := range all {
			all[i], s.Columns[0].Numbers[i] = i, float64(i)
		}
		inMemory, err := loader.MakeFeatures(p, s, all)
		if err != nil {
			t.Fatal(err)
		}
		onDemand, err := loader.NewEncodedRows(p, s, all)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, rows)
		onDemand.Float64(got, 0, rows)
		for i := range all {
			if want := (float64(i) - 1) / 2; inMemory.Data[i] != want || got[i] != want {
				t.Fatalf("%d rows: row %d is %v and %v, want %v", rows, i, inMemory.Data[i], got[i], want)
			}
		}
		if rows > height {
			all[height], s.Columns[0].Numbers[height] = 0, 1
			all[0], s.Columns[0].Numbers[0] = height, math.MaxFloat64
			p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1e-10}}}
			_, err := loader.MakeFeatures(p, s, all)
			checkFileError(t, err, dataerr.ErrNumber, `row 1 of "x" is out of range once standardised`)
			_, err = loader.NewEncodedRows(p, s, all)
			checkFileError(t, err, dataerr.ErrNumber, `row 1 of "x" is out of range once standardised`)
		}
	}
}

// The features of a part are kept if they are at most DenseFeatures, and else made from the columns
// on demand.
func TestFeaturesOfLargePartsAreNotKept(t *testing.T) {
	s := &columnar.Sheet{Rows: 9, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, 9)}}}
	e := &loader.Encoded{Sheet: s, By: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}, Names: make([]string, loader.DenseFeatures/8)}
	for rows, kept := range map[int]bool{8: true, 9: false} {
		m, err := e.Take(make([]int, rows))
		if err != nil {
			t.Fatal(err)
		}
		if _, dense := m.(*matrix.Dense); dense != kept {
			t.Errorf("%d rows of %d features: %T", rows, len(e.Names), m)
		}
	}
}

// A schema's attributes read further columns, each once; they become numbers if all texts are.
func TestReadSheetAttributes(t *testing.T) {
	s := peopleSchema()
	s.Attributes = []string{"age<20", "id", "id>2", "town=Ulm"}
	got, err := columnar.ReadSheet(strings.NewReader(people), "people", s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"age", "wage", "job", "town", "id"}, got.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 4}, got.Column("id").Numbers); diff != "" {
		t.Error(diff)
	}
	// a row is dropped only if it lacks a value that may not be missing
	s.Drop, s.Columns[2].Categories, s.Attributes = true, nil, nil
	got, err = columnar.ReadSheet(strings.NewReader(strings.Replace(people, "clerk", "?", 1)), "people", s)
	if err != nil || got.Rows != 3 || got.Number(2) != 2 {
		t.Errorf("dropped rows: %+v, %v", got, err)
	}
	s.Attributes = []string{"towns=Ulm"}
	_, err = columnar.ReadSheet(strings.NewReader(people), "people", s)
	datatest.CheckError(t, err, dataerr.ErrGroup, `no column "towns"`)
}

// A table whose columns lie in files is the table in memory.
func TestPagesGiveTheSameTable(t *testing.T) {
	dir := t.TempDir()
	text := func(rows, seed int) []byte {
		var text strings.Builder
		text.WriteString("when,x,c,free,y\n")
		for i := seed; i < seed+rows; i++ {
			x := fmt.Sprint(i * i % 1009)
			if i%11 == 0 {
				x = "NA"
			}
			fmt.Fprintf(&text, "2024-%02d-%02d,%s,%s,%d,%d\n", 1+i%12, 1+i%28, x, []string{"b", "a", "", "c"}[i/4%4], i%5, i/3%2)
		}
		return []byte(text.String())
	}
	pages, err := mapped.New(dir, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	opts := tabular.TableOptions{File: datatest.Write(t, dir, "own.csv", text(15000, 0)), TestFile: datatest.Write(t, dir, "test.csv", text(3000, 7)), Label: "y", Dates: tabular.DatesExpanded,
		Groups: []string{"c"}, Attributes: []string{"free", "x<500"}, Features: []string{"when", "x", "c"}}
	for _, missing := range []string{tabular.MissingFlagged, tabular.MissingDropped} {
		opts.Missing, opts.Pages = missing, nil
		want, err := LoadTable("", "csv", opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Pages = pages
		got, err := LoadTable("", "csv", opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := got.Train.Features.(*loader.EncodedRows); !ok || pages.Bytes() < 15000*(6*8+4) {
			t.Errorf("%s: features %T, %d bytes", missing, got.Train.Features, pages.Bytes())
		}
		list := []int{7, 3, 3, 5000, 0}
		for i := range 3000 {
			list = append(list, i*3001%5000)
		}
		_, cols := got.Train.Features.Dims()
		some, same := make([]float64, len(list)*cols), make([]float64, len(list)*cols)
		matrix.Pick(got.Train.Features, list).Float64(some, 0, len(list))
		for k, i := range list {
			want.Train.Features.Float64(same[k*cols:(k+1)*cols], i, i+1)
		}
		if !slices.Equal(some, same) {
			t.Error("listed rows differ")
		}
		if diff := cmp.Diff(want.Preparation, got.Preparation) + cmp.Diff(want.Uses, got.Uses); diff != "" {
			t.Errorf("%s: %s", missing, diff)
		}
		for k, p := range want.Parts() {
			own := got.Parts()[k]
			rows, cols := p.Features.Dims()
			x, y := make([]float64, rows*cols), make([]float64, rows*cols)
			p.Features.Float64(x, 0, rows)
			own.Features.Float64(y, 0, rows)
			single, wanted := make([]float32, cols), make([]float32, cols)
			own.Features.Float32(single, rows-1, rows)
			own.Features.Float32(nil, rows, rows)
			p.Features.Float32(wanted, rows-1, rows)
			if !slices.Equal(x, y) || !slices.Equal(single, wanted) || own.Table.SHA256() != p.Table.SHA256() {
				t.Errorf("%s, %s: the features differ", missing, p.Name)
			}
			if diff := cmp.Diff(p.Groups, own.Groups, alike) + cmp.Diff(p.Attributes, own.Attributes, alike) + cmp.Diff(p.Labels, own.Labels, alike) + cmp.Diff(p.Source, own.Source, alike); diff != "" {
				t.Errorf("%s, %s: %s", missing, p.Name, diff)
			}
		}
	}
}

// A folder that is gone is an error of the table whose columns need it: at the end of short
// columns, and in the rows of long columns, before the error of a later row.
func TestPagesWithoutFolder(t *testing.T) {
	for rows, rest := range map[int]string{10: "", 40000: "cut\n"} {
		for _, column := range []string{"1", "a"} {
			dir := t.TempDir()
			pages, err := mapped.New(dir, 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			_, err = columnar.ReadSheet(strings.NewReader("x,y\n"+strings.Repeat(column+",\n", rows)+rest), "file", &columnar.Schema{Pages: pages, Layout: tabular.Layout{Separator: ","},
				Columns: []columnar.ColumnSpec{{Name: "x", Numeric: column == "1"}}})
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d rows of %s: %v", rows, column, err)
			}
		}
	}
}

// A column without values knows its categories and whether a value of any chunk is missing, and its
// memory does not grow.
func TestReadSheetSummary(t *testing.T) {
	text := "c,x,y\na,NA,1\n" + strings.Repeat("b,1,1\n", 60000) + "NA,1,1\n"
	specs := []columnar.ColumnSpec{{Name: "c", Missing: true, Summary: true}, {Name: "x", Numeric: true, Missing: true, Summary: true},
		{Name: "y", Numeric: true, Missing: true, Summary: true}}
	s, err := columnar.ReadSheet(strings.NewReader(text), "file", &columnar.Schema{Absent: []string{"NA"}, Columns: specs})
	if err != nil || s.Rows != 60002 {
		t.Fatal(s, err)
	}
	for i, lacks := range []bool{true, true, false} {
		if c := s.Columns[i]; c.Lacks != lacks || c.Numbers != nil || c.Codes != nil {
			t.Errorf("%s: values are missing: %t, %d numbers, %d codes", c.Name, c.Lacks, len(c.Numbers), len(c.Codes))
		}
	}
	if !slices.Equal(s.Columns[0].Values, []string{"a", "b"}) {
		t.Error(s.Columns[0].Values)
	}
	numbers, codes := []float64{1, 2}, []int32{3}
	p := &columnar.SheetPart{Columns: []columnar.ColumnPart{{Numbers: numbers, Codes: codes, Places: codes, Lacks: true}}, Codes: []map[string]int32{{}}}
	p.Begin(&columnar.SheetReader{Specs: specs[1:2]})
	if c := p.Columns[0]; len(c.Numbers)+len(c.Codes)+len(c.Places) > 0 || cap(c.Numbers) != cap(numbers) || cap(c.Codes) != cap(codes) || c.Lacks {
		t.Errorf("a part begins with %+v", c)
	}
}
