package datasets

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// standardizedTables returns two splits with a standardised number and two indicators.
func standardizedTables(numbers [2][]float64) *Tables {
	e := Encoding{Column: "age", Center: 41.3, Scale: 12.7}
	t := &Tables{Preparation: &Preparation{Encodings: []Encoding{e, {Column: "sex", Categories: []string{"a", "b"}}}}}
	for k, part := range []**Table{&t.Train, &t.Test} {
		d := &matrix.Dense{Rows: len(numbers[k]), Cols: 3}
		for i, v := range numbers[k] {
			d.Data = append(d.Data, (v-e.Center)/e.Scale, float64(i%2), float64(1-i%2))
		}
		*part = &Table{Features: d, Labels: make([]int, d.Rows)}
	}
	return t
}

func TestIntegers(t *testing.T) {
	tables := standardizedTables([2][]float64{{17, 90, 33}, {-12, 243}})
	list := tables.Integers()
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
	for name, tables := range map[string]*Tables{
		"a fraction":   standardizedTables([2][]float64{{17, 90.5}, {1}}),
		"257 numbers":  standardizedTables([2][]float64{{0, 90}, {256}}),
		"a NaN":        standardizedTables([2][]float64{{0, 90}, {math.NaN()}}),
		"sparse rows":  {Train: &Table{Features: &matrix.CSR{Rows: 2, Cols: 5, Starts: []int{0, 1, 2}, Columns: []int32{1, 3}}, Labels: []int{1, -1}}},
		"large values": {Train: &Table{Features: &matrix.Dense{Rows: 1, Cols: 1, Data: []float64{1e300}}, Labels: []int{1}}},
	} {
		list := tables.Integers()
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
	full := &Tables{Train: &Table{Features: &matrix.CSR{Rows: 2, Cols: 2, Starts: []int{0, 1, 3}, Columns: []int32{1, 0, 1}, Values: []float64{7, 3, 255}},
		Labels: []int{1, -1}}}
	if list := full.Integers(); list == nil || !cmp.Equal(list[0].Values.Data, []uint8{0, 0, 255, 248}) {
		t.Errorf("sparse rows that are full: %+v", list)
	}
}
