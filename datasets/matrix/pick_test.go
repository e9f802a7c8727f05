package matrix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// copied hides that 8-bit values lie in order: its rows are copied to the caller's room.
type copied struct{ *matrix.Bytes }

func (c copied) ByteRow(i int, buffer []uint8) []uint8 {
	return buffer[:copy(buffer, c.Bytes.ByteRow(i, nil))]
}

// Picked rows of every form are the rows of the widened matrix, in both precisions.
func TestPickWidens(t *testing.T) {
	bytes := &matrix.Bytes{Rows: 4, Cols: 2, Data: []uint8{0, 1, 2, 3, 40, 50, 254, 255}, Scale: 1.0 / 255}
	one := []float64{1, 1}
	for name, m := range map[string]matrix.Matrix{
		"bytes":        bytes,
		"copied bytes": copied{bytes},
		"dense":        &matrix.Dense{Rows: 4, Cols: 2, Data: []float64{0.1, 1, 2, 3, -4, 5, 6, 7}},
		"csr":          &matrix.CSR{Rows: 4, Cols: 2, Starts: []int{0, 1, 1, 3, 4}, Columns: []int32{0, 0, 1, 1}},
		"integers":     &matrix.Integers{Values: bytes, First: []float64{-3, 5}, Stretch: one, Center: one, Deviation: []float64{0.3, 2}},
	} {
		all := make([]float64, 8)
		m.Float64(all, 0, 4)
		rows := []int{2, 3, 0, 1, 1}
		p := matrix.Pick(m, rows)
		if n, cols := p.Dims(); n != 5 || cols != 2 {
			t.Fatalf("%s: %d x %d", name, n, cols)
		}
		for range 2 {
			for from := range 6 {
				for to := from; to <= 5; to++ {
					double, single := make([]float64, 2*(to-from)), make([]float32, 2*(to-from))
					p.Float64(double, from, to)
					p.Float32(single, from, to)
					for k, x := range double {
						if want := all[2*rows[from+k/2]+k%2]; x != want || single[k] != float32(want) {
							t.Errorf("%s: rows [%d, %d) of %v: %v and %v, want %v", name, from, to, rows, x, single[k], want)
						}
					}
				}
			}
			copy(rows, []int{2, 0, 3, 1, 0}) // the next mini-batch
		}
	}
}

// Picked rows of 8-bit data stay bytes, and take no memory where the data lie in order.
func TestPickKeepsBytes(t *testing.T) {
	bytes := &matrix.Bytes{Rows: 3, Cols: 2, Data: []uint8{1, 2, 3, 4, 5, 6}, Scale: 0.5}
	for _, m := range []matrix.EightBit{bytes, copied{bytes}} {
		p, ok := matrix.Pick(m, []int{2, 0}).(matrix.EightBit)
		if !ok || p.ByteScale() != 0.5 {
			t.Fatalf("%T: %T", m, p)
		}
		buffer := make([]uint8, 3)
		for i, want := range [][]uint8{{5, 6}, {1, 2}} {
			if diff := cmp.Diff(want, p.ByteRow(i, buffer)); diff != "" {
				t.Errorf("%T: row %d: %s", m, i, diff)
			}
		}
	}
	p := matrix.Pick(bytes, []int{2, 0}).(matrix.EightBit)
	if n := testing.AllocsPerRun(10, func() { p.ByteRow(0, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, ok := matrix.Pick(&matrix.Dense{Rows: 1, Cols: 1, Data: []float64{0.5}}, []int{0}).(matrix.EightBit); ok {
		t.Error("floats are bytes")
	}
}

// Picked rows of a sparse matrix are sparse, follow the list, and are those of Pick.
func TestPickSparse(t *testing.T) {
	for name, values := range map[string][]float64{"ones": nil, "values": {0.5, -1, 3, 4}} {
		m := &matrix.CSR{Rows: 4, Cols: 3, Starts: []int{0, 1, 1, 3, 4}, Columns: []int32{0, 0, 2, 1}, Values: values}
		rows := []int{2, 1, 0, 2}
		p := matrix.PickSparse(m, rows)
		for range 2 {
			starts, columns, picked := p.Entries()
			again := &matrix.CSR{Rows: 4, Cols: 3, Starts: starts, Columns: columns, Values: picked}
			if (picked == nil) != (values == nil) {
				t.Errorf("%s: the values are %v", name, picked)
			}
			want, got, widened := make([]float64, 12), make([]float64, 12), make([]float64, 12)
			matrix.Pick(m, rows).Float64(want, 0, 4)
			again.Float64(got, 0, 4)
			p.Float64(widened, 0, 4)
			if diff := cmp.Diff(want, got) + cmp.Diff(want, widened); diff != "" {
				t.Errorf("%s, rows %v: %s", name, rows, diff)
			}
			copy(rows, []int{3, 3, 2, 0}) // the next mini-batch
		}
		if n := testing.AllocsPerRun(5, func() { p.Entries() }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestCSRWidensItsRows(t *testing.T) {
	c := &matrix.CSR{Rows: 3, Cols: 4, Starts: []int{0, 2, 2, 3}, Columns: []int32{0, 3, 1}, Values: []float64{2, -1, 0.5}}
	double, single := make([]float64, 12), make([]float32, 8)
	c.Float64(double, 0, 3)
	if diff := cmp.Diff([]float64{2, 0, 0, -1, 0, 0, 0, 0, 0, 0.5, 0, 0}, double); diff != "" {
		t.Error(diff)
	}
	single[0] = 7 // what was there is overwritten
	c.Float32(single, 1, 3)
	if diff := cmp.Diff([]float32{0, 0, 0, 0, 0, 0.5, 0, 0}, single); diff != "" {
		t.Error(diff)
	}
	c.Values = nil
	c.Float64(double[:4], 0, 1)
	if diff := cmp.Diff([]float64{1, 0, 0, 1}, double[:4]); diff != "" {
		t.Error(diff)
	}
}

// Selected rows of a matrix without values have none.
func TestSelectWithoutValues(t *testing.T) {
	m := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 1, 3}, Columns: []int32{2, 0, 3}}
	for _, place := range [][]int32{nil, {0, 1, 2, 3}} {
		want := &matrix.CSR{Rows: 2, Cols: 4, Starts: []int{0, 2, 3}, Columns: []int32{0, 3, 2}}
		if diff := cmp.Diff(want, m.Select([]int{1, 0}, place, 4)); diff != "" {
			t.Errorf("%v: %s", place, diff)
		}
	}
}
