package kernel

import (
	"math/rand/v2"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
)

// TestStrips runs the AMX kernels in the model, and on tiles if this machine has tiles. It compares
// both products with another level's, to the bit, and Z with 64-bit integers. The shapes are
// random; the last ones need several calls, and several blocks of rows.
func TestStrips(t *testing.T) {
	racing.Skip(t, alone)
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
