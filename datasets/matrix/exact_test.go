package matrix

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// three has the rows (2, 0, 0, -1), (0, 0, 0, 0) and (0, 0.5, 0, 4).
func three() *CSR {
	return &CSR{Rows: 3, Cols: 4, Starts: []int{0, 2, 2, 4}, Columns: []int32{0, 3, 1, 3}, Values: []float64{2, -1, 0.5, 4}}
}

// TestCSRSelect selects rows in another order and columns at other places.
func TestCSRSelect(t *testing.T) {
	ones := three()
	ones.Values = nil
	for _, test := range []struct {
		of    *CSR
		rows  []int
		place []int32
		cols  int
		want  *CSR
	}{
		{three(), []int{2, 1, 0, 2}, nil, 4, &CSR{Rows: 4, Cols: 4, Starts: []int{0, 2, 2, 4, 6}, Columns: []int32{1, 3, 0, 3, 1, 3}, Values: []float64{0.5, 4, 2, -1, 0.5, 4}}},
		{three(), []int{2, 0}, []int32{1, -1, 2, 0}, 3, &CSR{Rows: 2, Cols: 3, Starts: []int{0, 1, 3}, Columns: []int32{0, 1, 0}, Values: []float64{4, 2, -1}}},
		{ones, []int{0}, nil, 4, &CSR{Rows: 1, Cols: 4, Starts: []int{0, 2}, Columns: []int32{0, 3}}},
		{three(), nil, nil, 4, &CSR{Cols: 4, Starts: []int{0}, Columns: []int32{}, Values: []float64{}}},
	} {
		if diff := cmp.Diff(test.want, test.of.Select(test.rows, test.place, test.cols)); diff != "" {
			t.Errorf("rows %v, places %v (-want +got):\n%s", test.rows, test.place, diff)
		}
	}
}

// TestStack puts matrices with and without values below each other.
func TestStack(t *testing.T) {
	ones := three()
	ones.Values = nil
	starts, columns := []int{0, 2, 2, 4, 6, 6, 8}, []int32{0, 3, 1, 3, 0, 3, 1, 3}
	for _, test := range []struct {
		parts []*CSR
		want  []float64
	}{
		{[]*CSR{three(), ones}, []float64{2, -1, 0.5, 4, 1, 1, 1, 1}},
		{[]*CSR{ones, three()}, []float64{1, 1, 1, 1, 2, -1, 0.5, 4}},
		{[]*CSR{ones, ones}, nil},
	} {
		got := Stack(test.parts...)
		if diff := cmp.Diff(&CSR{Rows: 6, Cols: 4, Starts: starts, Columns: columns, Values: test.want}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if cap(got.Columns) != 8 || cap(got.Starts) != 7 {
			t.Errorf("memory for %d entries and %d starts, want 8 and 7", cap(got.Columns), cap(got.Starts))
		}
	}
}

// TestEntries checks which entries a row has, and the values of entries without values.
func TestEntries(t *testing.T) {
	c := three()
	for i, row := range [][4]bool{{true, false, false, true}, {}, {false, true, false, true}} {
		for j, want := range row {
			if c.Has(i, int32(j)) != want {
				t.Errorf("row %d has column %d: %t", i, j, !want)
			}
		}
	}
	if diff := cmp.Diff(c.Values, c.EntryValues()); diff != "" {
		t.Error(diff)
	}
	c.Values = nil
	if diff := cmp.Diff([]float64{1, 1, 1, 1}, c.EntryValues()); diff != "" {
		t.Error(diff)
	}
}

// TestBytesRows sets rows and the scale of a new matrix.
func TestBytesRows(t *testing.T) {
	m := NewBytes(3, 2, 1)
	m.SetRows(1, [][]uint8{{1, 2}, {3, 4}})
	m.SetScale(0.5)
	if diff := cmp.Diff(&Bytes{Rows: 3, Cols: 2, Data: []uint8{0, 0, 1, 2, 3, 4}, Scale: 0.5}, m); diff != "" {
		t.Error(diff)
	}
	WidenBytes([]float64{}, m, 1, 1)
	WidenBytes([]float64{}, NewBytes(2, 0, 1), 0, 2)
}

// TestIntegersStandardized computes (first + v/stretch - center)/deviation by hand.
func TestIntegersStandardized(t *testing.T) {
	m := &Integers{Values: &Bytes{Rows: 3, Cols: 2, Data: []uint8{9, 9, 4, 10, 0, 200}, Scale: 1},
		First: []float64{100, -1}, Stretch: []float64{2, 5}, Center: []float64{3, -0.5}, Deviation: []float64{4, 0.25}}
	double, single := make([]float64, 4), make([]float32, 4)
	m.Float64(double, 1, 3)
	m.Float32(single, 1, 3)
	if diff := cmp.Diff([]float64{99. / 4, 1.5 / 0.25, 97. / 4, 39.5 / 0.25}, double); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float32{99. / 4, 1.5 / 0.25, 97. / 4, 39.5 / 0.25}, single); diff != "" {
		t.Error(diff)
	}
}

// TestRangesOfRows checks that every kind of matrix refuses a wrong range of rows and a wrong
// length of the destination.
func TestRangesOfRows(t *testing.T) {
	bytes := NewBytes(3, 4, 1)
	ones := []float64{1, 1, 1, 1}
	dense := &Dense{Rows: 3, Cols: 4, Data: make([]float64, 12)}
	for _, m := range []Matrix{bytes, dense, three(), &Integers{bytes, ones, ones, ones, ones}, Pick(dense, []int{0, 1, 2}), Pick(bytes, []int{0, 1, 2})} {
		for _, test := range []struct {
			length, from, to int
			want             string
		}{
			{4, -1, 0, "matrix: rows [-1, 0) of a matrix of 3 rows"},
			{4, 2, 1, "matrix: rows [2, 1) of a matrix of 3 rows"},
			{4, 3, 4, "matrix: rows [3, 4) of a matrix of 3 rows"},
			{7, 1, 3, "matrix: destination holds 7 values, 2 rows of 4 columns need 8"},
			{9, 1, 3, "matrix: destination holds 9 values, 2 rows of 4 columns need 8"},
		} {
			for _, call := range []func(){
				func() { m.Float64(make([]float64, test.length), test.from, test.to) },
				func() { m.Float32(make([]float32, test.length), test.from, test.to) },
			} {
				if said := panics(call); said != test.want {
					t.Errorf("%T: panic %q, want %q", m, said, test.want)
				}
			}
		}
	}
}

// panics returns the text of the panic of call, or "".
func panics(call func()) (said string) {
	defer func() {
		if r := recover(); r != nil {
			said = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}

// TestMomentsOfNothing checks matrices without rows or columns.
func TestMomentsOfNothing(t *testing.T) {
	for _, m := range []Matrix{&CSR{Cols: 2, Starts: []int{0}}, &CSR{Rows: 2, Starts: []int{0, 0, 0}}, plain{NewBytes(2, 0, 1)}, NewBytes(2, 0, 1), plain{NewBytes(0, 2, 1)}} {
		_, cols := m.Dims()
		if center, deviation := Moments(m); deviation != 0 || len(center) != cols || strings.Contains(fmt.Sprint(center), "NaN") {
			t.Errorf("%T: center %v, deviation %v", m, center, deviation)
		}
	}
}

// TestMomentsAboutTheMean computes the deviation of rows whose blocks are full, and of sparse rows.
func TestMomentsAboutTheMean(t *testing.T) {
	m := &Dense{Rows: 2 * momentRows, Cols: 1, Data: make([]float64, 2*momentRows)}
	for i := range m.Data {
		m.Data[i] = 1000 + float64(2*(i%2)) // mean 1001, deviation 1
	}
	if center, deviation := Moments(m); center[0] != 1001 || deviation != 1 {
		t.Errorf("center %v, deviation %v, want 1001 and 1", center, deviation)
	}
}

// TestMomentsKeepDigits uses rows whose squares do not fit float64, so that sums of squares about 0
// would lose the deviation.
func TestMomentsKeepDigits(t *testing.T) {
	m := &Dense{Rows: 3, Cols: 1, Data: []float64{0x1p43, 0x1p43 + 0x1p-8, 0x1p43 + 8*0x1p-8}}
	center, deviation := Moments(m) // the differences from the mean are -3, -2 and 5 times 2^-8
	if want := math.Sqrt(38./3) * 0x1p-8; center[0] != 0x1p43+3*0x1p-8 || !(math.Abs(deviation-want) <= 1e-12*want) {
		t.Errorf("center %v, deviation %v, want %v", center, deviation, want)
	}
}

// TestTally joins tallies, and takes moments that need more than 64 bits.
func TestTally(t *testing.T) {
	a, b := NewTally(2), NewTally(2)
	a.Add([]uint8{1, 10})
	b.Add([]uint8{3, 20})
	a.Join(b)
	if center, deviation := a.Moments(1); center[0] != 2 || center[1] != 15 || !(math.Abs(deviation-math.Sqrt(13)) <= 1e-15) {
		t.Errorf("center %v, deviation %v", center, deviation)
	}
	// Half of 2^40 rows have the value 255, the others 0.
	large := &Tally{rows: 1 << 40, sum: []uint64{255 << 39}, square: []uint64{255 * 255 << 39}}
	if center, deviation := large.Moments(2); center[0] != 255 || deviation != 255 {
		t.Errorf("center %v, deviation %v, want 255 and 255", center, deviation)
	}
}
