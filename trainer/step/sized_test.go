package step

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// sized are problem.SizedVectors on the host, by the formulas of problem.SizedDescent.
type sized struct {
	*problem.Space                // with the problem's own vectors
	state          problem.Sizing // after the last DescendSized
	taken          []problem.SizedDescent
}

// newSized returns p's vectors, which compute the step size from now on.
func newSized(p problem.Problem) *sized {
	v := &sized{Space: &problem.Space{Vectors: p.Space().Vectors}}
	p.Space().Vectors = v
	return v
}

func (v *sized) Sizing() problem.Sizing { return v.state }

func (v *sized) DescendSized(d *problem.SizedDescent, r problem.Regularizer) {
	c, s := &d.Constants, &v.state
	distance, norm := d.Distance, d.Norm
	if d.Start != nil {
		*s = *d.Start
	} else {
		distance, norm = v.Moved()
	}
	if distance > d.Least*(1+norm) {
		s.Curvature *= d.Decay
		s.Peak *= d.PeakDecay
		if seen := v.Distance(d.Direction, d.Previous) / (distance * d.Scale); !math.IsInf(seen, 0) && !math.IsNaN(seen) {
			s.Peak = math.Max(s.Peak, seen)
			if seen > c.Growth*s.Seen {
				s.Growing++
			} else {
				s.Growing = 0
			}
			if d.Alert && float64(s.Growing) >= c.Run && seen > c.Share*s.Curvature {
				s.Curvature, s.Growing = math.Max(s.Curvature, math.Min(c.Raise*s.Curvature, s.Peak)), 0
			}
			s.Curvature, s.Seen = math.Max(s.Curvature, seen), seen
		}
	}
	e := c.Margin / s.Curvature
	if d.Cap > 0 {
		e = math.Min(e, d.Cap)
	}
	if math.IsInf(e, 1) {
		e = 1
	}
	e /= d.Scale
	b := d.Ramp
	if e > c.Leap*s.Step {
		b *= s.Step / e
	}
	if b > 0 {
		s.Length = b*s.Length + 1
	}
	s.Step = e
	v.Apply(problem.Step{Kind: problem.DescentStep, X: problem.Iterate, Direction: d.Direction, First: d.Velocity, Size: e, Momentum: b,
		Map: r.Map(e * (1 + b*s.Length))})
	v.taken = append(v.taken, *d)
}

// A device that computes the step size takes the steps of the host to the bit: also after Last, and
// from a checkpoint of the host or of the device. The device takes all moves after the first, and
// continues with its own state unless the host has read that state.
func TestSizedSteps(t *testing.T) {
	const moves, restored = 40, 25
	asked := []int{7, 8, 15, 30} // moves before which the caller asks for Last
	for name, c := range map[string]struct {
		set   Settings
		r     problem.Regularizer
		sized bool
	}{
		"nesterov": {Settings{}, problem.Regularizer{Kind: problem.L1, Weight: 0.1}, true},
		"capped":   {Settings{Eta: 0.1, Momentum: 0.52}, problem.Regularizer{Kind: problem.Ball, Radius: 0.7}, true},
		"gradient": {Settings{Kind: Gradient}, problem.Regularizer{Kind: problem.SquaredL2, Weight: 0.2}, true},
		"fixed":    {Settings{Fixed: true, Eta: 0.05}, problem.Regularizer{}, false},
	} {
		type trial struct {
			p    problem.Problem
			s    Step
			v    *sized // nil: the reference
			from int    // the moves before which the state was restored
		}
		build := func(onDevice bool, start []float64) *trial {
			p := newProblem(t, smoothTerms(c.r), start)
			r := &trial{p: p}
			if onDevice {
				r.v = newSized(p)
			}
			var err error
			if r.s, err = New(c.set, p); err != nil {
				t.Fatal(err)
			}
			return r
		}
		start := []float64{1, -0.5, 0.25}
		host, device := build(false, start), build(true, start)
		trials := []*trial{host, device}
		for k := range moves {
			if k == restored {
				for _, from := range []*trial{host, device} {
					other := build(from == host, iterate(from.p))
					other.from = k
					restore(from.s, from.p.Space(), other.s, other.p.Space())
					trials = append(trials, other)
				}
			}
			f := float64(k)
			dir := Direction{Coefficients: []float64{1, 0.5 + math.Sin(f), 1.5, math.Abs(3 * math.Cos(f*f))}}
			dir.Follows = k%5 != 1
			if k%9 == 4 {
				dir.ScheduledStep = 0.02
			}
			var want []float64
			var last float64
			for i, r := range trials {
				at := problem.NewPoint(r.p)
				at.Iteration = k
				require.NoError(t, at.Forward(r.p))
				if slices.Contains(asked, k) {
					if e := r.s.Last(); i == 0 {
						last = e
					} else if e != last {
						t.Fatalf("%s, before move %d: the step size is %v, want %v", name, k, e, last)
					}
				}
				require.NoError(t, r.s.Move(r.p, &at, dir))
				x := iterate(r.p)
				if i == 0 {
					want = x
				} else if !slices.Equal(x, want) {
					t.Fatalf("%s, move %d of trial %d: x = %v, want %v", name, k, i, x, want)
				}
				if r.v == nil || !c.sized || k == 0 {
					continue
				}
				taken := k
				if r.from > 0 {
					taken = k - r.from + 1
				}
				begins := k == 1 || k == restored || slices.Contains(asked, k)
				if n := len(r.v.taken); n != taken {
					t.Fatalf("%s, trial %d: the device took %d of the moves to %d, want %d", name, i, n, k, taken)
				} else if d := r.v.taken[n-1]; (d.Start != nil) != begins || d.Alert != (dir.Follows && c.set.Kind != Gradient) || d.Least != 0x1p-49 {
					t.Errorf("%s, move %d of trial %d: start %v, alert %v, least move %v", name, k, i, d.Start, d.Alert, d.Least)
				}
			}
		}
		if !c.sized && len(device.v.taken) > 0 {
			t.Errorf("%s: the device computed the step size", name)
		}
	}
}
