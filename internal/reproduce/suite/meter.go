package suite

import (
	"math"
	"time"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// feasibilityTolerance is the largest violation of a feasible point.
const feasibilityTolerance = 1e-3

// Checkpoints returns the numbers of evaluations at which a meter measures certificates.
func Checkpoints() []int { return []int{10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000} }

// Evaluation describes a forward pass: a line of a trace.
type Evaluation struct {
	Evaluations int    `json:"evaluations"` // max(Forwards, Backwards)
	Forwards    int    `json:"forwards"`
	Backwards   int    `json:"backwards"`
	Seconds     number `json:"seconds"` // since the first pass, without the time of measuring and of transfers
	F           number `json:"f"`
	// Violation is the largest g_j, and at least 0. A point outside the ball or the box of r has at
	// least the violation of problem.Regularizer.Infeasibility.
	Violation number `json:"violation"`
}

// feasible reports whether f is finite and the violation is at most feasibilityTolerance.
func (e Evaluation) feasible() bool {
	return float64(e.Violation) <= feasibilityTolerance && !math.IsNaN(float64(e.F)) && !math.IsInf(float64(e.F), 0)
}

// Checkpoint describes a run after a number of evaluations: a line of a trace.
type Checkpoint struct {
	Checkpoint int    `json:"checkpoint"`
	Seconds    number `json:"seconds"`
	Best       number `json:"best"` // least feasible f so far; NaN if no point was feasible
	// Epsilon is the least epsilon of a KKT certificate so far. The meter certifies the last point,
	// the best feasible point and each point that the optimiser returned.
	Epsilon number `json:"epsilon"`
	// Multipliers is ||nu||_1 of that certificate.
	Multipliers number `json:"multipliers"`
}

// meter is a problem that counts its passes. It records every forward pass, and certificates at the
// checkpoints. The passes and the time of certificates do not count. Passes that see a sample of
// the rows count by their shares, rounded up, and are recorded with f and g on all rows.
type meter struct {
	problem.Problem
	onEvaluation func(Evaluation) error
	onCheckpoint func(Checkpoint) error
	checkpoints  []int // the remaining checkpoints
	last         Evaluation
	graded       problem.Graded // the problem, if its passes have grades
	forwards     float64        // forward passes; those on a sample of the rows count by their shares
	backwards    float64        // the same for backward passes
	best         float64
	epsilon      float64 // least epsilon
	multipliers  float64 // ||nu||_1 of the certificate with the least epsilon
	clock        stopwatch
	// copies of iterates on the device: the point of the last forward pass, the best feasible point,
	// and the iterate during a certificate
	lastAt, bestAt, saved problem.Vector
	stale                 bool // bestAt is a point without a certificate
	x                     []float64
	g                     []float64
}

// newMeter returns a meter of p. The callbacks may be nil.
func newMeter(p problem.Problem, onEvaluation func(Evaluation) error, onCheckpoint func(Checkpoint) error) *meter {
	n, m := p.Dims()
	space := p.Space()
	return &meter{Problem: p, graded: problem.FeaturesOf(p).Graded, onEvaluation: onEvaluation, onCheckpoint: onCheckpoint, checkpoints: Checkpoints(),
		best: math.NaN(), epsilon: math.NaN(), multipliers: math.NaN(), lastAt: space.New(), bestAt: space.New(), saved: space.New(),
		x: make([]float64, n), g: make([]float64, m)}
}

// Inner implements problem.Form.
func (t *meter) Inner() problem.Problem { return t.Problem }

// NonSmooth implements problem.NonSmooth.
func (t *meter) NonSmooth() bool { return problem.FeaturesOf(t.Problem).Kinks }

// Forward implements problem.Problem.
func (t *meter) Forward(g []float64) (float64, error) {
	t.clock.start()
	forwards := t.forwards + t.share()
	evaluations := max(int(math.Ceil(forwards)), t.last.Backwards)
	if err := t.pass(evaluations); err != nil {
		return math.NaN(), err
	}
	f, err := t.Problem.Forward(g)
	if err != nil {
		return f, err
	}
	t.forwards = forwards
	t.last.Forwards = int(math.Ceil(forwards))
	t.last.Evaluations = evaluations
	t.last.Seconds = number(t.clock.seconds())
	t.clock.pause()
	defer t.clock.resume()
	full, err := f, error(nil)
	if g = append(t.g[:0], g...); t.share() < 1 {
		err = problem.WithAccuratePasses(t.Problem, func() (err error) { full, err = t.Problem.Forward(g); return err })
	}
	if err != nil {
		return f, err
	}
	t.last.F, t.last.Violation = number(full), number(max(problem.MaxViolation(g), t.outside()))
	space := t.Space()
	space.Combine(t.lastAt, 1, problem.Iterate, 0, problem.Iterate)
	if t.last.feasible() && !(t.best <= full) {
		t.best, t.stale = full, true
		space.Combine(t.bestAt, 1, problem.Iterate, 0, problem.Iterate)
	}
	if t.onEvaluation != nil {
		return f, t.onEvaluation(t.last)
	}
	return f, nil
}

// Backward implements problem.Problem.
func (t *meter) Backward(coefficients []float64, d problem.Vector) error {
	t.clock.start()
	t.backwards += t.share()
	t.last.Backwards = int(math.Ceil(t.backwards))
	t.last.Evaluations = max(t.last.Forwards, t.last.Backwards)
	return t.Problem.Backward(coefficients, d)
}

// share returns the share of the rows that the present passes see.
func (t *meter) share() float64 {
	if t.graded == nil {
		return 1
	}
	return t.graded.Grades()[t.graded.Grade()].Share
}

// outside returns the relative distance of the iterate from the domain of r.
func (t *meter) outside() float64 {
	space := t.Space()
	switch r := space.Regularizer; r.Kind {
	case problem.Ball:
		return max(0, math.Sqrt(space.Dot(problem.Iterate, problem.Iterate))/r.Radius-1)
	case problem.Box:
		space.Read(t.x, problem.Iterate)
		return r.Infeasibility(t.x)
	}
	return 0
}

// pass reports the checkpoints below a number of evaluations. A new point of that number does not
// belong to these checkpoints.
func (t *meter) pass(evaluations int) error {
	t.clock.pause()
	defer t.clock.resume()
	for len(t.checkpoints) > 0 && t.checkpoints[0] < evaluations {
		at := t.checkpoints[0]
		t.checkpoints = t.checkpoints[1:]
		if err := t.report(at); err != nil {
			return err
		}
	}
	return nil
}

// finish reports the remaining checkpoints.
func (t *meter) finish() error { return t.pass(math.MaxInt) }

// report certifies the last and the best point and reports a checkpoint.
func (t *meter) report(at int) error {
	if t.last.Forwards > 0 {
		if err := t.certify(t.lastAt); err != nil {
			return err
		}
	}
	if t.stale {
		t.stale = false
		if err := t.certify(t.bestAt); err != nil {
			return err
		}
	}
	if t.onCheckpoint == nil {
		return nil
	}
	return t.onCheckpoint(Checkpoint{at, number(t.clock.seconds()), number(t.best), number(t.epsilon), number(t.multipliers)})
}

// certify measures the epsilon of a point with accurate passes and restores the iterate, but not
// its forward pass.
func (t *meter) certify(v problem.Vector) error {
	return problem.WithAccuratePasses(t.Problem, func() error { return t.measure(v) })
}

// measure is certify with the present accuracy of the passes.
func (t *meter) measure(v problem.Vector) error {
	space := t.Space()
	space.Combine(t.saved, 1, problem.Iterate, 0, problem.Iterate)
	space.Combine(problem.Iterate, 1, v, 0, v)
	at := problem.NewPoint(t.Problem)
	err := at.Forward(t.Problem)
	if err == nil && at.Check() == nil { // a diverged point has no certificate
		var c certify.Certificate
		if c, err = certify.Measure(t.Problem, &at, nil, certify.Settings{}); err == nil && !(t.epsilon <= c.Epsilon) {
			t.epsilon, t.multipliers = c.Epsilon, 0
			for _, nu := range c.Nu {
				t.multipliers += nu
			}
		}
	}
	space.Combine(problem.Iterate, 1, t.saved, 0, t.saved)
	return err
}

// returned certifies a point that the optimiser returns, and restores the last forward pass.
func (t *meter) returned(x []float64) error {
	t.clock.pause()
	defer t.clock.resume()
	space := t.Space()
	v := space.New()
	defer space.Free(v)
	space.Write(v, x)
	if err := t.certify(v); err != nil || t.last.Forwards == 0 {
		return err
	}
	_, err := t.Problem.Forward(t.g) // of the iterate, which certify restored
	return err
}

// stopwatch measures time from its start, without its pauses. Pauses may be nested.
type stopwatch struct {
	began, stopped time.Time
	excluded       time.Duration
	depth          int
}

// start starts the stopwatch at the first call.
func (w *stopwatch) start() {
	if w.began.IsZero() {
		w.began = time.Now()
	}
}

// pause begins a pause.
func (w *stopwatch) pause() {
	if w.depth == 0 {
		w.stopped = time.Now()
	}
	w.depth++
}

// resume ends a pause.
func (w *stopwatch) resume() {
	w.depth--
	if w.depth == 0 && !w.began.IsZero() {
		w.excluded += time.Since(w.stopped)
	}
}

// seconds returns the measured time.
func (w *stopwatch) seconds() float64 {
	if w.began.IsZero() {
		return 0
	}
	now := time.Now()
	if w.depth > 0 {
		now = w.stopped
	}
	return max(0, (now.Sub(w.began) - w.excluded).Seconds())
}
