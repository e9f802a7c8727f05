package matrix

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A part has its rows of the whole matrix, and no others.
func TestPart(t *testing.T) {
	own := &Bytes{Rows: 3, Cols: 2, Data: []uint8{1, 2, 3, 4, 5, 6}, Scale: 0.5}
	bytes := NewEightBitPart(9, 4, own)
	for _, p := range []*Part{{Rows: 9, From: 4, Own: own}, &bytes.Part} {
		if rows, cols := p.Dims(); rows != 9 || cols != 2 {
			t.Errorf("%d x %d", rows, cols)
		}
		for i := range 9 {
			if p.Has(i) != (i >= 4 && i < 7) {
				t.Errorf("row %d: %t", i, p.Has(i))
			}
		}
		wide, narrow := make([]float64, 6), make([]float32, 4)
		p.Float64(wide, 4, 7)
		p.Float32(narrow, 5, 7)
		if diff := cmp.Diff([]float64{0.5, 1, 1.5, 2, 2.5, 3}, wide) + cmp.Diff([]float32{1.5, 2, 2.5, 3}, narrow); diff != "" {
			t.Error(diff)
		}
		p.Float64(nil, 0, 0) // no rows
		p.Float32(nil, 9, 9)
		for _, c := range []struct {
			length, from, to int
			want             string
		}{
			{4, 3, 5, "rows [3, 5) of a part that has the rows [4, 7)"}, {4, 6, 8, "rows [6, 8) of a part that has the rows [4, 7)"},
			{2, 0, 0, "destination holds 2 values"}, {2, 8, 10, "rows [8, 10) of a matrix of 9 rows"},
		} {
			if said := panics(func() { p.Float64(make([]float64, c.length), c.from, c.to) }); !strings.Contains(said, c.want) {
				t.Errorf("%+v: %s", c, said)
			}
		}
	}
	if row := bytes.ByteRow(5, nil); bytes.ByteScale() != 0.5 || !cmp.Equal(row, []uint8{3, 4}) {
		t.Errorf("scale %v, row %v", bytes.ByteScale(), row)
	}
}

// A window of a window has the rows of the matrix in the matrix's form, for every form.
func TestWindow(t *testing.T) {
	bytes := NewBytes(5, 2, 0.5)
	for i := range bytes.Data {
		bytes.Data[i] = uint8(i)
	}
	dense := &Dense{Rows: 5, Cols: 2, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	sparse := &CSR{Rows: 5, Cols: 2, Starts: []int{0, 1, 1, 3, 4, 5}, Columns: []int32{1, 0, 1, 0, 1}, Values: []float64{1, 2, 3, 4, 5}}
	for _, m := range []Matrix{bytes, dense, sparse} {
		all, part, narrow := make([]float64, 10), make([]float64, 4), make([]float32, 2)
		m.Float64(all, 0, 5)
		w := Window(Window(m, 1, 5), 1, 3) // rows 2 and 3
		w.Float64(part, 0, 2)
		w.Float32(narrow, 1, 2)
		if d := cmp.Diff(all[4:8], part); d != "" {
			t.Errorf("%T: %s", m, d)
		}
		if d := cmp.Diff([]float32{float32(all[6]), float32(all[7])}, narrow); d != "" {
			t.Errorf("%T: %s", m, d)
		}
		if rows, cols := w.Dims(); rows != 2 || cols != 2 {
			t.Errorf("%T: %d x %d", m, rows, cols)
		}
		if Window(m, 0, 5) != m {
			t.Errorf("%T: the window of all rows is another matrix", m)
		}
		if said := panics(func() { w.Float64(part, 1, 3) }); said == "" {
			t.Errorf("%T: a row behind the window was read", m)
		}
		if said := panics(func() { w.Float32(narrow, 2, 3) }); said == "" {
			t.Errorf("%T: a row behind the window was read in float32", m)
		}
		if rows, _ := Window(m, 0, 3).Dims(); rows != 3 {
			t.Errorf("%T: the first 3 rows are %d rows", m, rows)
		}
		if said := panics(func() { Window(m, 3, 6) }); said == "" {
			t.Errorf("%T: a window behind the matrix", m)
		}
	}
	w, ok := Window(bytes, 2, 4).(EightBit)
	if !ok || w.ByteScale() != 0.5 {
		t.Fatal("no 8-bit window")
	}
	if got := fmt.Sprint(w.ByteRow(1, nil)); got != "[6 7]" {
		t.Errorf("row 1 is %s", got)
	}
	if s, ok := Window(sparse, 2, 4).(Sparse); !ok {
		t.Error("no sparse window")
	} else if starts, _, _ := s.Entries(); starts[0] != 1 || len(starts) != 3 {
		t.Errorf("starts %v", starts)
	}
}

// Lists that do not fit the numbers of rows and columns are refused, and right ones pass.
func TestCheck(t *testing.T) {
	var none *Dense
	for _, c := range []struct {
		m    Matrix
		want string
	}{
		{&Dense{2, 3, make([]float64, 6)}, ""},
		{&Bytes{2, 3, make([]uint8, 6), 1}, ""},
		{&CSR{Rows: 2, Cols: 3}, ""},
		{none, "is nil"},
		{&Dense{2, 3, make([]float64, 5)}, "Data has 5 numbers, want 6 for 2 rows of 3 columns"},
		{&Dense{-1, -6, make([]float64, 6)}, "Data has 6 numbers"},
		{&Bytes{2, 3, make([]uint8, 7), 1}, "Data has 7 numbers"},
		{&Integers{}, "has no Values"},
		{&Integers{Values: &Bytes{1, 1, []uint8{1}, 1}}, "0 numbers for 1 columns"},
	} {
		if err := Check(c.m); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.m, err, c.want)
		}
	}
}

// The first element that is not finite is found in each form.
func TestFirstNonFinite(t *testing.T) {
	big := &Dense{400, 100, make([]float64, 40000)}
	if _, _, _, ok := FirstNonFinite(big); ok {
		t.Error("a matrix of zeros")
	}
	big.Data[30107], big.Data[39999] = math.Inf(-1), math.NaN()
	sparse := &CSR{Rows: 3, Cols: 9, Starts: []int{0, 1, 1, 3}, Columns: []int32{2, 4, 7}, Values: []float64{1, 2, math.NaN()}}
	for _, c := range []struct {
		m        Matrix
		row, col int
	}{{big, 301, 7}, {sparse, 2, 7}} {
		if row, col, v, ok := FirstNonFinite(c.m); !ok || row != c.row || col != c.col || v-v == 0 {
			t.Errorf("%T: %d, %d, %v, %t", c.m, row, col, v, ok)
		}
	}
}
