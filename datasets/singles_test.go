package datasets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// gradedRows returns rows in LIBSVM's format, ten of each query, and the elements. The share of
// elements that are not 0 is first in the first half of the rows and second in the rest. The last
// row alone has the last of cols columns.
func gradedRows(rows, cols int, first, second float64) (text string, x [][]float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for i := range rows {
		share, row := first, make([]float64, cols)
		if i >= rows/2 {
			share = second
		}
		fmt.Fprintf(&b, "%d qid:%d", rng.IntN(3), i/10)
		for j := range cols {
			if j == cols-1 && i < rows-1 {
				break
			}
			if rng.Float64() < share || j == cols-1 {
				row[j] = math.Round(1e4*rng.NormFloat64())/1e3 + float64(j)
				fmt.Fprintf(&b, " %d:%v", j+1, row[j])
			}
		}
		b.WriteByte('\n')
		x = append(x, row)
	}
	return b.String(), x
}

// Rows of queries of which at least a third of the elements is set are standardised float32, in
// every split and wherever the dense rows begin; other rows are entries as they are. Rows in pages
// are the same.
func TestSingles(t *testing.T) {
	require.NoRace(t, "TestPagesGiveTheSameTable, and the tests of internal/loader, run the same goroutines")
	for _, test := range []struct {
		rows, cols    int
		first, second float64
		dense         bool
	}{
		{400, 9, 0.9, 0.9, true}, {400, 9, 0.2, 0.2, false}, {9000, 60, 0.1, 0.9, true}, {9000, 60, 0.45, 0.1, false}, {9000, 60, 1, 0.2, true},
	} {
		text, x := gradedRows(test.rows, test.cols, test.first, test.second)
		o := tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.txt", []byte(text)), Query: "qid", Ignore: []string{"2"}, Seed: 5}
		tables := loaded(t, "libsvm", o)
		if _, dense := tables.Train.Features.(*matrix.Singles); dense != test.dense {
			t.Fatalf("%+v: %T", test, tables.Train.Features)
		}
		center, scale := make([]float64, test.cols), slices.Repeat([]float64{1}, test.cols)
		if test.dense {
			for j := range test.cols {
				for _, i := range tables.Train.Source {
					center[j] += float64(float32(x[i][j])) / float64(len(tables.Train.Source))
				}
				squares := 0.0
				for _, i := range tables.Train.Source {
					squares += (float64(float32(x[i][j])) - center[j]) * (float64(float32(x[i][j])) - center[j])
				}
				if scale[j] = math.Sqrt(squares / float64(len(tables.Train.Source))); scale[j] == 0 {
					scale[j] = 1
				}
			}
		}
		for _, p := range tables.Parts() {
			row := make([]float64, test.cols-1)
			for k, i := range p.Source {
				p.Features.Float64(row, k, k+1)
				raw := slices.Delete(slices.Clone(x[i]), 1, 2)
				if tables.Preparation.Singly(raw); test.dense && !slices.Equal(raw, row) {
					t.Fatalf("%+v: new rows have the features %v, the rows of the run %v", test, raw, row)
				}
				for j, v := range slices.Delete(slices.Clone(x[i]), 1, 2) {
					of := j
					if j > 0 {
						of++
					}
					if want := (v - center[of]) / scale[of]; math.Abs(row[j]-want) > 1e-5*max(1, math.Abs(want)) {
						t.Fatalf("%+v: %s row %d, column %d: %v, want %v", test, p.Name, i, of, row[j], want)
					}
				}
			}
		}
		if got := fmt.Sprint(tables.Train.Columns[:2]); got != "[1 3]" || len(tables.Preparation.Columns()) != test.cols-1 {
			t.Errorf("columns %s", got)
		}
	}
}

// The groups, the attributes and the sensitive features of rows of floats are those of entries.
func TestGroupsOfSingles(t *testing.T) {
	text, x := gradedRows(600, 6, 0.6, 0.6)
	var twin strings.Builder // column 7 is set where column 1 is not
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if twin.WriteString(line); x[i][0] == 0 {
			twin.WriteString(" 7:2")
		}
		twin.WriteByte('\n')
	}
	o := tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.txt", []byte(twin.String())), Query: "qid", Groups: []string{"1"}, Attributes: []string{"3"}, DropSensitive: true}
	tables := loaded(t, "libsvm", o)
	if got := fmt.Sprint(tables.Train.Columns); got != "[2 4 5 6]" {
		t.Errorf("features %s", got)
	}
	for k, i := range tables.Test.Source {
		if in := slices.Contains(tables.Test.Groups[0].Rows, k); in != (x[i][0] != 0) || (tables.Test.Attributes[0].Of[k] == 0) != (x[i][2] != 0) {
			t.Errorf("row %d: in the group %t, attribute %d", i, in, tables.Test.Attributes[0].Of[k])
		}
	}
}

// Arrange puts rows into any order.
func TestArrange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 9 {
		for range 50 {
			m, order := matrix.NewSingles(n, 3), rng.Perm(n)
			for i := range m.Data {
				m.Data[i] = float32(i)
			}
			m.Arrange(order)
			for k, i := range order {
				if want := []float32{float32(3 * i), float32(3*i + 1), float32(3*i + 2)}; !slices.Equal(m.Row(k), want) {
					t.Fatalf("order %v: row %d is %v, want %v", order, k, m.Row(k), want)
				}
			}
		}
	}
}
