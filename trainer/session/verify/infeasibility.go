package verify

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// gradients is the largest number of gradients in the scale of the proof's stationarity
// (certify.Infeasibility).
const gradients = 8

// proofTolerance is the relative tolerance of the gradients in a proof of infeasibility, which the
// training device computed.
const proofTolerance = 1e-4

// infeasibility recomputes the proof that the constraints cannot be met: at its point, the
// combination y = max(0, g)/||max(0, g)||_1 of the constraints is positive and stationary.
func (c *check) infeasibility() error {
	s, r := &c.summary, c.report
	proof := s.Infeasibility
	switch {
	case (proof != nil) != (s.Status == string(trainer.Infeasible)):
		r.problem("infeasibility: the status is %s, and summary.json has a proof: %t", s.Status, proof != nil)
		return nil
	case proof == nil:
		return nil
	}
	if c.content[c.dir.Infeasible()] == nil {
		if s.Files[filepath.Base(c.dir.Infeasible())] == "" {
			r.skip("the proof of infeasibility: there is no infeasible.safetensors")
		}
		return nil // a missing file with a checksum is a problem already
	}
	f, err := c.weights(c.dir.Infeasible(), nil)
	if err != nil {
		return err
	}
	if len(proof.Constraints) != len(s.Constraints) {
		return fmt.Errorf("infeasibility: summary.json has %d constraints, the task has %d", len(proof.Constraints), len(s.Constraints))
	}
	n := f.as(false, nil)
	c.shifts = proof.BoundShifts
	defer func() { c.shifts = nil }()
	at := c.at(n)
	e, change := c.recorded(at.scores), c.sensitivity(f, at, nil, nil)
	allowed := func(v, by float64) number {
		return number{v, by + change.value + recordTolerance*(1+math.Abs(v)), true}
	}
	for j, g := range at.g {
		r.compare(sectionProof, fmt.Sprintf("infeasibility.constraints[%d]", j), proof.Constraints[j], allowed(g, e.g[j]))
	}
	most := slices.Max(e.g)
	r.compare(sectionProof, "infeasibility.max_violation", proof.MaxViolation, allowed(slices.Max(at.g), most))
	if m := c.in.System.Margins; m != nil && m.Form == constraints.Maximum {
		r.skip("the stationarity of the proof of infeasibility: it combines the pieces of a maximum")
		return nil
	}
	return c.combination(proof, n, at, most)
}

// excess compares the name and the excess of a constraint of a conflict with the values of g.
func (c *check) excess(one *results.Conflicting, g []float64) {
	for j, constraint := range c.in.Constraints {
		if one.Constraint == constraint.Name || one.Constraint == fmt.Sprintf("%s <= %v", constraint.Name, constraint.Bound) {
			c.report.exact(sectionProof, "infeasibility.conflict.excess of "+one.Constraint, one.Excess, g[j])
			return
		}
	}
	c.report.problem("infeasibility.conflict: the run has no constraint %q", one.Constraint)
}

// combination compares the shares, the relaxation, and the residual of the combination with the
// proof. e is the largest error of g.
func (c *check) combination(proof *results.Infeasibility, n model, at point, e float64) error {
	r := c.report
	y, total := make([]float64, len(at.g)), 0.0
	for _, g := range at.g {
		total += max(0, g)
	}
	if total <= 0 {
		r.problem("infeasibility: the point of infeasible.safetensors meets all constraints")
		return nil
	}
	var violated []int
	relaxation := 0.0
	for j, g := range at.g {
		if y[j] = max(0, g) / total; g > 0 {
			violated = append(violated, j)
		}
		relaxation += y[j] * g
	}
	tolerance := proofTolerance + 2*e/total*float64(len(y))
	r.compare(sectionProof, "infeasibility.relaxation", proof.Relaxation, number{relaxation, tolerance * (1 + relaxation), true})
	slices.SortStableFunc(violated, func(a, b int) int { return cmp.Compare(y[b], y[a]) })
	for k := range max(len(violated), len(proof.Conflict)) {
		share, reported := 0.0, 0.0
		if k < len(violated) {
			share = y[violated[k]]
		}
		if k < len(proof.Conflict) {
			reported = proof.Conflict[k].Share
			c.excess(&proof.Conflict[k], proof.Constraints)
		}
		r.compare(sectionProof, fmt.Sprintf("infeasibility.conflict[%d].share", k), reported, number{share, tolerance, true})
	}
	// The gradient of f is the same in both, so the difference is the gradient of y.g.
	base, _ := c.lagrangian(n, at.scores, make([]float64, len(y)))
	gradient := func(w []float64) []float64 {
		v, _ := c.lagrangian(n, at.scores, w)
		addTo(v, base, -1)
		return v
	}
	lengths, sum := 0.0, 0.0
	for _, j := range violated[:min(len(violated), gradients)] {
		one := make([]float64, len(y))
		one[j] = 1
		lengths += y[j] * norm(gradient(one))
		sum += y[j]
	}
	boundary := boundary64
	if c.in.Float32 {
		boundary = boundary32
	}
	domain := c.in.Regularizer
	if domain.Kind != problem.Ball && domain.Kind != problem.Box {
		domain = problem.Regularizer{}
	}
	residual := norm(stationary(&domain, n.ends(), at.x, gradient(y), boundary))
	scale := lengths / sum
	r.compare(sectionProof, "infeasibility.stationarity", proof.Stationarity, number{residual / scale, tolerance, true})
	if proof.Radius == 0 {
		r.skip("infeasibility.radius: an earlier version of ppal wrote none")
		return nil
	}
	size := 1 + norm(at.x)
	radius := func(residual float64) float64 { return relaxation / residual / size }
	low, high := radius(residual+tolerance*scale), radius(max(0, residual-tolerance*scale))
	if proof.Radius < low*(1-tolerance) || proof.Radius > high*(1+tolerance) {
		r.problem("infeasibility.radius: summary.json says %v, the check computes %v", proof.Radius, radius(residual))
	}
	if claimed := (&certify.Infeasibility{Stationarity: proof.Stationarity, Radius: proof.Radius}); !claimed.Proves() {
		r.problem("infeasibility: a stationarity of %.3g and a radius of %.3g prove no conflict", proof.Stationarity, proof.Radius)
	}
	return nil
}
