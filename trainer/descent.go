package trainer

import (
	"fmt"
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// improves notes whether a run has lowered f, and the largest violation, below those of the start.
type improves struct {
	objective, violation   float64 // at the start
	lowered, lessViolation bool
}

// newImproves starts at the point. A continued run has perhaps lowered them before.
func newImproves(at *problem.Point, continued bool) improves {
	return improves{at.Objective, problem.MaxViolation(at.Constraints), continued, continued}
}

// see notes the values at an iterate.
func (i *improves) see(at *problem.Point) {
	i.lowered = i.lowered || at.Objective < i.objective
	if !i.lessViolation {
		i.lessViolation = problem.MaxViolation(at.Constraints) < i.violation
	}
}

// checkDescent warns if f, or the constraint of the largest violation, has never fallen in a run to
// a limit, and does not fall along its negative gradient at the output either: the gradient is then
// wrong. A run that has lowered both costs no pass, and a sample of the rows is enough.
func (t *run) checkDescent(status Status) error {
	if t.at.Iteration == 0 || status == Converged || status == Infeasible || status == Interrupted {
		return nil
	}
	worst := 0
	for j, v := range t.fullAt.Constraints {
		if v > t.set.FeasibilityTolerance && (worst == 0 || v > t.fullAt.Constraints[worst-1]) {
			worst = j + 1
		}
	}
	for _, c := range []struct {
		term  int
		check bool
	}{{0, !t.improves.lowered}, {worst, worst > 0 && !t.improves.lessViolation}} {
		if !c.check {
			continue
		}
		if rises, err := t.rises(c.term); err != nil {
			return err
		} else if rises {
			name := "objective"
			if c.term > 0 {
				name = fmt.Sprintf("constraint %d", c.term)
			}
			t.warn(WarnGradient, fmt.Sprintf("the %s has not fallen in the run, and does not fall along its negative gradient: the gradient is probably wrong, "+
				"perhaps in sign (problem.CheckGradients compares gradients with finite differences)", name))
		}
	}
	return nil
}

// rises reports whether term 0 (f) or constraint number term falls along its gradient at the
// output, and not along its negative gradient, for any of several lengths. It is false if rounding
// errors decide, and at a kink, where the term may fall along neither. The rows are those of the
// sample if there is one. The iterate and the point stay.
func (t *run) rises(term int) (bool, error) {
	p, at := t.full, t.fullAt
	x, g, moved := make([]float64, len(t.x)), make([]float64, len(t.x)), make([]float64, len(t.x))
	p.Space().Read(x, problem.Iterate)
	u := p.Space().Roundoff() // scores of a sample have it, too
	if t.sample != nil {
		p, at = t.sample.Problem, &t.sampleAt
		p.Space().Write(problem.Iterate, x)
		if err := at.Forward(p); err != nil {
			return false, err
		}
	}
	space := p.Space()
	d := space.New()
	defer space.Free(d)
	w := make([]float64, 1+len(at.Constraints))
	w[term] = 1
	if err := at.Refresh(p); err != nil {
		return false, err
	}
	if err := p.Backward(w, d); err != nil {
		return false, err
	}
	space.Read(g, d)
	norm, size := vec.Norm(g), 1+vec.Norm(x)
	if norm == 0 || math.IsInf(norm, 0) {
		return false, nil
	}
	values := make([]float64, len(at.Constraints))
	value := func(length float64) (float64, error) {
		for i := range moved {
			moved[i] = x[i] + length*size/norm*g[i]
		}
		space.Write(problem.Iterate, moved)
		f, err := p.Forward(values)
		return append([]float64{f}, values...)[term], err
	}
	here := append([]float64{at.Objective}, at.Constraints...)[term]
	rises, felt := true, false
	for _, length := range []float64{math.Pow(u, 1.0/8), math.Pow(u, 1.0/4), math.Cbrt(u)} {
		noise := 32 * u * (1 + math.Abs(here))
		down, err := value(-length)
		if err != nil {
			return false, err
		}
		if down < here || length*size*norm < noise { // it falls, or nothing can be seen
			rises = false
			break
		}
		if !felt {
			up, err := value(length)
			if err != nil {
				return false, err
			}
			felt = up < here-noise
		}
	}
	space.Write(problem.Iterate, x)
	at.Restore(at.Objective, at.Constraints)
	return rises && felt, at.Refresh(p)
}
