package kernel

import (
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// groupMulGo computes z = X w: the reference of the pass in assembly.
func groupMulGo[F Float](groups int, starts *uint32, pairs *uint64, w, z *F) {
	at := unsafe.Slice(starts, groups+1)
	ps := unsafe.Slice(pairs, int(at[groups]))
	for g := range groups {
		rows := row(z, g, groupRows, groupRows)
		clear(rows)
		for _, p := range ps[at[g]:at[g+1]] {
			v := row(w, int(p>>32), 1, 1)[0]
			for b := uint32(p); b != 0; b &= b - 1 {
				rows[bits.TrailingZeros32(b)] += v
			}
		}
	}
}

// groupAddTransGo adds X^T d to the partial sums g: the reference of the pass in assembly.
func groupAddTransGo[F Float](groups int, starts *uint32, pairs *uint64, d, g *F) {
	at := unsafe.Slice(starts, groups+1)
	ps := unsafe.Slice(pairs, int(at[groups]))
	n := lanes[F]()
	for group := range groups {
		rows := row(d, group, groupRows, groupRows)
		for _, p := range ps[at[group]:at[group+1]] {
			sums := row(g, int(p>>32), n, n)
			for b := uint32(p); b != 0; b &= b - 1 {
				r := bits.TrailingZeros32(b)
				sums[r%n] += rows[r]
			}
		}
	}
}

// groupFoldGo adds up the partial sums of every column: the reference of the pass in assembly.
func groupFoldGo[F Float](columns int, sums *F, from, to *float64) {
	n := lanes[F]()
	for c, v := range unsafe.Slice(from, columns) {
		var t [4]float64
		for l, x := range row(sums, c, n, n) {
			t[l%4] += float64(x)
		}
		row(to, c, 1, 1)[0] = v + ((t[0] + t[1]) + (t[2] + t[3]))
	}
}

// TestGroupPasses compares the passes over groups with their reference to the bit: both add in the
// documented order.
func TestGroupPasses(t *testing.T) {
	eachKernel(t, testGroupPasses[float32], testGroupPasses[float64])
}

func testGroupPasses[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	if k.sparse.groupMul == nil {
		t.Skip("no passes at this level")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, cols := range []int{1, 3, 40} {
		starts, pairs := []uint32{0}, []uint64{}
		for range 5 {
			for c := range cols {
				if word := r.Uint32() & r.Uint32(); r.IntN(3) > 0 && word != 0 {
					pairs = append(pairs, uint64(c)<<32|uint64(word))
				}
			}
			starts = append(starts, uint32(len(pairs)))
		}
		normals := func(n int) []F {
			list := guarded[F](t, n, true)
			for i := range list {
				list[i] = F(r.NormFloat64())
			}
			return list
		}
		w, z, d, sums := normals(cols), normals(5*groupRows), normals(5*groupRows), normals(cols*lanes[F]())
		wantZ, wantSums := append([]F{}, z...), append([]F{}, sums...)
		groupMulGo(5, &starts[0], at(pairs), &w[0], &wantZ[0])
		groupAddTransGo(5, &starts[0], at(pairs), &d[0], &wantSums[0])
		k.sparse.groupMul(5, &starts[0], at(pairs), &w[0], &z[0])
		k.sparse.groupAddTrans(5, &starts[0], at(pairs), &d[0], &sums[0])
		if !equal(z, wantZ) || !equal(sums, wantSums) {
			t.Errorf("%d columns: not the reference's bits", cols)
		}
		totals, folded := guarded[float64](t, cols, true), guarded[float64](t, cols, true)
		for c := range totals {
			totals[c] = r.NormFloat64()
		}
		wantFolded := make([]float64, cols)
		groupFoldGo(cols, &sums[0], &totals[0], &wantFolded[0])
		k.sparse.groupFold(cols, &sums[0], &totals[0], &folded[0])
		if !equal(folded, wantFolded) {
			t.Errorf("%d columns: the partial sums add up to %v, want %v", cols, folded, wantFolded)
		}
	}
}
