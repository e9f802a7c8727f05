package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
)

// digit returns digit q of element (i, j).
func (s *Digits) digit(q, i, j int) int64 {
	panel := s.data[j/s.k.lanes*s.k.panelSize(s.rows, s.count):]
	return int64(panel[((i/quad*s.count+q)*s.k.lanes+j%s.k.lanes)*quad+i%quad])
}

// whole returns the integer that the digits of element (i, j) represent, in units of the last
// digit.
func (s *Digits) whole(i, j int) int64 {
	var x int64
	for q := range s.count {
		x = x*base + s.digit(q, i, j)
	}
	return x
}

// TestDigits checks that the magnitude of a digit is at most 127. The digits leave at most the
// remainder that the doc comment of Digits states, plus the rounding of a remainder, 2^-25 of a
// unit of the first digit.
func TestDigits(t *testing.T) {
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		r := rand.New(rand.NewPCG(23, 24))
		for _, size := range []float64{1, 1e-3, 1e30, 0x1p127, 1e-19, 1e-30, 1e-38, 1e-42, 0x1p-149} {
			const rows, cols = 41, 19
			b := make([]float32, rows*cols)
			for i := range b {
				b[i] = float32(size * (2*r.Float64() - 1))
			}
			s := k.NewDigits(rows, cols, count)
			s.Quantize(0, s.Panels(), b, cols, 1)
			for j := range cols {
				var c float64
				for i := range rows {
					c = max(c, math.Abs(float64(b[i*cols+j])))
				}
				least := 0.5*math.Pow(base, float64(1-count)) + 0x1p-25
				for i := range rows {
					for q := range count {
						if d := s.digit(q, i, j); d < -127 || d > 127 {
							t.Fatalf("size %v: digit %d", size, d)
						}
					}
					rest := float64(b[i*cols+j]) - s.wide[j]*float64(s.whole(i, j))
					if !(math.Abs(rest) <= c/127*least*(1+0x1p-23)) {
						t.Fatalf("size %v: %v leaves %v of %v", size, b[i*cols+j], rest, c)
					}
				}
			}
		}
	})
}

// TestStrips runs the AMX kernels in the model, and on tiles if this machine has tiles. It compares
// both products with another level's, to the bit, and Z with 64-bit integers. The shapes are
// random; the last ones need several calls, and several blocks of rows.
func TestStrips(t *testing.T) {
	require.NoRace(t, alone)
	r := rand.New(rand.NewPCG(41, 42))
	var list []shape
	for range 24 {
		list = append(list, shape{1 + r.IntN(300), 1 + r.IntN(200), 1 + r.IntN(70)})
	}
	list = append(list, shape{33, 784, 17}, shape{50, 832, 16}, shape{20, 3072, 40}, shape{2*RowBlock + 40, 130, 5}, shape{3, 6200, 18},
		shape{40, Layout{tileRows, tileBytes}.exactDepth() + 70, 1})
	if testing.Short() {
		list = list[:20]
	}
	kernels := []*ByteKernels{amxModel(t)}
	if AMX.Supported() {
		k := require.Value(NewByteKernels(AMX))(t)
		kernels = append(kernels, k)
	}
	reference := require.Value(NewByteKernels(fastest()))(t)
	for i, s := range list {
		count := 2 + i%2
		draw := func(k *ByteKernels) *byteProblem {
			r := rand.New(rand.NewPCG(43, uint64(i)))
			p := newByteProblem(t, k, s, count, r, anyByte(r), normals[float32](r))
			p.run(k)
			return p
		}
		want := draw(reference)
		for _, k := range kernels {
			got := draw(k)
			// Longer sums are rounded at other places: their layouts split them differently.
			if s.d <= reference.layout.exactDepth() && (!equal(got.z, want.z) || !equal(got.g, want.g)) {
				t.Fatalf("%v in %d digits: %s differs from %v", s, count, k.instruction, reference.level)
			}
			if s.d <= k.layout.exactDepth() && s.n*s.d*s.h < 200000 {
				got.checkForward(t, k.instruction)
			}
		}
	}
}

// fastest returns the fastest level whose products with 8-bit data are not strips.
func fastest() Level {
	if AVX512.Supported() {
		return AVX512
	}
	return AVXOrGo()
}

// TestStripRows checks that a call of a kernel is short, and that calls end at pairs of tiles.
func TestStripRows(t *testing.T) {
	tiles := byteTiles{layout: Layout{Rows: 16, Depth: 64}, rows: 32}
	for k := 1; k <= tiles.layout.exactDepth()/64; k++ {
		rows := tiles.stripRows(k)
		if steps := rows / 16 * k; rows%32 != 0 || rows < 32 || steps > mostSteps && rows > 32 {
			t.Fatalf("%d rows for %d groups of inner indices", rows, k)
		}
	}
}

// TestAhead checks that the calls for a block of rows ask for every line of the next block once,
// within the data, and for no line of a block after.
func TestAhead(t *testing.T) {
	tiles := byteTiles{layout: Layout{Rows: 16, Depth: 64}, rows: 32}
	const panels, k, size = 16, 13, 15 * 13 * 1024
	for _, end := range []int{2 * size, size + size/2, size} {
		fetched, lines := size, map[int]int{}
		for range panels {
			at := aheadOf(fetched, size, size, end)
			for line := range tiles.fetchedBytes(RowBlock, k) / cacheLine {
				lines[at+line*cacheLine]++
			}
			fetched += tiles.fetchedBytes(RowBlock, k)
		}
		for at := size; at < end; at += cacheLine {
			if lines[at] != 1 {
				t.Errorf("%d bytes: %d requests for the line at %d", end, lines[at], at)
				break
			}
		}
	}
}

// TestPackedBytes checks that every value is at the place where both products read it, and that no
// other memory is written. It uses the layout of the current tiles and other layouts.
func TestPackedBytes(t *testing.T) {
	for _, layout := range []Layout{{8, 4}, {12, 4}, {16, 64}, {6, 8}} {
		for _, s := range []shape{{0, 3, 0}, {3, 0, 0}, {1, 1, 0}, {7, 9, 0}, {8, 8, 0}, {RowBlock, 4, 0}, {2*RowBlock + 13, 21, 0}} {
			testPackedBytes(t, layout, s)
		}
	}
}

func testPackedBytes(t *testing.T, layout Layout, s shape) {
	t.Helper()
	x := newPackedBytes(layout, s.n, s.d, 0.5)
	want := make([]uint8, s.n*s.d)
	for i := range want {
		want[i] = uint8(1 + i%255)
	}
	for lo := 0; lo < s.n; lo += 13 { // full groups of four rows and single rows
		x.setRows(lo, want[lo*s.d:min(lo+13, s.n)*s.d])
	}
	row := make([]uint8, s.d)
	for i := range s.n {
		if row := x.ByteRow(i, row); !slices.Equal(row, want[i*s.d:][:s.d]) {
			t.Errorf("%v %v: row %d is %v", layout, s, i, row)
		}
	}
	sums := [3]int{}
	for _, v := range x.byRow {
		sums[0] += int(v)
	}
	for _, v := range x.byCol {
		sums[1] += int(v)
	}
	high, depth := layout.Rows, layout.Depth
	for at, v := range want {
		sums[2] += int(v)
		i, l := at/s.d, at%s.d
		block := x.columnsAt(i / RowBlock * RowBlock)
		groups := ceil(min(RowBlock, s.n-i/RowBlock*RowBlock), depth)
		r := i % RowBlock
		if x.At(i, l) != v || x.byCol[block+((l/high*groups+r/depth)*high+l%high)*depth+r%depth] != v {
			t.Fatalf("%v %v: element %d, %d", layout, s, i, l)
		}
	}
	if sums[0] != sums[2] || sums[1] != sums[2] {
		t.Errorf("%v %v: sums %v", layout, s, sums)
	}
}

// setRows packs values into the rows from i on.
func (x *PackedBytes) setRows(i int, values []uint8) {
	var rows [][]uint8
	for row := range slices.Chunk(values, max(1, x.cols)) {
		rows = append(rows, row)
	}
	x.SetRows(i, rows)
}
