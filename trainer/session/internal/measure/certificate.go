package measure

import (
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// sphereOfFloat32 is the largest relative distance from the sphere of the ball at which float32
// weights count as points on the sphere.
const sphereOfFloat32 = 1e-6

// Certify evaluates and certifies the iterate of p, a task with m constraints in float64, after the
// training r. single says that the training computed in float32, and solved has the rounds of
// feedback; nil: none. search says that the training has not searched for a better multiplier than
// the method's own, which Certify then does in one pass over the rows. If the training proved that
// the bounds cannot be met, Certify replaces the numbers of the proof in r.
func Certify(p problem.Problem, m int, r *trainer.Result, single, search bool, solved *Solution) (at problem.Point, c certify.Certificate, err error) {
	at.Constraints = make([]float64, m)
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		return at, c, err
	}
	var set certify.Settings
	if single {
		set.Sphere = sphereOfFloat32
	}
	if set.Together = search; search {
		c, err = certify.Better(p, &at, r.Certificate.MethodNu(), nil, set)
	} else {
		c, err = certifyBetter(p, &at, r.Certificate, set)
	}
	if err != nil || !single {
		return at, c, err
	}
	return at, c, measureProof(p, r, set.Sphere, solved)
}

// measureProof replaces the numbers of a proof of infeasibility by the numbers of p, the smooth
// problem in float64, because the gradients of saturated sigmoids are small in float32 and inexact.
// A proof that p does not confirm stays as it is.
func measureProof(p problem.Problem, r *trainer.Result, sphere float64, solved *Solution) error {
	if r.Infeasible == nil {
		return nil
	}
	if smooth, ok := p.(*problem.Affine); ok && solved != nil {
		best, rounds := smooth.Map().Shifts(), solved.Rounds.Rounds
		if err := smooth.Map().SetShifts(rounds[len(rounds)-1].Shifts); err != nil {
			return err
		}
		defer func() { _ = smooth.Map().SetShifts(best) }() // they were valid
	}
	x := make([]float64, p.Space().Len())
	p.Space().Read(x, problem.Iterate)
	defer p.Space().Write(problem.Iterate, x)
	proof, err := certify.MeasureViolation(p, r.Infeasible.X, certify.InfeasibleSettings{Sphere: sphere})
	if err == nil && proof.Proves() {
		r.Infeasible = proof
	}
	return err
}

// certifyBetter certifies the iterate of p with the multiplier of the training loop's certificate
// and, if that certificate replaced the method's own multiplier, with the method's own, and returns
// the better certificate. certifyBetter does not search for a multiplier again, because the passes
// of p are slow.
func certifyBetter(p problem.Problem, at *problem.Point, trained certify.Certificate, s certify.Settings) (c certify.Certificate, err error) {
	if trained.Own == nil {
		c, err = certify.Measure(p, at, trained.Nu, s)
	} else {
		c, err = certify.Better(p, at, trained.Own.Nu, trained.Nu, s)
	}
	c.NotResolved = trained.NotResolved
	return c, err
}
