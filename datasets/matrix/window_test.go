package matrix

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
