package method

import (
	"cmp"
	"fmt"

	"ppal/internal/option"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// ProximalPoint holds the settings that the inexact proximal point methods IPPSSG and IPPConEx
// share. From a centre x_c the methods take Inner steps on the strongly convex problem
//
//	minimise f~ + r  subject to  g~_j <= 0,
//	f~ = f + (rho^/2)||. - x_c||^2,  g~_j = g_j + (rho^/2)||. - x_c||^2.
//
// A weighted mean of the inner iterates is the next centre (Boob, Deng and Lan, "Stochastic
// First-order Methods for Convex and Nonconvex Functional Constrained Optimization", Mathematical
// Programming 2022, section 3). An iteration is an inner step. Records and the result describe the
// current mean, the next centre if the loop ends after this step (trainer.Returner). OutputRandom
// draws among the centres, as the theory does.
type ProximalPoint struct {
	// RhoHat is rho^ > 0. rho^ must exceed the moduli of weak convexity of f and g. 0 is the default:
	// twice Modulus, but at least a tenth of the largest curvature of f. For convex functions the
	// default is a tenth of the curvature.
	RhoHat float64
	// Modulus is the largest modulus of weak convexity of f and the g_j. 0 is the default: half of
	// RhoHat if RhoHat is set, else an estimate at the start. The estimate costs 18 gradients for f,
	// 18 gradients for each of up to 4 terms of the constraints, and 1 more gradient, all counted
	// (estimate.Curvatures).
	Modulus float64
	// Inner is the number N of inner steps; for IPPSSG, the first N. 0 is the default, 10.
	Inner int
}

const (
	// DefaultInnerLoop is the default of ProximalPoint.Inner.
	DefaultInnerLoop = 10
)

// validate checks the settings; name is the method in the errors, which wrap problem.ErrSettings.
func (s ProximalPoint) validate(name string) error {
	if err := estimate.CheckProximity(name, s.RhoHat, s.Modulus); err != nil {
		return err
	}
	if s.Inner < 0 {
		return fmt.Errorf("method: %w: the number of inner steps of %s is %d, want a positive number", problem.ErrSettings, name, s.Inner)
	}
	return nil
}

// proximalLoop is the outer loop: the centre x_c, and the mean that becomes the next centre.
type proximalLoop struct {
	set          ProximalPoint
	measure      bool // measure the curvature at the first centre
	terms        *estimate.Terms
	measured     estimate.Curvature
	rho, strong  float64 // rho^, and rho^ - modulus; 0 before the first centre
	inner        int     // N
	t            int     // inner steps since the centre
	total        float64 // sum of the mean's weights
	center, mean problem.Vector
	d            problem.Vector // scratch
	bound        []float64      // bound of each constraint's subgradients at the centre
}

// newProximalLoop returns the loop before its first centre. measure requires the curvature even if
// the user sets rho^.
func newProximalLoop(set ProximalPoint, measure bool, p problem.Problem) proximalLoop {
	l := proximalLoop{set: set, measure: measure || set.RhoHat == 0, inner: set.Inner, terms: estimate.NewTerms(p),
		bound: make([]float64, problem.Constraints(p)), center: p.Space().New(), mean: p.Space().New(), d: p.Space().New()}
	if l.inner == 0 {
		l.inner = DefaultInnerLoop
	}
	return l
}

// open makes the iterate the centre, and chooses rho^ at the first centre.
func (l *proximalLoop) open(p problem.Problem, at *problem.Point) (err error) {
	if l.rho == 0 {
		if l.measure {
			if l.measured, err = estimate.Curvatures(p, at, true); err != nil {
				return err
			}
		}
		l.rho, l.strong = estimate.Proximity(l.set.RhoHat, l.set.Modulus, l.measured)
	}
	p.Space().Combine(l.center, 1, problem.Iterate, 0, problem.Iterate)
	l.total = 0
	return nil
}

// bounds sets l.bound, the bound of each constraint's subgradients, at the centre.
func (l *proximalLoop) bounds(at *problem.Point) error { return l.terms.Bounds(at, l.bound, l.d) }

// proximity returns (rho^/2)||x - x_c||^2.
func (l *proximalLoop) proximity(p problem.Problem) float64 {
	distance := p.Space().Distance(problem.Iterate, l.center)
	return l.rho / 2 * distance * distance
}

// descend sets x = x - step (d + weight rho^ (x - x_c)). weight is the sum of the coefficients of
// f~ and the g~_j in d.
func (l *proximalLoop) descend(p problem.Problem, step float64, d problem.Vector, weight float64) {
	pull := step * weight * l.rho
	p.Space().Combine(problem.Iterate, 1-pull, problem.Iterate, pull, l.center)
	p.Space().Combine(problem.Iterate, 1, problem.Iterate, -step, d)
}

// add includes the iterate in the mean with the given weight.
func (l *proximalLoop) add(p problem.Problem, weight float64) {
	l.total += weight
	share := weight / l.total
	p.Space().Combine(l.mean, 1-share, l.mean, share, problem.Iterate)
}

// advance counts an inner step, evaluates the iterate and calls the observer. After the last inner
// step, advance makes the next centre the iterate, evaluates f and g, and returns ended = true. The
// next centre is the mean, or the last iterate if the mean is empty.
func (l *proximalLoop) advance(p problem.Problem, at *problem.Point, observer innerObserver) (ended bool, err error) {
	l.t++
	if err := at.SampleAndForward(p, at.Iteration+1); err != nil {
		return false, err
	}
	observer.see(p, at)
	if l.t < l.inner {
		return false, nil
	}
	moved := l.moveToMean(p)
	l.t = 0
	if !moved {
		return true, nil
	}
	return true, at.Forward(p)
}

// innerObserver sees each inner iterate. The method that owns the proximalLoop implements see.
type innerObserver interface {
	see(p problem.Problem, at *problem.Point)
}

// moveToMean makes the mean the iterate. It returns false if the iterate is a centre or the mean is
// empty.
func (l *proximalLoop) moveToMean(p problem.Problem) bool {
	if l.t == 0 || l.total == 0 {
		return false
	}
	p.Space().Combine(problem.Iterate, 1, l.mean, 0, l.mean)
	return true
}

// outputWeight returns 1 if the iterate is a centre, else 0.
func (l *proximalLoop) outputWeight() float64 {
	if l.t == 0 {
		return 1
	}
	return 0
}

// conclude returns a note with rho^ if the loop chose rho^, and a warning if the user's rho^ is too
// small. flag is the option that sets rho^.
func (l *proximalLoop) conclude(flag string) (warnings, notes []string) {
	switch {
	case l.rho == 0:
		return nil, nil
	case l.set.RhoHat > 0 && l.measured.Weak >= l.set.RhoHat:
		return []string{fmt.Sprintf("rho^ = %.3g is at most the modulus of weak convexity estimated at the start, %.3g: the proximal "+
			"problems may not be convex (raise %s)", l.rho, l.measured.Weak, flag)}, nil
	case l.set.RhoHat > 0:
		return nil, nil
	}
	return nil, []string{fmt.Sprintf("rho^ = %.3g, from the modulus of weak convexity, %.3g, and the curvature of f, %.3g, estimated at the start",
		l.rho, cmp.Or(l.set.Modulus, l.measured.Weak), l.measured.Objective)}
}

// visitState shows the state of the loop to v.
func (l *proximalLoop) visitState(v problem.StateVisitor) {
	v.Count("proximal.t", &l.t)
	v.Count("proximal.inner", &l.inner)
	v.Number("proximal.total", &l.total)
	v.Number("proximal.rho", &l.rho)
	v.Number("proximal.strong", &l.strong)
	v.Number("proximal.weak", &l.measured.Weak)
	v.Number("proximal.objective", &l.measured.Objective)
	v.Number("proximal.constraint", &l.measured.Constraint)
	v.Numbers("proximal.bound", l.bound)
	v.Vector("proximal.center", l.center)
	v.Vector("proximal.mean", l.mean)
}

// rhoOption returns the option with the given name that sets RhoHat.
func (s *ProximalPoint) rhoOption(name string) *option.Option {
	return option.NumberOr(name, &s.RhoHat, option.Positive, "auto",
		"set rho^ of the proximal problems; auto: twice the modulus of weak convexity measured at the start")
}
