package session

import (
	"math"
	"slices"
	"testing"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/internal/load"
)

// kappa holds the bounds of docs/reference/products.md by the number of digits, relative to the
// largest magnitude in a column.
var kappa = map[int]float64{2: 1.56e-5, 3: 6.2e-8}

const unit = 0x1p-24

// layer is the first layer of a network on some rows: the product X W, and the product X^T D for
// the gradient with respect to W.
type layer struct {
	x    *matrix.Bytes
	w, d []float32
	h    int
}

// firstLayer computes D = dS V^T o A (1 - A) in float64, where row i of class c has dS_ij =
// -dS_ic/3 = phi'(S_ic - S_ij)/3.
func firstLayer(e *assembly, x *matrix.Bytes, classes int) layer {
	n, d, h := x.Rows, x.Cols, models.FirstUnits(e.builder.Model)
	params := e.iterate()
	w, bias, v := params[:d*h], params[d*h:][:h], params[d*h+h:][:h*classes]
	l := layer{x: x, h: h, d: make([]float32, n*h)}
	for _, p := range w {
		l.w = append(l.w, float32(p))
	}
	a, s := make([]float64, h), make([]float64, classes)
	row := make([]float64, d)
	for i := range n {
		x.Float64(row, i, i+1)
		copy(a, bias)
		for k, value := range row {
			for j := range h {
				a[j] += (value - e.builder.Center[k]) * w[k*h+j]
			}
		}
		clear(s)
		for j := range h {
			a[j] = 1 / (1 + math.Exp(-a[j]))
			for c := range classes {
				s[c] += a[j] * v[j*classes+c]
			}
		}
		class := i * classes / n
		for j := range h {
			var sum float64
			for c := range classes {
				p := 1 / (1 + math.Exp(s[class]-s[c]))
				sum += p * (1 - p) * (v[j*classes+c] - v[j*classes+class])
			}
			l.d[i*h+j] = float32(sum * a[j] * (1 - a[j]) / float64(n))
		}
	}
	return l
}

// Both products of the first layer on real pictures, early and late in training, differ from
// float64 by at most the documented bounds.
func TestProductsAreWithinTheirBounds(t *testing.T) {
	needDigits(t)
	rows := clothes(t, 70) // one full block and a partial block
	for _, width := range []int{1, 33, 130} {
		e := assembled(t, clothing(rows, func(c *setup) { c.Hidden = []int{width} }))
		x := load.ImageRows(load.Selected(rows), e.data.Normalization).Data.(*matrix.Bytes)
		for _, iterations := range []int{0, 50} {
			if iterations > 0 {
				require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations, RecordEvery: iterations}))(t)
			}
			l := firstLayer(e, x, 4)
			for count := range kappa {
				l.check(t, count)
			}
		}
	}
}

func (l layer) check(t *testing.T, count int) {
	t.Helper()
	k := require.Value(kernel.NewByteKernels(kernel.Best()))(t)
	n, d, h := l.x.Rows, l.x.Cols, l.h
	packed, scratch := k.NewPackedBytes(n, d, l.x.Scale), k.NewByteScratch()
	factor, cut := k.NewDigits(d, h, count), k.NewDigits(kernel.RowBlock, h, count)
	factor.Quantize(0, factor.Panels(), l.w, h, l.x.Scale)
	z, g := make([]float32, n*h), make([]float32, d*h)
	exact, bound := make([]float64, d*h), make([]float64, d*h)
	for lo := 0; lo < n; lo += kernel.RowBlock {
		hi := min(lo+kernel.RowBlock, n)
		packed.SetRows(lo, slices.Collect(slices.Chunk(l.x.Data[lo*d:hi*d], d)))
		k.Mul(z[lo*h:], h, packed, lo, hi, factor, scratch)
		cut.Resize(hi-lo, h)
		cut.Quantize(0, cut.Panels(), l.d[lo*h:], h, l.x.Scale)
		k.AddMulTrans(g, h, packed, lo, hi, cut, scratch)
		l.gradient(lo, hi, kappa[count], exact, bound)
	}
	largest := columnsMax(l.w, h)
	row, sums := make([]float64, d), make([]float64, h)
	for i := range n {
		l.x.Float64(row, i, i+1)
		clear(sums)
		var total float64
		for k, x := range row {
			total += x
			for j := range h {
				sums[j] += x * float64(l.w[k*h+j])
			}
		}
		for j, want := range sums {
			if most := kappa[count]*largest[j]*total + unit*math.Abs(want); !(math.Abs(float64(z[i*h+j])-want) <= 1.001*most) {
				t.Fatalf("width %d, %d digits: Z[%d,%d] = %v, want %v to within %.2g", h, count, i, j, z[i*h+j], want, most)
			}
		}
	}
	for at, want := range exact {
		if !(math.Abs(float64(g[at])-want) <= 1.001*bound[at]) {
			t.Fatalf("width %d, %d digits: G[%d,%d] = %v, want %v to within %.2g", h, count, at/h, at%h, g[at], want, bound[at])
		}
	}
}

// gradient adds a block's X^T D to exact. It adds the block's error bound to bound: the error of
// the digits, three roundings of the block and one rounding of the sum.
func (l layer) gradient(lo, hi int, kappa float64, exact, bound []float64) {
	d, h := l.x.Cols, l.h
	row, total, part := make([]float64, d), make([]float64, d), make([]float64, d*h)
	for i := lo; i < hi; i++ {
		l.x.Float64(row, i, i+1)
		for k, x := range row {
			total[k] += x
			for j := range h {
				part[k*h+j] += x * float64(l.d[i*h+j])
			}
		}
	}
	largest := columnsMax(l.d[lo*h:hi*h], h)
	for at, x := range part {
		exact[at] += x
		bound[at] += kappa*largest[at%h]*total[at/h] + 3*unit*math.Abs(x) + unit*math.Abs(exact[at])
	}
}

func columnsMax(a []float32, cols int) []float64 {
	most := make([]float64, cols)
	for at, x := range a {
		most[at%cols] = max(most[at%cols], math.Abs(float64(x)))
	}
	return most
}
