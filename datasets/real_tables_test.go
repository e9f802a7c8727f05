package datasets

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// TestRealTablesGolden checks the published files, split with the first seed.
func TestRealTablesGolden(t *testing.T) {
	dir := datatest.RealData(t)
	var got bytes.Buffer
	for _, name := range []string{"adult", "bank", "compas", "communities"} {
		report := require.Value(Check(context.Background(), dir, name, tabular.TableOptions{Seed: 1}))(t)
		for _, f := range report.Files {
			if f.State != Original {
				t.Errorf("%s: %v, %s", f.File.Path, f.State, f.Note)
			}
		}
		if d := report.Dataset; d.Features != len(report.Tables.Train.Columns) || !slices.Equal(d.Classes, report.Tables.Train.Classes) {
			t.Errorf("the registry says %d features, classes %q", d.Features, d.Classes)
		}
		fmt.Fprintln(&got, name)
		describe(&got, report.Tables)
	}
	require.Golden(t, "testdata/tables.golden", got.Bytes())
}

func TestRealAdult(t *testing.T) {
	opts := tabular.TableOptions{Split: tabular.Split{Train: 100}}
	tables := require.Value(LoadTable(datatest.RealData(t), "adult", opts))(t)
	x := tables.Train.Features.(*matrix.CSR)
	if x.Rows != 32561+16281 || x.Cols != 123 || x.Values != nil {
		t.Errorf("%d rows, %d columns, %d values", x.Rows, x.Cols, len(x.Values))
	}
	if c := tables.Train.ClassCounts(); !slices.Equal(c, []int{37155, 11687}) {
		t.Errorf("classes %v", c)
	}
	if last := slices.Max(x.Columns[x.Starts[32561]:]); last != 121 {
		t.Errorf("a9a.t's last feature is %d", last+1)
	}
	counts := make([]int, 123)
	for _, j := range x.Columns {
		counts[j]++
	}
	var want []int // counts of all blocks; no row has two entries in the same block
	for _, block := range adultBlocks {
		first := len(want)
		want = append(want, block.counts...)
		for i := range x.Rows {
			row := x.Columns[x.Starts[i]:x.Starts[i+1]]
			from, _ := slices.BinarySearch(row, int32(first))
			to, _ := slices.BinarySearch(row, int32(len(want)))
			if to-from > 1 {
				t.Fatalf("row %d has %d entries of %s", i, to-from, block.name)
			}
		}
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
}

// countCategories returns the number of rows of every category, column by column.
func countCategories(s *columnar.Sheet) map[string][]int {
	counts := map[string][]int{}
	for _, c := range s.Columns {
		if c.Codes == nil || c.Name == crimeLabel {
			continue
		}
		counts[c.Name] = make([]int, len(c.Values))
		for _, code := range c.Codes {
			counts[c.Name][code]++
		}
	}
	return counts
}

// TestRealBank checks that the stand-in has the frequencies of Bank's categories.
func TestRealBank(t *testing.T) {
	s := require.Value(readBank(filepath.Join(datatest.RealData(t), filepath.FromSlash(bankPath)), nil))(t)
	if diff := cmp.Diff(countCategories(drawBank(1)), countCategories(s)); diff != "" {
		t.Error(diff)
	}
	unknown, never, within, upTo60 := 0, 0, 0, 0
	for i := range s.Rows {
		if slices.ContainsFunc(s.Columns, func(c *columnar.Column) bool { return c.Codes != nil && c.Text(i) == "unknown" }) {
			unknown++
		}
		if s.Column("pdays").Numbers[i] == 999 {
			never++
		}
		if age := s.Column("age").Numbers[i]; age >= 25 && age <= 60 {
			upTo60++
			if age < 60 {
				within++
			}
		}
	}
	if got, want := [5]int{s.Rows, unknown, never, within, upTo60}, [5]int{41188, 10700, 39673, 38927, 39210}; got != want {
		t.Errorf("rows, with unknown, never called, of age 25 to 59, to 60: %v, want %v", got, want)
	}
}

// TestRealCompas checks that the stand-in has the frequencies of COMPAS's categories.
func TestRealCompas(t *testing.T) {
	path := filepath.Join(datatest.RealData(t), filepath.FromSlash(compasPath))
	s := require.Value(readCompas(path, nil))(t)
	got := countCategories(s)
	for _, filter := range compasFilter {
		delete(got, filter.Name)
	}
	got["c_charge_degree"] = got["c_charge_degree"][:2] // category O has no rows
	if diff := cmp.Diff(countCategories(drawCompas(1)), got); diff != "" {
		t.Error(diff)
	}
	all := require.Value(columnar.ReadSheetFile(path, &columnar.Schema{Absent: []string{""}, Columns: compasFilter[:1]}))(t)
	blank := 0
	for _, x := range all.Columns[0].Numbers {
		if math.IsNaN(x) {
			blank++
		}
	}
	if all.Rows != 7214 || blank != 307 || s.Rows != 6172 {
		t.Errorf("%d rows, %d blank, %d left", all.Rows, blank, s.Rows)
	}
}

// The header repeats names. The columns are equal, so the first can be used.
func TestRealCompasRepeatedColumns(t *testing.T) {
	f, err := recordio.OpenSteady(filepath.Join(datatest.RealData(t), filepath.FromSlash(compasPath)))
	require.NoError(t, err)
	defer f.Close()
	d, err := recordio.NewDelimited(f, compasPath, tabular.Layout{Separator: ","})
	require.NoError(t, err)
	first := map[string]int{}
	var pairs [][2]int
	for field, name := range d.Header {
		if other, ok := first[name]; ok {
			pairs = append(pairs, [2]int{other, field})
		}
		first[name] = field
	}
	if len(pairs) != 2 {
		t.Errorf("repeated columns %v", pairs)
	}
	err = eachRow(d, func(row []string) error {
		for _, p := range pairs {
			if row[p[0]] != row[p[1]] {
				return fmt.Errorf("columns %v hold %q and %q", p, row[p[0]], row[p[1]])
			}
		}
		return nil
	})
	require.NoError(t, err)
}

func TestRealCommunities(t *testing.T) {
	s := require.Value(readCommunities(filepath.Join(datatest.RealData(t), filepath.FromSlash(communitiesPath)), nil))(t)
	for _, e := range communitiesDesign().Encodings {
		missing, want := 0, 0
		for _, x := range s.Column(e.Column).Numbers {
			if math.IsNaN(x) {
				missing++
			}
		}
		switch {
		case e.Column == "OtherPerCap":
			want = 1
		case e.Missing:
			want = 1675
		}
		if missing != want {
			t.Errorf("%s misses %d values, want %d", e.Column, missing, want)
		}
	}
	crime := slices.Clone(s.Column(crimeColumn).Numbers)
	slices.Sort(crime)
	mean := 0.0
	for _, x := range crime {
		mean += x / float64(len(crime))
	}
	if s.Rows != 1994 || math.Abs(mean-0.238) > 5e-4 || loader.Quantile(crime, 70) != crimeThreshold {
		t.Errorf("%d rows, mean %.4f, 70th percentile %v", s.Rows, mean, loader.Quantile(crime, 70))
	}
	// With all rows in the training split, the groups use the quantiles of all rows.
	tables := require.Value(LoadTable(datatest.RealData(t), "communities", tabular.TableOptions{Split: tabular.Split{Train: 100}}))(t)
	note := "848 of 1000 intersectional groups have more than 1 % of the training rows; 636 of them differ."
	if diff := cmp.Diff(note, tables.Notes[1]); diff != "" || !slices.Equal(tables.Train.ClassCounts(), []int{1386, 608}) {
		t.Error(diff, tables.Train.ClassCounts())
	}
}

func BenchmarkReal(b *testing.B) {
	for _, name := range []string{"adult", "bank", "compas", "communities"} {
		b.Run(name, func(b *testing.B) {
			dir := datatest.RealData(b)
			b.ReportAllocs()
			for b.Loop() {
				require.Value(LoadTable(dir, name, tabular.TableOptions{Seed: 1}))(b)
			}
		})
	}
}

func TestRealFashionMNIST(t *testing.T) {
	report := require.Value(Check(context.Background(), datatest.RealData(t), "fashion-mnist", tabular.TableOptions{Seed: 0}))(t)
	if diff := cmp.Diff([]State{Original, Original, Original, Original}, states(report)); diff != "" {
		t.Errorf("%s %v", diff, report.Files)
	}
	if diff := cmp.Diff(&Counts{60000, slices.Repeat([]int{6000}, 10)}, report.Train); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&Counts{10000, slices.Repeat([]int{1000}, 10)}, report.Test); diff != "" {
		t.Error(diff)
	}
	if len(report.Warnings) > 0 {
		t.Error(report.Warnings)
	}
}

// The published mean and standard deviation of one Fashion-MNIST pixel are
// 0.2860 and 0.3530; about the columns' means the deviation is smaller.
func TestRealFashionMNISTMoments(t *testing.T) {
	train, _, err := LoadImages(datatest.RealData(t), "fashion-mnist", 0)
	require.NoError(t, err)
	center, deviation := matrix.Moments(train.Pixels)
	mean := 0.0
	for _, c := range center {
		mean += c / float64(len(center))
	}
	within := 0.0 // variance of the columns' means, which deviation leaves out
	for _, c := range center {
		within += (c - mean) * (c - mean) / float64(len(center))
	}
	if got := deviation*deviation + within; mean < 0.28603 || mean > 0.28605 || got < 0.35302*0.35302 || got > 0.35303*0.35303 {
		t.Errorf("mean %v, variance %v", mean, got)
	}
}

// Reading allocates the result and at most about one additional copy.
func TestRealFashionMNISTMemory(t *testing.T) {
	dir := datatest.RealData(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	train, test, err := LoadImages(dir, "fashion-mnist", 0)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	result := uint64(len(train.Pixels.Data) + len(test.Pixels.Data))
	if total := after.TotalAlloc - before.TotalAlloc; total > 5*result/2 {
		t.Errorf("allocated %d bytes for %d bytes of pixels", total, result)
	}
}

// The CIFAR-10 files may be the published files or a subset (classes 0 to 3, decoded from JPEG
// copies).
func TestRealCIFAR10(t *testing.T) {
	report := require.Value(Check(context.Background(), datatest.RealData(t), "cifar10", tabular.TableOptions{Seed: 0}))(t)
	train, test := &Counts{50000, slices.Repeat([]int{5000}, 10)}, &Counts{10000, slices.Repeat([]int{1000}, 10)}
	if report.Files[0].State == Different {
		clear(train.PerClass[4:])
		clear(test.PerClass[4:])
		train.Rows, test.Rows = 20000, 4000
		if len(report.Warnings) != 2 {
			t.Errorf("warnings %q", report.Warnings)
		}
	}
	if diff := cmp.Diff(train, report.Train); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(test, report.Test); diff != "" {
		t.Error(diff)
	}
	t.Log(report.Warnings, report.Files[0].Note)
}
