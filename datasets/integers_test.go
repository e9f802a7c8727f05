package datasets

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// standardizedTables returns two splits with a standardised number and two indicators.
func standardizedTables(numbers [2][]float64) *tabular.Tables {
	e := tabular.Encoding{Column: "age", Center: 41.3, Scale: 12.7}
	t := &tabular.Tables{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{e, {Column: "sex", Categories: []string{"a", "b"}}}}}
	for k, part := range []**tabular.Table{&t.Train, &t.Test} {
		d := &matrix.Dense{Rows: len(numbers[k]), Cols: 3}
		for i, v := range numbers[k] {
			d.Data = append(d.Data, (v-e.Center)/e.Scale, float64(i%2), float64(1-i%2))
		}
		*part = &tabular.Table{Features: d, Labels: make([]int, d.Rows)}
	}
	return t
}

func TestIntegers(t *testing.T) {
	tables := standardizedTables([2][]float64{{17, 90, 33}, {-12, 243}})
	list := alone(tables)
	if len(list) != 2 {
		t.Fatalf("%d parts", len(list))
	}
	if diff := cmp.Diff([]uint8{29, 0, 255, 102, 255, 0, 45, 0, 255}, list[0].Values.Data); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{-12, 0, 0}, list[0].First); diff != "" {
		t.Error(diff)
	}
	for k, p := range tables.Parts() {
		rows, cols := p.Features.Dims()
		got, want := make([]float64, rows*cols), make([]float64, rows*cols)
		list[k].Float64(got, 0, rows)
		p.Features.Float64(want, 0, rows)
		single, wanted := make([]float32, cols), make([]float32, cols)
		list[k].Float32(single, rows-1, rows)
		p.Features.Float32(wanted, rows-1, rows)
		if !cmp.Equal(got, want) || !cmp.Equal(single, wanted) {
			t.Errorf("part %d differs", k)
		}
	}
}

func TestNoIntegers(t *testing.T) {
	for name, tables := range map[string]*tabular.Tables{
		"a fraction":   standardizedTables([2][]float64{{17, 90.5}, {1}}),
		"257 numbers":  standardizedTables([2][]float64{{0, 90}, {256}}),
		"a NaN":        standardizedTables([2][]float64{{0, 90}, {math.NaN()}}),
		"sparse rows":  {Train: &tabular.Table{Features: &matrix.CSR{Rows: 2, Cols: 5, Starts: []int{0, 1, 2}, Columns: []int32{1, 3}}, Labels: []int{1, -1}}},
		"large values": {Train: &tabular.Table{Features: &matrix.Dense{Rows: 1, Cols: 1, Data: []float64{1e300}}, Labels: []int{1}}},
	} {
		list := alone(tables)
		if name == "large values" { // a single value is within the range of 256
			if list == nil || list[0].First[0] != 1e300 {
				t.Errorf("%s: %v", name, list)
			}
			continue
		}
		if list != nil {
			t.Errorf("%s are bytes", name)
		}
	}
	full := &tabular.Tables{Train: &tabular.Table{Features: &matrix.CSR{Rows: 2, Cols: 2, Starts: []int{0, 1, 3}, Columns: []int32{1, 0, 1}, Values: []float64{7, 3, 255}},
		Labels: []int{1, -1}}}
	if list := alone(full); list == nil || !cmp.Equal(list[0].Values.Data, []uint8{0, 0, 255, 248}) {
		t.Errorf("sparse rows that are full: %+v", list)
	}
}

// alone returns the integers of a table of one process.
func alone(t *tabular.Tables) []*matrix.Integers {
	list, err := loader.Integers(t, nil)
	if err != nil {
		panic(err)
	}
	return list
}

// Processes that share a table find the integers of one process, each those of its own rows. A
// fraction, or a range beyond 256, in the rows of one process is found by all.
func TestSharedIntegers(t *testing.T) {
	for name, last := range map[string]string{"integers": "40,1,b,0", "a fraction": "40.5,1,b,0", "a range": "400,1,b,0"} {
		text := datatest.RowsText("x,z,c,y", 600, func(i int) string {
			if i == 599 {
				return last
			}
			return fmt.Sprintf("%d,%d,%c,%d", 3+i/20, i*i%7, "ab"[i%2], i/3%2)
		})
		opts := tabular.TableOptions{File: filepath.Join(t.TempDir(), "rows.csv"), Label: "y"}
		datatest.Write(t, "", opts.File, []byte(text))
		one := loaded(t, "csv", opts)
		want := alone(one)
		if (want != nil) != (name == "integers") {
			t.Fatalf("%s: one process finds integers: %v", name, want != nil)
		}
		_, errs := shared(t, 3, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
			own := opts
			own.Share = s
			tables, err := LoadTable("", "csv", own)
			if err != nil {
				return nil, err
			}
			got, err := loader.Integers(tables, s)
			if (got != nil) != (want != nil) {
				t.Errorf("%s, process %d: integers %v", name, rank, got != nil)
			}
			for k, x := range got {
				part := tables.Parts()[k].Features.(*matrix.Part)
				rows, cols := part.Own.Dims()
				of := matrix.NewEightBitPart(part.Rows, part.From, x.Values)
				for i := range rows {
					if a, b := of.ByteRow(part.From+i, nil), want[k].Values.Data[(part.From+i)*cols:][:cols]; !slices.Equal(a, b) {
						t.Errorf("process %d, row %d: %v, want %v", rank, part.From+i, a, b)
					}
				}
				own := *x
				if own.Values = want[k].Values; !reflect.DeepEqual(&own, want[k]) {
					t.Errorf("process %d: %+v, want %+v", rank, own.Stretch, want[k].Stretch)
				}
			}
			return tables, err
		})
		require.NoError(t, errors.Join(errs...))
	}
}

// Processes join their bounds. All find a fraction or a range beyond 256 of one of them, and none
// in a process without rows.
func TestJoinBounds(t *testing.T) {
	none, inf := math.Inf(-1), math.Inf(1)
	for name, c := range map[string]struct {
		exact       [3]bool
		first, last [3][]float64
		want        bool
	}{
		"255 apart":        {[3]bool{true, true, true}, [3][]float64{{0, 250}, {inf, inf}, {-5, 200}}, [3][]float64{{250, 400}, {none, none}, {9, 455}}, true},
		"256 apart, first": {[3]bool{true, true, true}, [3][]float64{{0, 1}, {-5, 2}, {1, 1}}, [3][]float64{{250, 2}, {251, 3}, {2, 2}}, false},
		"256 apart, last":  {[3]bool{true, true, true}, [3][]float64{{0, 1}, {5, 2}, {1, 250}}, [3][]float64{{250, 2}, {25, 3}, {2, 257}}, false},
		"fraction":         {[3]bool{false, true, true}, [3][]float64{{0, 1}, {5, 2}, {1, 2}}, [3][]float64{{9, 2}, {25, 3}, {2, 7}}, false},
		"last fraction":    {[3]bool{true, true, false}, [3][]float64{{0, 1}, {5, 2}, {1, 2}}, [3][]float64{{9, 2}, {25, 3}, {2, 7}}, false},
	} {
		_, errs := shared(t, 3, 1, func(rank int, s tabular.Share) (*tabular.Tables, error) {
			first, last := slices.Clone(c.first[rank]), slices.Clone(c.last[rank])
			all, err := loader.JoinBounds(s, c.exact[rank], first, last)
			for j := range first {
				least, most := min(c.first[0][j], c.first[1][j], c.first[2][j]), max(c.last[0][j], c.last[1][j], c.last[2][j])
				if all != c.want || first[j] != least || last[j] != most {
					t.Errorf("%s, process %d: %t, column %d from %v to %v", name, rank, all, j, first[j], last[j])
				}
			}
			return nil, err
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}
