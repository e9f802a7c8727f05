//go:build gpu

package kernels_test

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// TestSizing compares the rule of the automatic step size, over many iterations, with the same
// formulas in Go, to the bit. The directions have two elements, so that the change of the direction
// is a known number.
func TestSizing(t *testing.T) { both(t, sizing[float32], sizing[float64]) }

func sizing[T plan.Float](t *testing.T) {
	r := newRig[T](t, 3)
	inf, nan := math.Inf(1), math.NaN()
	k := problem.SizingConstants{Margin: 0.8, Share: 0.035, Growth: 1.25, Raise: 2, Run: 3, Leap: 4}
	want := problem.Sizing{Curvature: 2, Peak: 3, Seen: 0.1, Step: 0.2, Length: 1.5}
	sizes, raised, capped, reduced := r.put(bytesOf(make([]float64, kernels.SizingCount))), 0, 0, 0
	for i := range 400 {
		d := problem.SizedDescent{Least: 1e-3, Decay: 0.99, PeakDecay: 0.999, Scale: 1 + r.rng.Float64(), Ramp: 0.9, Alert: i%5 > 0, Constants: k}
		change, distance, norm := 0.05*math.Pow(1.3, float64(i%12)), 0.5+r.rng.Float64(), 2*r.rng.Float64()
		switch i % 37 {
		case 5:
			change = inf
		case 9:
			change = nan
		case 13:
			distance = 1e-3 // not above the roundoff
		case 17:
			d.Ramp = 0
		case 21:
			d.Cap = 0.05
		case 25:
			d.Scale = 1e-2 // a leap of the step
		case 29:
			distance = nan
		}
		if i%37 == 30 { // without a curvature the step is 1, or the cap
			want.Curvature = 0
			distance = 0
			d.Cap = float64(i % 2)
		}
		if i%10 == 0 || i%37 == 30 {
			start := want
			d.Start, d.Distance, d.Norm = &start, distance, norm
		}
		moved := []float64{distance * distance, norm * norm}
		if d.Start == nil {
			distance, norm = math.Sqrt(moved[0]), math.Sqrt(moved[1])
		} else {
			moved = []float64{nan, nan}
		}
		x, y := []T{T(change), 1}, []T{0, 1}
		change = math.Sqrt(float64(x[0]) * float64(x[0]))
		before := want
		b, a := reference(&want, &d, change, distance, norm)
		if want.Curvature == k.Raise*before.Curvature*d.Decay {
			raised++
		}
		if want.Step*d.Scale == d.Cap {
			capped++
		}
		if b > 0 && b < d.Ramp {
			reduced++
		}
		const weight = 0.3
		in := kernels.StepInput{Rule: d, Weight: weight}
		if i%2 > 0 && d.Start == nil {
			rule := kernels.SizingRule(&d, weight)
			in = kernels.StepInput{Numbers: r.put(bytesOf(rule[:]))}
		}
		sums := r.put(make([]byte, kernels.StepSumsBytes))
		r.do(r.s.StepSums(r.q, 2, 0, r.put(bytesOf(x)), 0, r.put(bytesOf(y)), &in, sums))
		if i%3 > 0 {
			r.do(r.s.Sizing(r.q, 2, sums, sizes, r.put(bytesOf(moved))))
		} else {
			r.do(r.s.DescendSized(r.q, 2, r.put(bytesOf(x)), r.put(bytesOf(x)), r.put(bytesOf(y)), kernels.Proximal{}, problem.SquaredL2, 0, sums, sizes, r.put(bytesOf(moved))))
		}
		got := r.numbers(sizes, kernels.SizingCount)
		list := []float64{want.Curvature, want.Peak, want.Seen, float64(want.Growing), want.Step, want.Length, b, a * weight, 1 / (1 + a*weight)}
		if !slices.Equal(got, list) {
			t.Fatalf("iteration %d, change %v: %v, want %v", i, change, got, list)
		}
	}
	if raised == 0 || capped == 0 || reduced == 0 {
		t.Errorf("l was raised %d times, the step capped %d times, the momentum reduced %d times", raised, capped, reduced)
	}
}

// reference advances the rule of problem.SizedDescent, and returns b and a.
func reference(s *problem.Sizing, d *problem.SizedDescent, change, distance, norm float64) (b, a float64) {
	k := &d.Constants
	if !(distance <= d.Least*(1+norm)) {
		s.Curvature *= d.Decay
		s.Peak *= d.PeakDecay
		if seen := change / (distance * d.Scale); !math.IsNaN(seen) && !math.IsInf(seen, 0) {
			s.Peak = math.Max(s.Peak, seen)
			if s.Growing++; !(seen > k.Growth*s.Seen) {
				s.Growing = 0
			}
			if d.Alert && float64(s.Growing) >= k.Run && seen > k.Share*s.Curvature {
				s.Curvature, s.Growing = math.Max(s.Curvature, math.Min(k.Raise*s.Curvature, s.Peak)), 0
			}
			s.Curvature, s.Seen = math.Max(s.Curvature, seen), seen
		}
	}
	e := k.Margin / s.Curvature
	if d.Cap > 0 {
		e = math.Min(e, d.Cap)
	}
	if math.IsInf(e, 1) {
		e = 1
	}
	e /= d.Scale
	if b = d.Ramp; e > k.Leap*s.Step {
		b *= s.Step / e
	}
	if b > 0 {
		s.Length = b*s.Length + 1
	}
	s.Step = e
	return b, e * (1 + b*s.Length)
}
