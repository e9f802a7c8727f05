//go:build gpu

package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// own runs a product by the package's kernel and by the double's loops, on integers that all
// precisions hold exactly, and compares all bytes of the results.
func own[T int8 | uint16 | float32 | float64](t *testing.T, s *kernels.Set, q *queue, g driver.Gemm, number func(int) T) {
	t.Helper()
	_, out := g.Precision.Sizes()
	reads, writes := g.Spans()
	var held []driver.Pointer
	allocate := func(content []byte) driver.Pointer {
		p, err := q.d.Allocate(len(content))
		if err == nil {
			err = q.d.Upload(0, p, content)
		}
		require.NoError(t, err)
		held = append(held, p)
		return p
	}
	state := 1
	numbers := func(span driver.Span) (list []T) {
		in, _ := g.Precision.Sizes()
		for range span.Bytes / in {
			state = state * 1103515245 % 2147483647
			list = append(list, number(state>>8%17-8))
		}
		return list
	}
	g.A, g.B = allocate(bytesOf(numbers(reads[0]))), allocate(bytesOf(numbers(reads[1])))
	before := make([]byte, writes[0].Bytes)
	for i := range len(before) / out {
		switch {
		case out == 8:
			binary.LittleEndian.PutUint64(before[8*i:], math.Float64bits(float64(i%5)))
		case g.Precision != driver.Int8:
			binary.LittleEndian.PutUint32(before[4*i:], math.Float32bits(float32(i%5)))
		}
	}
	var results [2][]byte
	for i, run := range []func() error{func() error { return s.Multiply(q, &g) }, func() error { return q.d.Multiply(0, &g) }} {
		g.C = allocate(before)
		results[i] = make([]byte, len(before))
		require.NoError(t, run())
		require.NoError(t, q.d.Download(0, results[i], g.C))
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("%+v: the kernel and the loops differ", g)
	}
	for _, p := range held {
		require.NoError(t, q.d.Free(p))
	}
}

// The package's own products agree with loops for every precision, transposition, scale and batch,
// for shapes that do and do not fill a tile, with gaps between rows.
func TestOwnProducts(t *testing.T) {
	single := require.Value(labs[kernels.Float32]())(t)
	double := require.Value(labs[kernels.Float64]())(t)
	for _, c := range []struct{ rows, cols, inner, batch int }{{1, 1, 1, 0}, {5, 67, 18, 1}, {70, 3, 33, 3}} {
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for _, scale := range [][2]float64{{1, 0}, {-2, 1}} {
				a, b := [2]int{c.rows, c.inner}, [2]int{c.inner, c.cols}
				if trans[0] {
					a = [2]int{c.inner, c.rows}
				}
				if trans[1] {
					b = [2]int{c.cols, c.inner}
				}
				g := driver.Gemm{Rows: c.rows, Cols: c.cols, Inner: c.inner, TransA: trans[0], TransB: trans[1], Alpha: scale[0], Beta: scale[1],
					StrideA: a[1] + 2, StrideB: b[1] + 1, StrideC: c.cols + 3, Batch: c.batch}
				g.StepA, g.StepB, g.StepC = a[0]*g.StrideA+1, b[0]*g.StrideB, c.rows*g.StrideC
				own(t, single.s, single.q, g, func(n int) float32 { return float32(n) })
				g.Precision = driver.BF16
				own(t, single.s, single.q, g, func(n int) uint16 { return uint16(math.Float32bits(float32(n)) >> 16) })
				g.Precision = driver.Float64
				own(t, double.s, double.q, g, func(n int) float64 { return float64(n) })
			}
		}
		g := driver.Gemm{Precision: driver.Int8, Rows: c.rows, Cols: 4 * c.cols, Inner: 16 * c.inner, TransB: true, Alpha: 1,
			StrideA: 16*c.inner + 16, StrideB: 16 * c.inner, StrideC: 4*c.cols + 4, Batch: c.batch}
		g.StepA, g.StepB, g.StepC = c.rows*g.StrideA, 4*c.cols*g.StrideB, c.rows*g.StrideC
		own(t, single.s, single.q, g, func(n int) int8 { return int8(15 * n) })
	}
	wrong := driver.Gemm{Precision: driver.Float64, Rows: 1, Cols: 1, Inner: 1, StrideA: 1, StrideB: 1, StrideC: 1}
	if err := single.s.Multiply(single.q, &wrong); err == nil || fmt.Sprint(err) != "kernels: a product of precision 2 by the kernels of f32" {
		t.Errorf("float64 by float32's kernels: %v", err)
	}
}

func TestSparseProduct(t *testing.T) {
	both(t, sparse[float32], sparse[float64])
}

func sparse[T plan.Float](t *testing.T) {
	for i, size := range [][3]int{{1, 1, 1}, {40, 9, 1}, {3000, 5, 1}, {9000, 3, 2}, {70, 30, 3}, {1200, 4, 16}, {30, 50, 40}} {
		for _, ones := range []bool{false, true} {
			r := newRig[T](t, uint64(i))
			rows, cols, width := size[0], size[1], size[2]
			x := plan.View{Stride: cols, Rows: rows, Cols: cols}
			dense := make([]T, rows*cols)
			starts, columns, values := []int{0}, []int32(nil), []float64(nil)
			for i := range rows {
				for j := range cols {
					if i%7 == 3 || r.rng.IntN(3) > 0 && j != 1 { // empty rows and an almost empty column
						continue
					}
					v := float64(T(r.rng.NormFloat64()))
					if ones {
						v = 1
					}
					dense[i*cols+j] = T(v)
					columns, values = append(columns, int32(j)), append(values, v)
				}
				starts = append(starts, len(columns))
			}
			x.Buffer = r.buffer(dense)
			if ones {
				values = nil
			}
			w, z := r.random(cols, width, 1), r.result(rows, width, 2)
			d, g := r.random(rows, width, 1), r.result(cols, width, 0)
			sparseX := r.sparse(rows, cols, starts, columns, values)
			tstarts, trows, tvalues := kernels.Transpose(cols, starts, columns, values)
			sparseXT := r.sparse(cols, rows, tstarts, trows, tvalues)
			for _, add := range []bool{false, true} {
				r.do(r.s.SparseProduct(r.q, sparseX, r.on(w), r.on(z), add))
				r.step(&plan.Product{A: x, B: w, Out: z, Add: add})
				r.do(r.s.SparseProduct(r.q, sparseXT, r.on(d), r.on(g), add))
				r.step(&plan.Product{A: x, B: d, Out: g, TransA: true, Add: add})
				r.check(4+sumScale[T](rows+cols), 2)
			}
		}
	}
}

// sparse uploads the entries of a sparse matrix.
func (r *rig[T]) sparse(rows, cols int, starts []int, columns []int32, values []float64) kernels.Sparse {
	x := kernels.Sparse{Rows: rows, Cols: cols, Entries: len(columns), Columns: r.put(bytesOf(columns))}
	list := make([]int64, len(starts))
	for i, n := range starts {
		list[i] = int64(n)
		if i > 0 {
			x.Longest = max(x.Longest, n-starts[i-1])
		}
	}
	x.Starts = r.put(bytesOf(list))
	if values != nil {
		numbers := make([]T, len(values))
		for i, v := range values {
			numbers[i] = T(v)
		}
		x.Values = r.put(bytesOf(numbers))
	}
	return x
}

// The products are as near to the reference's as their factors allow: TF32 rounds factors to 2^-11,
// two bfloat16 terms to 2^-17, and three terms hold float32. The shapes have tails of channels,
// filters, places and pictures, places of the window in several pieces and several places in one
// piece, aligned and unaligned results, and several ranges of places.
func TestConvolve(t *testing.T) {
	shapes := append(windowShapes,
		plan.Window{Channels: 8, Height: 6, Width: 6, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 19, Height: 7, Width: 5, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 2, StrideX: 2, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 40, Height: 4, Width: 6, Lines: 2, Columns: 3, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 1, Height: 14, Width: 13, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1})
	units := map[int]float64{1: 0x1p14, 2: 0x1p9, 3: 16}
	for i, w := range shapes {
		w = withOutput(w)
		for terms, unit := range units {
			if i < len(windowShapes) && terms != 1+i%3 {
				continue
			}
			pictures, filters := []int{1, 5, 4}[i%3], []int{5, 33, 70, 129}[(i+terms)%4]
			r := newRig[float32](t, uint64(i))
			in, filter, bias := r.random(pictures, w.Channels*w.Height*w.Width, i%3), r.random(filters, w.Patch(), 3), r.random(1, filters*w.Places(), 0)
			plain, rectified := r.result(pictures, filters*w.Places(), 2-i%2), r.result(pictures, filters*w.Places(), i%2)
			r.step(&plan.Convolution{Window: w, In: in, Filter: filter, Out: plain})
			r.step(&plan.Convolution{Window: w, In: in, Filter: filter, Out: rectified})
			r.step(&plan.BiasActivation{A: rectified, Bias: bias, Activation: plan.ReLUActivation})
			c := kernels.Convolve{Window: w, Terms: terms, In: r.on(in), Filter: r.on(filter), Out: r.on(plain)}
			r.do(r.s.Convolve(r.q, c))
			c.Out, c.Bias, c.Activation = r.on(rectified), r.on(bias), kernels.ReLU
			r.do(r.s.Convolve(r.q, c))
			r.check(math.Sqrt(float64(w.Patch())), unit)

			r = newRig[float32](t, uint64(i))
			d, grad := r.random(pictures, filters*w.Places(), 1), r.result(pictures, w.Channels*w.Height*w.Width, 0)
			filter = r.random(filters, w.Patch(), 0)
			c = kernels.Convolve{Window: w, Backward: true, Terms: terms, In: r.on(d), Filter: r.on(filter), Out: r.on(grad)}
			if err := r.s.Convolve(r.q, c); (err != nil) != (w.StrideY > 1 || w.StrideX > 1) {
				t.Errorf("derivative with strides of %d and %d: error %v", w.StrideY, w.StrideX, err)
			} else if err == nil {
				r.step(&plan.ConvolutionInputGrad{Window: w, D: d, Filter: filter, Out: grad})
				r.check(math.Sqrt(float64(filters*w.Lines*w.Columns)), unit)
			}

			r = newRig[float32](t, uint64(i))
			in, d, grad = r.random(pictures, w.Channels*w.Height*w.Width, 2), r.random(pictures, filters*w.Places(), 1), r.random(filters, w.Patch(), i%2)
			g := kernels.FilterGrad{Window: w, Terms: terms, In: r.on(in), D: r.on(d), Out: r.on(r.inPlace(grad)), Add: i%2 == 0}
			before := slices.Clone(r.memory.Data[grad.Buffer])
			r.do(r.s.FilterGrad(r.q, g))
			r.step(&plan.ConvolutionFilterGrad{Window: w, In: in, D: d, Out: grad})
			for k := range before {
				if at := k%grad.Stride - grad.Offset; g.Add && at >= 0 && at < grad.Cols {
					r.memory.Data[grad.Buffer][k] += before[k]
				}
			}
			r.check(2+math.Sqrt(float64(pictures*w.Places())), unit)
		}
	}
}

// MultiplyDigits agrees with a product of integers and Dequantize to the bit, for shapes that do
// and do not fill tiles of threads, for more pieces of the sums than there are stages in shared
// memory, and for several blocks of indices (the helper multiply compares the bits).
func TestMultiplyDigits(t *testing.T) {
	for seed, c := range []struct{ rows, inner, cols, count, most int }{
		{1, 1, 1, 3, 999}, {128, 32, 64, 3, 999}, {129, 96, 65, 2, 999}, {257, 130, 20, 3, 999}, {100, 300, 140, 3, 999},
		{60, 700, 8, 2, 96}, {140, 250, 70, 3, 64}, {127, 224, 63, 2, 999},
	} {
		r := newRig[float32](t, uint64(seed))
		u := make([]byte, c.rows*c.inner)
		for i := range u {
			u[i] = byte(r.rng.Uint32())
		}
		b, out, bias := r.random(c.inner, c.cols, 1), r.random(c.rows, c.cols, 3), r.random(1, c.cols, 0)
		r.inPlace(out)
		d := placed(r, kernels.NewDigits(c.inner, c.cols, c.count, c.most, testScale))
		x := kernels.SignedBytes{Stride: d.Blocks * d.Length}
		x.At = r.put(make([]byte, c.rows*x.Stride))
		other := kernels.SignedBytes{Stride: kernels.PaddedIndices(c.rows)}
		other.At = r.put(make([]byte, c.inner*other.Stride))
		r.do(r.s.LoadSigned(r.q, x, other, r.put(u), c.rows, c.inner))
		r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
		multiply(r, x, c.rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out), Add: true})
		multiply(r, x, c.rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out), Add: true, Activation: kernels.Sigmoid, Bias: r.on(bias)})
	}
	r := newRig[float32](t, 1)
	d := kernels.NewDigits(1<<20, 4, 3, 8, 1).Place(1 << 20)
	if r.s.MultiplyDigits(r.q, kernels.Dequantize{Digits: d, B: r.on(r.random(4, 4, 0)), Out: r.on(r.random(4, 4, 0))}) == nil {
		t.Error("too many blocks: no error")
	}
}
