package step

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/trainer/problem"
)

// keeper is a problem.StateVisitor that keeps a state, or restores the kept state.
type keeper struct {
	space   *problem.Space
	kept    map[string][]float64
	restore bool
}

func (k keeper) Numbers(name string, x []float64) {
	if k.restore {
		copy(x, k.kept[name])
	} else {
		k.kept[name] = slices.Clone(x)
	}
}

func (k keeper) Number(name string, x *float64) {
	v := []float64{*x}
	k.Numbers(name, v)
	*x = v[0]
}

func (k keeper) Count(name string, n *int) {
	x := float64(*n)
	k.Number(name, &x)
	*n = int(x)
}

func (k keeper) Vector(name string, v problem.Vector) {
	x := make([]float64, k.space.Len())
	k.space.Read(x, v)
	k.Numbers(name, x)
	k.space.Write(v, x)
}

// visitor is the part of a step that a checkpoint holds.
type visitor interface{ VisitState(problem.StateVisitor) }

// restore copies the state of one step to another step, whose problem has the space.
func restore(from visitor, fromSpace *problem.Space, to visitor, toSpace *problem.Space) map[string][]float64 {
	kept := map[string][]float64{}
	from.VisitState(keeper{space: fromSpace, kept: kept})
	to.VisitState(keeper{space: toSpace, kept: kept, restore: true})
	return kept
}

// failing is a problem whose passes fail from the pass with the number from.
type failing struct {
	problem.Piecewise
	passes, from *int
}

var errFailing = errors.New("the pass fails")

func (f failing) fails() bool { *f.passes++; return *f.passes >= *f.from }

func (f failing) Forward(g []float64) (float64, error) {
	if f.fails() {
		return 0, errFailing
	}
	return f.Piecewise.Forward(g)
}

func (f failing) Backward(c []float64, d problem.Vector) error {
	if f.fails() {
		return errFailing
	}
	return f.Piecewise.Backward(c, d)
}

func (f failing) BackwardTerms(c []float64, d problem.Vector) error {
	if f.fails() {
		return errFailing
	}
	return f.Piecewise.BackwardTerms(c, d)
}

// wall is f = x for x >= 1, and NaN below, with the constraint |h| <= 1 for h = -1.
func wall() problem.Functions {
	return problem.Functions{N: 1, M: 1, Pieces: problem.Abs(1),
		F: func(x []float64) float64 {
			if x[0] < 1 {
				return math.NaN()
			}
			return x[0]
		},
		Gradient:  func(d, _ []float64) { d[0] = 1 },
		G:         func(g, _ []float64) { g[0] = -1 },
		JacobianT: func(d, _, _ []float64) { d[0] = 0 }}
}

// mover returns the move of a step with multipliers of 1, and of lbfgs with a penalty of 1.
func mover(kind string, p problem.Problem, at *problem.Point) (move func() error, err error) {
	m := problem.Constraints(p)
	if kind == "lbfgs" {
		q, err := NewQuasiNewton(p)
		phi := Augmented{Multipliers: make([]float64, m), Penalty: 1}
		return func() error {
			if _, _, err := q.Predict(p, at, phi); err != nil {
				return err
			}
			_, err := q.Try(p, at, phi)
			return err
		}, err
	}
	var s Step
	switch kind {
	case "inner":
		s, err = NewInner(Settings{}, 3, p)
	case "proxlinear":
		s, err = NewProxLinear(Settings{}, p)
	default:
		k, _ := Parse(kind)
		s, err = New(Settings{Kind: k}, p)
	}
	return func() error { return s.Move(p, at, Direction{Coefficients: slices.Repeat([]float64{1}, 1+m)}) }, err
}

// Each step returns the error of the first pass that fails, whichever of its passes that is. With
// the wall, no probe of the curvature and no quasi-Newton step succeeds.
func TestStepsReturnErrors(t *testing.T) {
	for name, fn := range map[string]problem.Functions{"finite": threeTerms(problem.Abs(0.1, 0.2, 0.3)), "wall": wall()} {
		for _, kind := range []string{"nesterov", "adam", "inner", "proxlinear", "lbfgs"} {
			// run makes three moves whose pass number from fails, and returns the number of passes.
			run := func(from int) (passes int, err error) {
				f := failing{Piecewise: problem.FeaturesOf(newProblem(t, fn, slices.Repeat([]float64{1}, fn.N))).Pieces, passes: new(int), from: &from}
				p := problem.Problem(f)
				if kind == "lbfgs" {
					p = problem.Split(f)
				}
				at := problem.NewPoint(p)
				if err := at.Forward(p); err != nil {
					return 0, err
				}
				move, err := mover(kind, p, &at)
				for range 3 {
					if err == nil {
						err = move()
					}
				}
				return *f.passes, err
			}
			passes, err := run(math.MaxInt)
			if err != nil || passes < 4 {
				t.Fatalf("%s, %s: %d passes, %v", kind, name, passes, err)
			}
			for from := 2; from <= passes; from++ {
				if done, err := run(from); !errors.Is(err, errFailing) || done != from {
					t.Errorf("%s, %s: pass %d of %d fails, but the step returns %v after %d", kind, name, from, passes, err, done)
				}
			}
		}
	}
}
