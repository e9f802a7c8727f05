package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
)

// narrowShapes lists sizes of C = A B, n x h with d inner indices, around the kernel's numbers of
// rows, lanes and strips.
func narrowShapes() []shape {
	var list []shape
	for _, few := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16} {
		for _, wide := range []int{1, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130} {
			list = append(list, shape{few, 1 + wide%9, wide}, shape{wide, few, 1 + wide%5}, shape{1 + few%4, wide, few})
		}
	}
	return list
}

// strided returns a matrix of normal numbers with gaps of canaries between rows. The rows end, or
// begin, at a guard page.
func strided[F Float](t testing.TB, r *rand.Rand, rows, cols int) Strided[F] {
	ld := cols + r.IntN(3)
	x := Dense(guarded[F](t, (rows-1)*ld+cols, r.IntN(2) == 0), rows, cols, ld)
	for i := range x.Data {
		x.Data[i] = canary
		if i%ld < cols {
			x.Data[i] = F(r.NormFloat64())
		}
	}
	return x
}

func (x Strided[F]) at(i, j int) float64 { return float64(x.Data[i*x.RowStride+j*x.ColStride]) }

// like copies the matrix to a separate guard page.
func (x Strided[F]) like(t testing.TB, atEnd bool) Strided[F] {
	data := guarded[F](t, len(x.Data), atEnd)
	copy(data, x.Data)
	x.Data = data
	return x
}

// TestNarrow compares the products and sums with float64, on operands at guard pages. It also
// compares the bits of AVX2 and AVX-512.
func TestNarrow(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	t.Run("float32", testNarrow[float32])
	t.Run("float64", testNarrow[float64])
}

func testNarrow[F Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range narrowShapes() {
		a, b, bt := strided[F](t, r, s.n, s.d), strided[F](t, r, s.d, s.h), strided[F](t, r, s.h, s.d)
		at := strided[F](t, r, s.d, s.n)
		c := strided[F](t, r, s.n, s.h)
		for _, op := range []struct {
			name string
			run  func(k *Kernels[F], c Strided[F])
			want func(i, j, l int) float64 // one term of a sum
			add  bool
		}{
			{"combine", func(k *Kernels[F], c Strided[F]) { k.CombineRows(c, a, b, false) }, func(i, j, l int) float64 { return a.at(i, l) * b.at(l, j) }, false},
			{"add transposed", func(k *Kernels[F], c Strided[F]) { k.CombineRows(c, at.T(), b, true) }, func(i, j, l int) float64 { return at.at(l, i) * b.at(l, j) }, true},
			{"dots", func(k *Kernels[F], c Strided[F]) { k.Dots(c, a, bt) }, func(i, j, l int) float64 { return a.at(i, l) * bt.at(j, l) }, false},
		} {
			var bits [][]F
			for _, level := range Levels() {
				got := c.like(t, r.IntN(2) == 0)
				op.run(mustNew[F](t, level), got)
				checkNarrow(t, fmt.Sprintf("%v: %s of %v", level, op.name, s), got, c, s.d, op.want, op.add)
				bits = append(bits, got.Data)
			}
			if len(bits) > int(AVX512) && !slices.Equal(bits[AVX2], bits[AVX512]) {
				t.Errorf("%s of %v: AVX2 and AVX-512 differ", op.name, s)
			}
		}
		checkColumns(t, a)
		if t.Failed() {
			return
		}
	}
}

// checkNarrow compares got with sums of d terms, added to c if add.
func checkNarrow[F Float](t *testing.T, what string, got, c Strided[F], d int, term func(i, j, l int) float64, add bool) {
	t.Helper()
	for i := range c.Rows {
		for j := range c.Cols {
			var want, size float64
			if add {
				want = c.at(i, j)
			}
			for l := range d {
				v := term(i, j, l)
				want += v
				size += math.Abs(v)
			}
			if e := math.Abs(got.at(i, j) - want); !(e <= float64(d+2)*epsilon[F]()*(size+math.Abs(want))) {
				t.Fatalf("%s: element (%d, %d) is %v, want %v", what, i, j, got.at(i, j), want)
			}
		}
	}
	for i, v := range got.Data {
		if c.RowStride > 0 && i%c.RowStride >= c.Cols && v != canary {
			t.Fatalf("%s: a gap was written", what)
		}
	}
}

// checkColumns compares the column sums of every level with a loop, to the bit.
func checkColumns[F Float](t *testing.T, x Strided[F]) {
	t.Helper()
	want := make([]float64, x.Cols)
	for j := range want {
		want[j] = 0.25
		for i := range x.Rows {
			want[j] += x.at(i, j)
		}
	}
	for _, level := range Levels() {
		for _, atEnd := range []bool{false, true} {
			sums := guarded[float64](t, x.Cols, atEnd)
			for j := range sums {
				sums[j] = 0.25
			}
			mustNew[F](t, level).AddColumns(sums, x)
			if !slices.Equal(sums, want) {
				t.Fatalf("%v: columns of %d x %d add up to %v, want %v", level, x.Rows, x.Cols, sums, want)
			}
		}
	}
}

func TestNarrowEmpty(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		none := Strided[float32]{ColStride: 1}
		k.CombineRows(none, none, none, false)
		k.Dots(none, none, none)
		k.AddColumns(nil, none)
		c := Dense([]float32{1, 2, 3, 4}, 2, 2, 2)
		empty := Strided[float32]{Rows: 2, ColStride: 1}
		if k.CombineRows(c, empty, Strided[float32]{Cols: 2, ColStride: 1}, true); c.Data[3] != 4 {
			t.Error("an empty sum was added")
		}
		if k.CombineRows(c, empty, Strided[float32]{Cols: 2, ColStride: 1}, false); c.Data[0] != 0 || c.Data[3] != 0 {
			t.Errorf("empty sums are %v", c.Data)
		}
		c.Data[1] = 7
		if k.Dots(c, empty, empty); c.Data[1] != 0 {
			t.Errorf("empty dot products are %v", c.Data)
		}
	})
}

func TestNarrowMisuse(t *testing.T) {
	k := mustNew[float32](t, Best())
	m := func(rows, cols int) Strided[float32] { return Dense(make([]float32, rows*cols), rows, cols, cols) }
	short := m(2, 3)
	short.Data = short.Data[:5]
	for name, call := range map[string]func(){
		"inner sizes":      func() { k.CombineRows(m(2, 3), m(2, 4), m(5, 3), false) },
		"rows":             func() { k.CombineRows(m(2, 3), m(1, 4), m(4, 3), false) },
		"gaps":             func() { k.CombineRows(m(2, 3), m(2, 4), m(3, 4).T(), false) },
		"too short":        func() { k.CombineRows(short, m(2, 4), m(4, 3), false) },
		"columns":          func() { k.Dots(m(2, 3), m(2, 4), m(2, 4)) },
		"gaps in dots":     func() { k.Dots(m(2, 3), m(4, 2).T(), m(3, 4)) },
		"sums":             func() { k.AddColumns(make([]float64, 2), m(2, 3)) },
		"short sums":       func() { k.AddColumns(make([]float64, 3), short) },
		"negative strides": func() { k.AddColumns(nil, Strided[float32]{RowStride: -1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
