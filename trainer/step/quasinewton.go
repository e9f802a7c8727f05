package step

import (
	"fmt"
	"math"
	"slices"

	"ppal/trainer/problem"
)

// QuasiNewton minimises an augmented Lagrangian phi plus r by trust-region steps. With the gradient
// d = grad phi(x) and a BFGS model B of the Hessian from the last 20 pairs of moves and gradient
// changes, a step solves
//
//	minimise  <d, z> + z^T B z/2 + r(x + z)  over ||z|| <= Delta
//
// exactly, for r = 0, the ball and the squared norm (see spanModel and region). If Delta cuts the
// step, the step's length is Delta up to 1e-4. The iterate moves if phi + r falls by more than 1e-4
// of the predicted decrease. The pair of a rejected step stays, too.
//
// With scales T (problem.Scaled) and without a ball, the step works in the variables u of x = T u:
// x, z and all norms are in these variables. r is then part of phi, of d and of B (see scaling).
//
// Delta halves after a poor step, doubles after a good step, and is at most c (1 + ||x||). The
// first c is
//   - 0.05 for problems with hidden layers,
//   - 0.1 for the same with whitened scales (Scales.Whiten), and without hidden layers
//     (problem.Shallow),
//   - 0.5 without hidden layers, with whitened scales.
//
// On networks with saturating losses, longer steps leave some rows with the wrong sign for ever,
// and the run ends in a worse local minimum. With whitened scales and without hidden layers, the
// square of the length of the variables is about the sum over the scores of their mean squares, so
// that c bounds the change of the scores.
//
// While the longest steps decrease phi by less than a twentieth each, c doubles, because these
// steps are too short (linear models from x = 0). c also doubles after a longest step if phi was a
// parabola along the last two steps, so that no saturating loss is near (quadratic programs): the
// part of the decrease beyond second order, phi(x) - phi(x+) + <d + d+, s>/2, is at most 1e-3 of
// the part of second order, <d+ - d, s>/2 > 0.
//
// Without A (see below), all pairs are differences of gradients with the same multipliers and the
// same penalty: the change of J^T w with w does not enter them.
//
// With at most 32 constraints, no ball, and no hidden layers or a whitened first layer, the step
// also has a secant approximation A of the Jacobian of the constraints (see jacobian), which costs
// no pass. B is then a BFGS model of the Hessian of the Lagrangian, with damped pairs (see
// spanModel.correct), and the step minimises
//
//	<d, z> + z^T B z/2 + r(x + z) + sum_j p_j(<a_j, z>)  over ||z|| <= Delta,
//
// where p_j is the part of phi beyond first order in the constraint j (see piecewise). So the model
// has the curvature of the penalty, knows where constraints become active, and keeps its pairs when
// the multipliers or the penalty change. After such a change, d + A^T (w+ - w) is an estimate of
// the gradient. If the step from an estimate is rejected, or predicts a decrease below the rounding
// errors of phi, the next step has the true gradient. Delta is then at least 1e-3 (1 + ||x||),
// because a small Delta belongs to the end of an earlier search.
//
// If the predicted or the measured decrease is below the rounding errors of phi, the step compares
// gradients instead: -<d + d+, s>/2 is the decrease to second order. Steps below the rounding of x
// end the search (Predict returns 0) until the multipliers change.
//
// If the problem has coarse passes (problem.Graded), the passes are of the coarsest grade from the
// first trial on, and rise from grade to grade. They never fall. They leave a grade with rounding
// errors when the model predicts a decrease below the rounding errors of phi in that grade, or
// plans a step whose length is below 64 of its roundoffs of 1 + ||x||. They leave a sample of the
// rows when the sample misleads the step (see sampling). After a rise, f, g and d are computed
// again, and the pairs stay. If the coarsest grade is a sample, the first gradient is of this
// sample, so that both gradients of each pair see the same rows.
//
// The step needs the exact problem: no mini-batches. Across kinks (relu) the model may mislead and
// the search may end early, so no default takes the step there. It costs a forward and a backward
// pass. If a multiplier update or a record follows a rejected step, it costs one more forward pass.
// With A, an update of the multipliers usually costs no pass. The vectors stay on the device: 2 x
// 20 vectors of the pairs, four more, and for A one for each constraint and one more. The host gets
// their inner products (see pairs). Each step reads the 40 vectors twice: for the inner products
// and for the step itself; with A, a third time for the products of its rows. With scales there is
// another vector, T^-1 x, and the host multiplies three vectors by T, T^T or T^-1 in each step.
//
// Sources: Nocedal and Wright, Numerical Optimization, 2nd edition, chapters 4 and 7; Hager and
// Zhang, SIAM J. Optim. 16, 2005 (decrease below rounding); Griewank and Walther, Optim. Methods
// Softw. 17, 2002 (Jacobian from secants and adjoints).
type QuasiNewton struct {
	pairs
	d         problem.Vector // the gradient at the iterate, if current; see scaling.gradient
	trial     problem.Vector // the gradient at the trial point
	start     problem.Vector // the iterate before the trial
	current   bool           // d belongs to the iterate and the multipliers
	known     bool           // d belongs to the iterate and the weights of A
	estimated bool           // d is an estimate by A
	radius    float64        // Delta; 0 before the first step
	limit     float64        // c
	least     float64        // the first and least c
	length    float64        // ||z|| of the last plan; NaN before the first
	cubic     float64        // the part of the last decrease beyond second order, see parabola
	bent      bool           // see Bent
	restarted bool           // the search began again since the last accepted step
	exhausted bool           // steps are below the rounding of x
	graded    problem.Graded // the problem, if its passes have grades
	stage     int            // firstPass, or 1 + the grade of the passes
	sampling  sampling
	scaling   scaling

	coefficients, g []float64
	plan            plan
	model           spanModel
	pieces          piecewise
}

const (
	leastRatio     = 1e-4
	leastMove      = 2    // unit roundoffs of 1 + ||x||: shorter steps give up
	restartRadius  = 1e-3 // Delta without pairs near rounding, relative to 1 + ||x||
	noiseRoundoffs = 16
	coarseMove     = 64 // coarse roundoffs of 1 + ||x||: shorter steps need a finer grade
)

// firstPass is the stage before the first trial, with accurate passes. The next stage is that of
// the coarsest grade.
const firstPass = 0

// NewQuasiNewton returns the step for p, without pairs. It returns an error that wraps
// problem.ErrSettings if the step cannot train p.
func NewQuasiNewton(p problem.Problem) (*QuasiNewton, error) {
	if reason := QuasiNewtonLacks(p); reason != "" {
		return nil, fmt.Errorf("step: %w: primal lbfgs: %s", problem.ErrSettings, reason)
	}
	m, f, scaling := problem.Constraints(p), problem.FeaturesOf(p), newScaling(p)
	q := &QuasiNewton{pairs: newPairs(p.Space(), secantRows(p, f.Shallow || scaling.whitened())), d: p.Space().New(), trial: p.Space().New(), start: p.Space().New(),
		limit: networkLimit, length: math.NaN(), cubic: math.Inf(1),
		coefficients: make([]float64, 1+m), g: make([]float64, m), scaling: scaling}
	q.coefficients[0] = 1
	switch {
	case f.Shallow && q.scaling.whitened():
		q.limit = whitenedLimit
	case f.Shallow || q.scaling.whitened():
		q.limit = shallowLimit
	}
	q.least = q.limit
	q.graded = f.Graded
	return q, nil
}

// On reports whether the vectors belong to the space.
func (q *QuasiNewton) On(space *problem.Space) bool { return q.space == space }

// Free frees the vectors.
func (q *QuasiNewton) Free() {
	for _, v := range slices.Concat(q.s, q.y, []problem.Vector{q.d, q.trial, q.start}) {
		q.space.Free(v)
	}
	q.scaling.free(q.space)
	q.jacobian.free(q.space)
}

// QuasiNewtonRefuses returns why QuasiNewton is no default for p, as a clause, or "" if it may be
// one.
func QuasiNewtonRefuses(p problem.Problem) string {
	if reason := QuasiNewtonLacks(p); reason != "" || !problem.FeaturesOf(p).Kinks {
		return reason
	}
	return "the problem has kinks"
}

// QuasiNewtonLacks returns why QuasiNewton cannot train p, as a clause, or "". It needs all rows in
// each step, no maxima of functions, and the regularizer none, ball or l2.
func QuasiNewtonLacks(p problem.Problem) string {
	f := problem.FeaturesOf(p)
	switch {
	case f.Batches != nil:
		return "the steps see a sample of the rows"
	case f.Pieces != nil:
		return "the problem has kinks"
	}
	switch kind := p.Space().Regularizer.Kind; kind {
	case problem.NoRegularizer, problem.Ball, problem.SquaredL2:
		return ""
	default:
		return fmt.Sprintf("the regularizer is %v", kind)
	}
}

// Last returns the length of the last planned step, with scales in the variables u; NaN before
// the first.
func (q *QuasiNewton) Last() float64 { return q.length }

// Bent reports whether the last step was as long as c allows and phi had negative curvature along
// the step. After several such steps, phi may have no lower bound.
func (q *QuasiNewton) Bent() bool { return q.bent }

// Exhausted reports whether the steps are below the rounding of x, so that Predict returns 0 until
// Refresh.
func (q *QuasiNewton) Exhausted() bool { return q.exhausted }

// Refresh says that the multipliers or the penalty of phi have changed. With A, it raises Delta to
// at least 1e-3 (1 + ||x||).
func (q *QuasiNewton) Refresh() {
	q.current, q.exhausted = false, false
	if q.jacobian.on() {
		norm := math.Sqrt(math.Max(0, q.gram.At(iterateRow, iterateRow)))
		q.radius = math.Max(q.radius, restartRadius*(1+norm))
	}
}

// VisitState shows the state to v, which saves or restores it.
func (q *QuasiNewton) VisitState(v problem.StateVisitor) {
	problem.VisitFlag(v, "quasi.current", &q.current)
	problem.VisitFlag(v, "quasi.known", &q.known)
	problem.VisitFlag(v, "quasi.estimated", &q.estimated)
	problem.VisitFlag(v, "quasi.restarted", &q.restarted)
	problem.VisitFlag(v, "quasi.exhausted", &q.exhausted)
	v.Number("quasi.radius", &q.radius)
	v.Number("quasi.limit", &q.limit)
	v.Number("quasi.length", &q.length)
	v.Number("quasi.cubic", &q.cubic)
	problem.VisitFlag(v, "quasi.bent", &q.bent)
	before := q.stage
	if v.Count("quasi.stage", &q.stage); q.stage != before {
		q.stage = max(firstPass, min(q.stage, q.stages()))
		q.grade()
	}
	q.sampling.visit(v)
	v.Vector("quasi.gradient", q.d)
	q.scaling.visit(v)
	q.visit(v)
}
