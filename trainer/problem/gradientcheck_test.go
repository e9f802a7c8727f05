package problem_test

import (
	"errors"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// smooth returns a problem of n variables with two constraints whose gradients are right.
func smooth(n int) problem.Functions {
	return problem.Functions{N: n, M: 2,
		F: func(x []float64) (f float64) {
			for i, v := range x {
				f += math.Exp(v/2)/float64(i+1) + v*v
			}
			return f
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = math.Exp(v/2)/2/float64(i+1) + 2*v
			}
		},
		G: func(dst, x []float64) {
			dst[0], dst[1] = -1, 1e3*x[0]
			for _, v := range x {
				dst[0] += math.Sin(v)
			}
		},
		JacobianT: func(dst, x, w []float64) {
			for i, v := range x {
				dst[i] = w[0] * math.Cos(v)
			}
			dst[0] += 1e3 * w[1]
		},
	}
}

func starting(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Sin(float64(3*i + 1))
	}
	return x
}

// Right gradients pass. A wrong sign and one wrong coordinate are found and named, in f and in each
// constraint, for few and for many variables, by the thorough check and by the one of two passes.
func TestGradientsAreChecked(t *testing.T) {
	for _, n := range []int{1, 2, 7, 300} {
		last := n - 1
		for _, c := range []struct {
			name                   string
			spoil                  func(fn *problem.Functions)
			constraint, coordinate int // -1: any coordinate, or none
			right                  bool
		}{
			{name: "right", spoil: func(*problem.Functions) {}, right: true},
			{name: "sign of f", coordinate: -1, spoil: func(fn *problem.Functions) {
				of := fn.Gradient
				fn.Gradient = func(dst, x []float64) {
					of(dst, x)
					for i := range dst {
						dst[i] = -dst[i]
					}
				}
			}},
			{name: "one coordinate of f", coordinate: last, spoil: func(fn *problem.Functions) {
				of := fn.Gradient
				fn.Gradient = func(dst, x []float64) { of(dst, x); dst[last] *= 1.5 }
			}},
			{name: "sign of g1", constraint: 1, coordinate: -1, spoil: func(fn *problem.Functions) {
				of := fn.JacobianT
				fn.JacobianT = func(dst, x, w []float64) { of(dst, x, []float64{-w[0], w[1]}) }
			}},
			{name: "one coordinate of g2", constraint: 2, coordinate: last, spoil: func(fn *problem.Functions) {
				of := fn.JacobianT
				fn.JacobianT = func(dst, x, w []float64) { of(dst, x, w); dst[last] += 20 * w[1] }
			}},
			{name: "zero gradient of f", coordinate: -1, spoil: func(fn *problem.Functions) {
				fn.Gradient = func(dst, x []float64) { clear(dst) }
			}},
		} {
			fn := smooth(n)
			c.spoil(&fn)
			for name, check := range map[string]func(problem.Problem) error{"gradients": problem.CheckGradients, "direction": problem.CheckDirection} {
				p, err := fn.New(starting(n))
				require.NoError(t, err)
				err = check(p)
				after := make([]float64, n)
				p.Space().Read(after, problem.Iterate)
				for i, x := range starting(n) {
					if after[i] != x {
						t.Fatalf("%s, %d variables, %s: the check moved x[%d]", c.name, n, name, i)
					}
				}
				var wrong *problem.GradientError
				switch {
				case c.right && err != nil:
					t.Errorf("%s, %d variables, %s: %v", c.name, n, name, err)
				case c.right:
				case !errors.As(err, &wrong) || !errors.Is(err, problem.ErrSettings):
					t.Errorf("%s, %d variables, %s: error %v", c.name, n, name, err)
				case wrong.Constraint != c.constraint || c.coordinate >= 0 && wrong.Coordinate != c.coordinate:
					t.Errorf("%s, %d variables, %s: %+v", c.name, n, name, wrong)
				}
			}
		}
	}
}

// A nil problem is an error.
func TestNilIsChecked(t *testing.T) {
	for _, check := range []func(problem.Problem) error{problem.CheckGradients, problem.CheckDirection} {
		if err := check(nil); !errors.Is(err, problem.ErrSettings) {
			t.Error(err)
		}
	}
}

// Subgradients at a kink are right, and numbers outside the derivatives of both sides are wrong.
func TestGradientsAtKinks(t *testing.T) {
	for slope, right := range map[float64]bool{-1: true, 0: true, 0.3: true, 1: true, 1.2: false, -1.2: false} {
		fn := problem.Functions{N: 1, F: func(x []float64) float64 { return math.Abs(x[0]) },
			Gradient: func(dst, _ []float64) { dst[0] = slope }}
		p := require.Value(fn.New([]float64{0}))(t)
		if err := problem.CheckGradients(p); (err == nil) != right {
			t.Errorf("abs with the slope %v at 0: %v", slope, err)
		}
	}
}

// meter counts the passes of a problem.
type meter struct {
	problem.Problem
	forward, backward int
}

func (p *meter) Forward(g []float64) (float64, error) { p.forward++; return p.Problem.Forward(g) }
func (p *meter) Backward(w []float64, d problem.Vector) error {
	p.backward++
	return p.Problem.Backward(w, d)
}

// The costs are those of the documentation.
func TestPassesOfGradientChecks(t *testing.T) {
	p := require.Value(smooth(20).New(starting(20)))(t)
	one, all := &meter{Problem: p}, &meter{Problem: p}
	if err := problem.CheckDirection(one); err != nil || one.forward != 3 || one.backward != 1 {
		t.Errorf("one direction: %v, %d forward and %d backward passes, want 3 and 1", err, one.forward, one.backward)
	}
	if err := problem.CheckGradients(all); err != nil || all.forward != 11 || all.backward != 3 {
		t.Errorf("all: %v, %d forward and %d backward passes, want 11 and 3", err, all.forward, all.backward)
	}
}
