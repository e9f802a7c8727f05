package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/racing"
)

// TestMulActivate compares products that are followed by an activation with the product and the
// pass one after the other, to the bit, for the kernels of all levels and those in the model. The
// sums reach from below the range of the exponential to above. The last shapes need several calls;
// some factors have a column without digits.
func TestMulActivate(t *testing.T) {
	racing.Skip(t, alone)
	level := fastest()
	if level == Go {
		t.Skip("the functions in Go have other bits than those of the kernels for tiles")
	}
	passes := must(New[float32](level))
	reference := must(NewByteKernels(level))
	kernels := []*ByteKernels{amxModel(t), reference}
	if AMX.Supported() {
		kernels = append(kernels, must(NewByteKernels(AMX)))
	}
	if level == AVX512 {
		kernels = append(kernels, must(NewByteKernels(AVX2)))
	}
	r := rand.New(rand.NewPCG(61, 62))
	list := []shape{{1, 1, 1}, {17, 65, 17}, {33, 784, 18}, {RowBlock + 30, 70, 33}, {100, 64, 48}, {40, 0, 3}, {3, 6200, 16}}
	for range 20 {
		list = append(list, shape{1 + r.IntN(300), 1 + r.IntN(150), 1 + r.IntN(40)})
	}
	if testing.Short() {
		list = list[:8]
	}
	for i, s := range list {
		for f := SigmoidActivation; f <= ReLUActivation; f++ {
			count := 2 + (i+int(f))%2
			size := float32(math.Pow(10, float64(i%5-3)))
			bias := guarded[float32](t, s.h, true)
			for j := range bias {
				bias[j] = size * float32(r.NormFloat64())
			}
			draw := func(k *ByteKernels) *byteProblem {
				r := rand.New(rand.NewPCG(63, uint64(i)))
				normal, drawn := normals[float32](r), 0
				return newByteProblem(t, k, s, count, r, anyByte(r), func() float32 {
					if drawn++; i%7 == 6 && drawn == 5 {
						return float32(math.Inf(1))
					}
					return size * normal()
				})
			}
			want := draw(reference)
			for lo := 0; lo < s.n; lo += RowBlock {
				hi := min(lo+RowBlock, s.n)
				reference.Mul(want.z[lo*want.ldz:], want.ldz, want.x, lo, hi, want.factor, want.scratch)
				passes.BiasActivation(f, want.z[lo*want.ldz:], want.ldz, hi-lo, bias)
			}
			for _, k := range kernels {
				got := draw(k)
				for lo := 0; lo < s.n; lo += RowBlock {
					hi := min(lo+RowBlock, s.n)
					k.MulActivate(got.z[lo*got.ldz:], got.ldz, got.x, lo, hi, got.factor, bias, f, got.scratch)
				}
				for e, z := range want.z {
					if a, b := math.Float32bits(z), math.Float32bits(got.z[e]); a != b && !(z != z && got.z[e] != got.z[e]) {
						t.Fatalf("%s, activation %d, %v, %d digits: element %d is %v (%#x), want %v (%#x)", k.instruction, f, s, count, e, got.z[e], b, z, a)
					}
				}
			}
		}
	}
}

// TestActivationsOfTiles checks that the products on tiles compute the activation themselves.
func TestActivationsOfTiles(t *testing.T) {
	k := amxModel(t)
	calls := 0
	for f := range k.activateStrip {
		inner := k.activateStrip[f][1]
		k.activateStrip[f][1] = func(n, rows int, x *uint8, panel int, q *int8, unit *float64, bias, c *float32, ldc, columns, ahead int, sums *int32) {
			calls++
			inner(n, rows, x, panel, q, unit, bias, c, ldc, columns, ahead, sums)
		}
	}
	r := rand.New(rand.NewPCG(64, 65))
	p := newByteProblem(t, k, shape{20, 70, 33}, 3, r, anyByte(r), normals[float32](r))
	for f := SigmoidActivation; f <= ReLUActivation; f++ {
		k.MulActivate(p.z, p.ldz, p.x, 0, 20, p.factor, make([]float32, 33), f, p.scratch)
	}
	if calls != 9 { // three panels of columns
		t.Errorf("%d calls of kernels with an activation, want 9", calls)
	}
}
