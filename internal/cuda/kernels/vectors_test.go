//go:build gpu

package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// deviceVectors implements problem.Passes with kernels. Each pass uploads its vectors and downloads
// the results.
type deviceVectors[T plan.Float] struct {
	*rig[T]
	number bool // pass scalars in device memory
}

// forget frees the memory that a pass needed.
func (v deviceVectors[T]) forget() { v.do(v.release()) }

func (v deviceVectors[T]) up(x []T) driver.Pointer { return v.put(bytesOf(x)) }

func (v deviceVectors[T]) down(x []T, p driver.Pointer) {
	v.memory.Data = [][]T{x}
	v.at = []driver.Pointer{p}
	copy(x, v.contents(0))
}

// scalar passes a number as a value or in device memory.
func (v deviceVectors[T]) scalar(x T) kernels.Number {
	if v.number {
		return kernels.At(v.put(bytesOf([]float64{float64(x)})))
	}
	return kernels.Value(float64(x))
}

func (v deviceVectors[T]) proximal(p problem.Elementwise[T]) kernels.Proximal {
	return kernels.Proximal{Scale: v.scalar(p.Scale), Lower: v.scalar(p.Lower), Upper: v.scalar(p.Upper), Threshold: v.scalar(p.Threshold)}
}

func (v deviceVectors[T]) results() driver.Pointer {
	return v.put(bytesOf([]float64{math.NaN(), math.NaN()}))
}

func (v deviceVectors[T]) Combine(dst []T, a T, x []T, b T, y []T) {
	defer v.forget()
	px, py := v.up(x), v.up(y)
	pd := v.up(make([]T, len(dst)))
	if len(dst) > 0 && &dst[0] == &x[0] {
		pd = px
	} else if len(y) > 0 && &dst[0] == &y[0] {
		pd = py
	}
	v.do(v.s.Combine(v.q, len(dst), pd, v.scalar(a), px, v.scalar(b), py))
	v.down(dst, pd)
}

func (v deviceVectors[T]) Dot(x, y []T) float64 {
	defer v.forget()
	px, result := v.up(x), v.results()
	py := px
	if &x[0] != &y[0] {
		py = v.up(y)
	}
	v.do(v.s.Dot(v.q, len(x), px, py, result))
	return v.numbers(result, 1)[0]
}

// upAll uploads vectors. A vector that appears several times has one address.
func (v deviceVectors[T]) upAll(list ...[]T) []driver.Pointer {
	at, all := map[*T]driver.Pointer{}, make([]driver.Pointer, len(list))
	for i, x := range list {
		if _, ok := at[&x[0]]; !ok {
			at[&x[0]] = v.up(x)
		}
		all[i] = at[&x[0]]
	}
	return all
}

func (v deviceVectors[T]) Dots(dst []float64, xs, ys [][]T) {
	defer v.forget()
	all := v.upAll(slices.Concat(xs, ys)...)
	results := v.put(bytesOf(make([]float64, len(dst))))
	v.do(v.s.Dots(v.q, len(xs[0]), all[:len(xs)], all[len(xs):], results))
	copy(dst, v.numbers(results, len(dst)))
}

func (v deviceVectors[T]) Sum(dst []T, coefficients []float64, xs [][]T) {
	defer v.forget()
	all := v.upAll(append([][]T{dst}, xs...)...)
	v.do(v.s.VectorSum(v.q, len(dst), all[0], coefficients, all[1:]))
	v.down(dst, all[0])
}

func (v deviceVectors[T]) SquaredDistance(x, y []T) float64 {
	defer v.forget()
	result := v.results()
	v.do(v.s.SquaredDistance(v.q, len(x), v.up(x), v.up(y), result))
	return v.numbers(result, 1)[0]
}

func (v deviceVectors[T]) SquaredTrial(x, d, w []T, e, b T) float64 {
	defer v.forget()
	y, result := make([]T, len(x)), v.results()
	for i := range y {
		y[i] = x[i] - e*d[i]
		if b != 0 {
			y[i] = x[i] - e*(d[i]+b*(b*w[i]+d[i]))
		}
	}
	v.do(v.s.Size(v.q, len(x), v.up(y), 0, result))
	n := v.numbers(result, 2)
	if n[1] != 1 {
		v.t.Errorf("a scale of %v without a ball", n[1])
	}
	return n[0]
}

func (v deviceVectors[T]) Descend(x, d, w []T, e, b T, p problem.Elementwise[T]) (moved, size float64) {
	defer v.forget()
	px, pw, result := v.up(x), v.up(w), v.results()
	v.do(v.s.Descend(v.q, len(x), px, v.up(d), pw, v.scalar(e), v.scalar(b), v.proximal(p), 0, 0, result))
	v.down(x, px)
	if w != nil {
		v.down(w, pw)
	}
	n := v.numbers(result, 2)
	return n[0], n[1]
}

func (v deviceVectors[T]) Adam(x, d, m1, m2 []T, rate, root T, p problem.Elementwise[T]) (size float64) {
	defer v.forget()
	px, p1, p2, result := v.up(x), v.up(m1), v.up(m2), v.results()
	v.do(v.s.Adam(v.q, len(x), px, v.up(d), p1, p2, v.scalar(rate), v.scalar(root), v.proximal(p), 0, result))
	v.down(x, px)
	v.down(m1, p1)
	v.down(m2, p2)
	return v.numbers(result, 1)[0]
}

// regularizers returns the proximal maps of all kinds: element-wise maps, the projection onto the
// ball, and maps of groups of elements.
func regularizers(n int) []problem.Regularizer {
	ends := []int{n}
	if n > 4 {
		ends = []int{1, n / 2, n - 1, n}
	}
	return []problem.Regularizer{{}, {Kind: problem.Ball, Radius: 0.7}, {Kind: problem.Box, Lower: -0.3, Upper: math.Inf(1)},
		{Kind: problem.L1, Weight: 0.4}, {Kind: problem.SquaredL2, Weight: 0.5}, {Kind: problem.GroupL1, Weight: 0.6, Groups: ends}}
}

// A product of Dots has the bits of Dot, within one group of blocks, over two groups, and over two
// and three launches.
func TestDots(t *testing.T) {
	both(t, dots[float32], dots[float64])
}

func dots[T plan.Float](t *testing.T) {
	for _, n := range []int{1, 7, 2100} {
		r := newRig[T](t, uint64(n))
		on := deviceVectors[T]{r, false}
		xs, ys := make([][]T, 3), make([][]T, 97)
		for _, list := range [][][]T{xs, ys} {
			for i := range list {
				list[i] = make([]T, n)
				for j := range list[i] {
					list[i][j] = T(r.rng.NormFloat64())
				}
			}
		}
		want := make([]float64, len(xs)*len(ys))
		for i, x := range xs {
			for j, y := range ys {
				want[i*len(ys)+j] = on.Dot(x, y)
			}
		}
		for _, count := range []int{1, 8, 9, 48, 49, 97} {
			got := make([]float64, len(xs)*count)
			on.Dots(got, xs, ys[:count])
			for i := range xs {
				if row := got[i*count:][:count]; !slices.Equal(row, want[i*len(ys):][:count]) {
					t.Errorf("%d elements, vector %d by %d vectors: %v", n, i, count, row)
				}
			}
		}
	}
}

func TestVectors(t *testing.T) {
	both(t, vectors[float32], vectors[float64])
}

func vectors[T plan.Float](t *testing.T) {
	for _, n := range []int{1, 7, 2100} {
		for _, reg := range regularizers(n) {
			for _, number := range []bool{false, true} {
				t.Run(fmt.Sprint(n, reg.Kind, number), func(t *testing.T) {
					r := newRig[T](t, uint64(n))
					x := make([]T, n)
					for i := range x {
						x[i] = T(r.rng.NormFloat64())
					}
					plain := problem.NewHostSpace(slices.Clone(x), reg)
					device := problem.NewHostSpaceOn(slices.Clone(x), reg, deviceVectors[T]{r, number})
					sameSteps(t, plain, device, n)
				})
			}
		}
	}
}

// sameSteps runs every operation of two spaces and compares vectors and numbers after each
// operation.
func sameSteps[T plan.Float](t *testing.T, want, got *problem.HostSpace[T], n int) {
	t.Helper()
	spaces := []*problem.HostSpace[T]{want, got}
	v := make([]problem.Vector, 5)
	for i := range v {
		for _, s := range spaces {
			v[i] = s.New()
			for j := range s.Slice(v[i]) {
				s.Slice(v[i])[j] = T(math.Sin(float64(i*n + j)))
			}
		}
	}
	do := func(name string, op func(s *problem.HostSpace[T]) []float64) {
		t.Helper()
		w, g := op(want), op(got)
		for i := range w {
			if !near(T(g[i]), T(w[i]), 0, 1000) {
				t.Errorf("%s: %v, want %v", name, g, w)
			}
		}
		for i := range len(v) + 1 {
			x, y := want.Slice(problem.Vector(i)), got.Slice(problem.Vector(i))
			for j := range x {
				if !near(y[j], x[j], 1, 8) {
					t.Fatalf("%s: vector %d, element %d: %v, want %v", name, i, j, y[j], x[j])
				}
			}
		}
	}
	none := func(f func(s *problem.HostSpace[T])) func(s *problem.HostSpace[T]) []float64 {
		return func(s *problem.HostSpace[T]) []float64 { f(s); return nil }
	}
	do("numbers", func(s *problem.HostSpace[T]) []float64 {
		return []float64{s.Dot(v[2], v[2]), s.Distance(v[0], v[1])}
	})
	do("combine", none(func(s *problem.HostSpace[T]) { s.Combine(v[3], 0.3, v[0], -0.7, v[1]) }))
	do("scale", none(func(s *problem.HostSpace[T]) { s.Combine(v[3], 0.3, v[3], 0, v[1]) }))
	do("add to itself", none(func(s *problem.HostSpace[T]) { s.Combine(v[4], 1, v[0], 0.5, v[4]) }))
	for _, count := range []int{1, 9, 49} { // within one group of blocks, over two groups, over two launches
		list, coefficients := make([]problem.Vector, count), make([]float64, count)
		for i := range list {
			list[i], coefficients[i] = v[(i+i/3)%len(v)], math.Cos(float64(i))
		}
		do("dots", func(s *problem.HostSpace[T]) []float64 {
			dots := make([]float64, 3*count)
			s.Dots(dots, []problem.Vector{v[2], v[0], v[3]}, list)
			return dots
		})
		do("sum", none(func(s *problem.HostSpace[T]) { s.Sum(v[4], coefficients, list) }))
	}
	do("sum of none", none(func(s *problem.HostSpace[T]) { s.Sum(v[3], nil, nil) }))
	do("sum of two", none(func(s *problem.HostSpace[T]) { s.Sum(v[3], []float64{1, 0.5}, v[:2]) }))
	for _, b := range []float64{0, 0.9, 0.5} {
		do("descend", func(s *problem.HostSpace[T]) []float64 {
			s.Space().Descend(problem.Descent{Direction: v[0], Velocity: v[2], Step: 0.2, Momentum: b, Length: 0.3})
			distance, norm := s.Moved()
			return []float64{distance, norm}
		})
	}
	zero := none(func(s *problem.HostSpace[T]) { s.Combine(v[2], 0, v[2], 0, v[2]); s.Combine(v[3], 0, v[3], 0, v[3]) })
	do("zero", zero)
	for k := range 3 {
		do("adam", none(func(s *problem.HostSpace[T]) { s.Space().Adam(v[k%2], v[2], v[3], 0.1, 1+k) }))
	}
}

// TestSpace checks the operations that problem.Passes lacks: the map alone, the factors of the ball
// and of groups, and Adagrad.
func TestSpace(t *testing.T) {
	both(t, space[float32], space[float64])
}

func space[T plan.Float](t *testing.T) {
	for _, n := range []int{1, 7, 2500} {
		for _, reg := range regularizers(n) {
			r := newRig[T](t, uint64(n))
			v := deviceVectors[T]{r, n == 7}
			x, d, w := make([]T, n), make([]T, n), make([]T, n)
			for i := range x {
				x[i], d[i], w[i] = T(r.rng.NormFloat64()), T(r.rng.NormFloat64()), T(r.rng.NormFloat64()*r.rng.NormFloat64())
				w[i] *= w[i]
			}
			host := problem.NewHostSpace(slices.Clone(x), reg)
			hd, hw := host.New(), host.New()
			copy(host.Slice(hd), d)
			copy(host.Slice(hw), w)
			dev := &deviceSpace[T]{v, v.up(x), v.up(d), v.up(w), v.results(), n, reg}
			same := func(name string) {
				t.Helper()
				for i, p := range []driver.Pointer{dev.x, dev.d, dev.w} {
					got := make([]T, n)
					v.down(got, p)
					for j, want := range host.Slice(problem.Vector(i)) {
						if !near(got[j], want, 1, 8) {
							t.Fatalf("%v, %d, %s: vector %d, element %d: %v, want %v", reg.Kind, n, name, i, j, got[j], want)
						}
					}
				}
			}
			for _, b := range []float64{0, 0.6} {
				host.Space().Descend(problem.Descent{Direction: hd, Velocity: hw, Step: 0.2, Momentum: b, Length: 0.3})
				dev.descend(0.2, b, 0.3)
				same("descend")
				moved, size := host.Moved()
				got := v.numbers(dev.result, 2)
				if math.Abs(math.Sqrt(got[0])-moved) > 1e-5*moved || math.Abs(math.Sqrt(got[1])-size) > 1e-5*size {
					t.Errorf("%v, %d: moved %v, %v, want %v, %v", reg.Kind, n, math.Sqrt(got[0]), math.Sqrt(got[1]), moved, size)
				}
			}
			host.Combine(hw, 1, hw, 0, hw)
			for i := range host.Slice(hw) {
				host.Slice(hw)[i] *= host.Slice(hw)[i]
			}
			dev.w = v.up(host.Slice(hw))
			host.Space().Adagrad(hd, hw, 0.1)
			dev.adagrad(0.1)
			same("adagrad")
		}
	}
}

// deviceSpace is a vector space that computes every step with kernel launches.
type deviceSpace[T plan.Float] struct {
	deviceVectors[T]
	x, d, w, result driver.Pointer
	n               int
	reg             problem.Regularizer
}

func (s *deviceSpace[T]) separable(length float64) kernels.Proximal {
	p := kernels.Proximal{Scale: kernels.Value(1), Lower: kernels.Value(math.Inf(-1)), Upper: kernels.Value(math.Inf(1))}
	switch s.reg.Kind {
	case problem.Box:
		p.Lower, p.Upper = kernels.Value(s.reg.Lower), kernels.Value(s.reg.Upper)
	case problem.L1:
		p.Threshold = s.scalar(T(length * s.reg.Weight))
	case problem.SquaredL2:
		p.Scale = s.scalar(T(1 / (1 + length*s.reg.Weight)))
	}
	return p
}

func (s *deviceSpace[T]) groups() (kernels.VectorGroups, driver.Pointer) {
	ends := make([]int64, len(s.reg.Groups))
	g, last := kernels.VectorGroups{Count: len(ends)}, 0
	for k, end := range s.reg.Groups {
		ends[k] = int64(end)
		g.Longest = max(g.Longest, end-last)
		last = end
	}
	g.Ends = s.put(bytesOf(ends))
	return g, s.put(make([]byte, 8*len(ends)))
}

func (s *deviceSpace[T]) descend(step, b, length float64) {
	e, m := s.scalar(T(step)), s.scalar(T(b))
	p := s.separable(length)
	switch s.reg.Kind {
	case problem.Ball:
		sums := s.put(make([]byte, kernels.StepSumsBytes))
		s.do(s.s.StepSums(s.q, s.n, s.x, s.d, s.w, 0, &kernels.StepInput{}, sums))
		s.do(s.s.Descend(s.q, s.n, s.x, s.d, s.w, e, m, p, s.reg.Radius, sums, s.result))
	case problem.GroupL1:
		g, scales := s.groups()
		s.do(s.s.GroupFactors(s.q, s.n, g, s.x, s.d, s.w, e, m, kernels.Value(length*s.reg.Weight), scales))
		s.do(s.s.GroupDescend(s.q, s.n, g, s.x, s.d, s.w, e, m, scales, s.result))
	default:
		s.do(s.s.Descend(s.q, s.n, s.x, s.d, s.w, e, m, p, 0, 0, s.result))
	}
}

// adagrad runs Adagrad and the proximal map, in one pass if the map is element-wise.
func (s *deviceSpace[T]) adagrad(step float64) {
	switch s.reg.Kind {
	case problem.Ball:
		s.do(s.s.Adagrad(s.q, s.n, s.x, s.d, s.w, kernels.Value(step), s.separable(step)))
		s.do(s.s.Size(s.q, s.n, s.x, s.reg.Radius, s.result))
		s.do(s.s.Combine(s.q, s.n, s.x, kernels.At(s.result.Offset(8)), s.x, kernels.Number{}, 0))
	case problem.GroupL1:
		s.do(s.s.Adagrad(s.q, s.n, s.x, s.d, s.w, kernels.Value(step), s.separable(step)))
		g, scales := s.groups()
		s.do(s.s.GroupFactors(s.q, s.n, g, s.x, 0, 0, kernels.Number{}, kernels.Number{}, kernels.Value(step*s.reg.Weight), scales))
		s.do(s.s.GroupScale(s.q, s.n, g, s.x, scales))
	case problem.L1:
		s.do(s.s.Adagrad(s.q, s.n, s.x, s.d, s.w, kernels.Value(step), kernels.Proximal{Scale: kernels.Value(1),
			Lower: kernels.Value(math.Inf(-1)), Upper: kernels.Value(math.Inf(1))}))
		s.do(s.s.Prox(s.q, s.n, s.x, s.separable(step)))
	default:
		s.do(s.s.Adagrad(s.q, s.n, s.x, s.d, s.w, kernels.Value(step), s.separable(step)))
	}
}
