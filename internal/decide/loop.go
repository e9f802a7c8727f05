package decide

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ppal/internal/vec"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// loop is the state of the rounds.
type loop struct {
	p   problem.Problem
	m   trainer.Method
	set trainer.Settings
	f   Feedback

	result     *Result
	asked      float64 // Settings.Tolerance as given; set.Tolerance ends rounds
	rounds     int     // number of ended rounds, with that of Start
	theta      float64 // step of the feedback
	before     float64 // largest excess beyond a row at the end of the last round with the smooth objective
	shifts     []float64
	began      time.Time
	best       *solution      // the best round; nil before the end of the first round
	state      *trainer.State // state at the start of the next round; nil: start at the iterate
	at         problem.Point  // the last iteration and the count of gradients
	seconds    float64
	trained    time.Duration // wall time of the rounds' trainings
	certified  time.Duration // wall time of the certificate of finish
	times      trainer.Times // of the rounds' trainings
	skipsStart bool          // the run began with the state of an earlier run, without the round of Start
	warnings   warnings
	conflict   conflict
	loss       *loss // the end of the round of Start; nil before it, and in a run without it
	stagnation stagnation
	restarts   int // rounds that began anew

	// repeated is the iteration whose record the current round repeats, -1 in the first round.
	repeated  int
	gradients int // count of gradients at the start of the current round
}

// solution is the end of a round.
type solution struct {
	round  Round
	x      []float64       // the weights that Settings.Output selects
	state  *trainer.State  // the method's state at the end of the round
	nu     []float64       // the method's own multiplier at the end of the round
	merit  *trainer.Merit  // of x, by Settings.Output; nil: x was not selected by a merit
	start  bool            // the round has the objective of Start
	result *trainer.Result // nil after a resume
	kept   *trainer.Result // the part of result that a checkpoint kept; nil without a checkpoint
}

const (
	// solved is the largest epsilon of a round's certificate, in rows, that ends the round. Half a
	// row is enough for the bounds, but raises the error on COMPAS by 0.25 points. A twentieth of a
	// row does not raise the error.
	solved = 0.05
	// leastTolerance bounds that epsilon from below where a row weighs little: a thousandth of a
	// point. A smaller epsilon takes many iterations in float32. On Adult and Bank it changes no
	// test error beyond the standard errors.
	leastTolerance = 1e-5
	startShare     = 1. / 3 // the share of the limits of the round with the objective of Start
	startTolerance = 1e-3   // the epsilon that ends this round: it only makes a start
	firstShare     = 1. / 3 // the share of the remaining limits of the first round with the smooth objective
	enough         = 0.75   // a round that leaves a larger share of the excess halves the step
	unusedPart     = 0.1    // share of a bound that may stay unused although its multiplier is positive
	multiplier     = 1e-6   // a multiplier above this counts as positive
)

// newLoop returns the state before the first round, or the state of settings.Resume.
func newLoop(p problem.Problem, m trainer.Method, s trainer.Settings, f Feedback) (*loop, error) {
	_, constraints := f.Smooth.Map().Dims()
	switch {
	case len(f.Target.Bounds) != constraints:
		return nil, fmt.Errorf("decide: %w: the smooth problem has %d constraints, the target %d bounds", problem.ErrSettings, constraints, len(f.Target.Bounds))
	case f.Rounds == 0:
		f.Rounds = DefaultRounds
	case f.Rounds < 0:
		f.Rounds = 0
	}
	l := &loop{p: p, m: m, set: s, asked: s.Tolerance, f: f, theta: 1, before: math.MaxFloat64, shifts: f.Smooth.Map().Shifts(),
		began: time.Now(), result: &Result{Best: -1}, repeated: -1, gradients: s.ResumeAt.GradientEvaluations}
	if l.validates() && f.Judge == nil && s.ValidationMerit == nil {
		return nil, fmt.Errorf("decide: %w: the output %s needs Judge", problem.ErrSettings, s.Selects())
	}
	l.warnings.tell, l.set.OwnMultiplier = s.Warn, true // finish certifies the best round
	l.set.Warn = l.warnings.warn
	if row := f.Target.row(); row > 0 {
		l.set.Tolerance = math.Max(s.Tolerance, math.Max(solved*row, leastTolerance))
	}
	if s.TimeLimit == 0 && s.Deadline.IsZero() {
		l.set.Planned = cmp.Or(s.Planned, s.Iterations) // the intervals are those of a run, not of a round
	}
	if s.Resume != nil {
		return l, l.resume()
	}
	return l, nil
}

// round runs the method for one round, and prepares the next. It returns false if no round follows.
func (l *loop) round(ctx context.Context) (again bool, err error) {
	status, err := l.solve(ctx)
	if err != nil {
		return false, err
	}
	l.result.State = l.addRounds(l.state)
	if status == trainer.Stuck {
		return true, l.restart()
	}
	r, err := l.measure()
	if err != nil {
		return false, err
	}
	r.Output = l.result.Output
	starting := l.starting()
	if l.improves(r) {
		l.best = &solution{start: starting, merit: l.result.Merit, round: *r, x: iterate(l.p), state: l.state, nu: slices.Clone(l.result.Certificate.MethodNu()), result: l.result.Result}
		l.result.Best = len(l.result.Rounds) - 1
	}
	l.rounds++
	excess, unused := l.excess(r)
	ended := status == trainer.Converged || status == trainer.AtRest
	solved := ended && excess <= 0 && !unused && !starting
	last := status == trainer.Interrupted || !starting && status == trainer.NoImprovement || l.spent() || l.solutions() > l.f.Rounds
	if status != trainer.Interrupted && (!starting || last) {
		if err := l.searchConflict(ctx, last); err != nil {
			return false, err
		}
	}
	if last || l.conflict.inARow >= mostConflicts || solved && !(l.restarts > 0 && l.mayRestart()) {
		return false, nil
	}
	if solved {
		return true, l.restart()
	}
	if !starting {
		l.shift(r, excess)
	}
	l.state = warm(l.state)
	if starting {
		if err := l.afterStart(status, r); err != nil {
			return false, err
		}
	} else if !ended { // also if the next round starts from the best round
		forceUpdate(l.state)
	}
	l.next()
	return true, nil
}

// improves reports whether the round r that has just ended is better than the best round before.
func (l *loop) improves(r *Round) bool {
	switch {
	case l.best == nil:
		return true
	case l.validates() && l.best.merit != nil && l.result.Merit != nil:
		return l.result.Merit.Better(*l.best.merit)
	}
	return better(r.Exact.Violation, r.Exact.worth(), l.best.round.Exact.Violation, l.best.round.Exact.worth())
}

// validates reports whether validation rows select the weights.
func (l *loop) validates() bool { return l.set.Selects() == trainer.OutputBestValidation }

// validationMerit is Settings.ValidationMerit of the rounds. An iterate whose scores have no
// thresholds is the worst.
func (l *loop) validationMerit() trainer.Merit {
	worst := trainer.Merit{Violation: math.Inf(1), Objective: math.Inf(1)}
	scores, err := l.f.Scores()
	if err != nil {
		return worst
	}
	exact, err := l.f.Rates.Step(l.f.Target, scores, l.f.Smooth.Terms(), l.f.Resolution)
	if err != nil {
		return worst
	}
	m, err := l.f.Judge(exact.Offsets)
	if err != nil {
		return worst
	}
	return m
}

// next begins the counts of the next round.
func (l *loop) next() {
	l.repeated, l.gradients, l.stagnation = l.at.Iteration, l.at.GradientEvaluations, stagnation{inVain: l.stagnation.inVain}
}

// afterStart prepares the first round with the smooth objective: the method begins anew at the last
// weights of the round of Start. With the multipliers of another objective, momentum moves networks
// of relus to flat sigmoids, and quasi-Newton steps end in worse local minima. Networks keep the
// model and the trust region of quasi-Newton steps, which would need many iterations to learn both
// again.
func (l *loop) afterStart(status trainer.Status, r *Round) error {
	if err := l.f.Smooth.Map().SetObjective(1, nil); err != nil {
		return err
	}
	before := l.state
	// Settings.Output may have made other weights the iterate. They are the start of the next round
	// only if Settings.Patience ended the round.
	x := before.Vectors["iterate"]
	if status == trainer.NoImprovement && l.validates() {
		x = iterate(l.p)
	}
	if err := l.begin(x); err != nil {
		return err
	}
	l.loss = &loss{x: x, violation: r.Exact.Violation, worth: r.Exact.worth(), penalty: l.penalty()}
	if !problem.FeaturesOf(l.p).Shallow && slices.Equal(x, before.Vectors["iterate"]) {
		keepCurvature(l.state, before)
	}
	return nil
}

// shift sets the shifts of the next round after round r with the given excess. If the excess has
// hardly fallen, the next round starts from the best round. The round with the objective of Start
// does not count, because its smooth rates differ from the decisions in another way.
func (l *loop) shift(r *Round, excess float64) {
	if excess > 0 && excess > enough*l.before {
		l.theta /= 2
		if !l.best.start {
			r, l.state = &l.best.round, l.best.state
		}
	}
	l.before = excess
	for j, c := range r.Shifts {
		l.shifts[j] = c + l.theta*(r.Smooth[j]-r.Decisions[j]-c)
	}
}

// solve runs the method up to the end of the current round.
func (l *loop) solve(ctx context.Context) (trainer.Status, error) {
	if err := l.f.Smooth.Map().SetShifts(l.shifts); err != nil {
		return trainer.Failed, err
	}
	factor, weights := 1.0, []float64(nil)
	if l.starting() {
		factor, weights = 0, l.f.Start
	}
	if err := l.f.Smooth.Map().SetObjective(factor, weights); err != nil {
		return trainer.Failed, err
	}
	s := l.limits()
	s.Resume, s.ResumeAt = l.state, l.at
	s.IgnoreConflict = true // searchConflict searches after the round
	s.Recorder = &recorder{to: l.set.Recorder, seconds: l.seconds, repeated: l.repeated, warnings: &l.warnings}
	if s.Checkpointer != nil {
		s.Checkpointer = &checkpointer{s.Checkpointer, l}
	}
	if l.f.Judge != nil {
		s.ValidationMerit = l.validationMerit
	}
	if l.best != nil && l.validates() {
		s.Incumbent = l.best.merit
	}
	if l.mayRestart() {
		s.Stuck = l.stuck
	}
	l.warnings.begin()
	l.stage("")
	began := time.Now()
	r, err := trainer.Train(ctx, l.p, l.m, s)
	l.trained += time.Since(began)
	l.stage(fmt.Sprintf("ending round %d", len(l.result.Rounds)+1))
	if r != nil {
		l.times.Records += r.Times.Records
		l.times.Certificates += r.Times.Certificates
		l.seconds += r.Seconds
		r.Seconds = l.seconds
		l.at.Iteration, l.at.GradientEvaluations = r.Iterations, r.Point.GradientEvaluations
		l.state, l.result.Result = r.State, r
	}
	if err != nil {
		return trainer.Failed, err
	}
	return r.Status, nil
}

// stage tells the name of a long step.
func (l *loop) stage(name string) {
	if s, ok := l.set.Recorder.(trainer.Stager); ok {
		s.Stage(name)
	}
}

// book sets the times of the result. What is neither training nor certificate is the end of rounds.
func (l *loop) book() {
	t := &l.result.Times
	*t = l.times
	t.Certificates += l.certified.Seconds()
	t.Rounds = (time.Since(l.began) - l.trained - l.certified).Seconds()
}

// measure counts the decisions at the iterate and appends the round.
func (l *loop) measure() (*Round, error) {
	r, err := l.count()
	if err != nil {
		return nil, err
	}
	l.result.Rounds, l.result.Ends = append(l.result.Rounds, *r), append(l.result.Ends, iterate(l.p))
	return &l.result.Rounds[len(l.result.Rounds)-1], nil
}

// count describes a round that ends at the iterate: it counts the decisions there, and takes the
// exact step.
func (l *loop) count() (*Round, error) {
	all, m := l.f.Smooth, len(l.shifts)
	all.Space().Write(problem.Iterate, iterate(l.p)) // Smooth may have another iterate than p
	r := Round{Iteration: l.at.Iteration, Theta: l.theta, Shifts: slices.Clone(l.shifts), Smooth: make([]float64, m), Decisions: make([]float64, m)}
	if _, err := all.Forward(make([]float64, m)); err != nil {
		return nil, err
	}
	scores, err := l.f.Scores()
	if err != nil {
		return nil, err
	}
	h, counted := all.Terms(), make([]float64, l.f.Rates.Len())
	if err := l.f.Rates.CountScores(counted, scores, h); err != nil {
		return nil, err
	}
	d := slices.Clone(h)
	copy(d, counted)
	all.Map().ApplyUnshifted(r.Smooth, h)
	all.Map().ApplyUnshifted(r.Decisions, d)
	target := l.f.Target
	if l.f.Tighten != nil {
		amounts := l.f.Tighten(d)
		target = target.Tightened(amounts)
		for j, v := range amounts {
			r.Decisions[j] += v
		}
	}
	exact, err := l.f.Rates.Step(target, scores, h, l.f.Resolution)
	if err != nil {
		return nil, err
	}
	r.Objective, r.Exact = l.f.Target.Value(counted), *exact
	return &r, nil
}

// iterate returns a copy of the iterate.
func iterate(p problem.Problem) []float64 {
	x := make([]float64, p.Space().Len())
	p.Space().Read(x, problem.Iterate)
	return x
}

// excess returns the largest excess of the decisions beyond one row, and whether a bound with a
// positive multiplier stays unused by more than a row and a tenth of the bound.
func (l *loop) excess(r *Round) (largest float64, unused bool) {
	largest = math.Inf(-1)
	nu := l.result.Certificate.MethodNu()
	for j, g := range r.Decisions {
		b := &l.f.Target.Bounds[j]
		largest = math.Max(largest, g-math.Max(b.Row, b.Slack)-rounding)
		if j < len(nu) && nu[j] > multiplier && -g > math.Max(b.Row, unusedPart*math.Abs(b.Bound)) {
			unused = true
		}
	}
	return largest, unused
}

// row returns the least weight of one row in a bound. It returns 0 if no bound has decisions.
func (t *Target) row() float64 {
	row := math.Inf(1)
	for _, b := range t.Bounds {
		if b.Row > 0 {
			row = math.Min(row, b.Row)
		}
	}
	if !vec.Finite(row) {
		return 0
	}
	return row
}

// finish makes the best round's weights the iterate, with its shifts and certificate.
func (l *loop) finish() error {
	last := l.result.Result
	status := last.Status
	if l.at.Iteration < l.set.Iterations && status == trainer.IterationLimit || status == trainer.Converged && last.Certificate.Epsilon > l.asked {
		status = trainer.RoundsEnded // and not the tolerance of the settings: a round has its own
	}
	r := *last
	if l.best.result != nil {
		r = *l.best.result
	} else if k := l.best.kept; k != nil {
		r.Attainable, r.Decay, r.BestFeasible, r.Warnings, r.Notes = k.Attainable, k.Decay, k.BestFeasible, k.Warnings, k.Notes
	}
	if l.conflict.proof != nil {
		status, r.Warnings = trainer.Infeasible, nil // the advice of the warnings does not help
	}
	r.Infeasible, r.Trend = l.conflict.proof, last.Trend
	r.Status, r.Iterations, r.Seconds, r.State, r.Output = status, last.Iterations, l.seconds, l.result.State, l.best.round.Output
	l.result.Result = &r
	l.shifts = slices.Clone(l.best.round.Shifts)
	if err := l.f.Smooth.Map().SetShifts(l.shifts); err != nil {
		return err
	}
	l.p.Space().Write(problem.Iterate, l.best.x)
	l.f.Smooth.Space().Write(problem.Iterate, l.best.x)
	if err := l.f.Smooth.Map().SetObjective(1, nil); err != nil {
		return err
	}
	at := problem.NewPoint(l.f.Smooth)
	at.Iteration, at.GradientEvaluations = l.best.round.Output, l.at.GradientEvaluations
	if err := at.Forward(l.f.Smooth); err != nil {
		return err
	}
	if l.best.start {
		r.BestFeasible = nil // its objective is that of Start
		l.result.OfStart = l.rounds > 1
	}
	// The rounds have the method's own multiplier. A resume restores no certificate, and that of the
	// round of Start has another objective.
	if l.best.result == nil || l.best.start || l.m.Report().Nu != nil {
		l.stage(fmt.Sprintf("certifying round %d", l.result.Best+1))
		began := time.Now()
		c, err := certify.Better(l.f.Smooth, &at, l.best.nu, nil, l.set.Certificate)
		if err != nil {
			return err
		}
		l.certified = time.Since(began)
		r.Certificate, r.Objective = c, at.Objective+l.f.Smooth.Space().Regularizer.Value(l.best.x)
		if err := at.Forward(l.f.Smooth); err != nil {
			return err
		}
	}
	r.Point = at
	if l.restarts > 0 {
		r.Notes = append(slices.Clip(r.Notes), restartNote(l.restarts))
	}
	if l.stagnation.inVain && l.best.start {
		r.Warnings = append(slices.Clip(r.Warnings), l.stuckWarning())
	}
	r.Warnings = l.warnings.finish(r.Warnings)
	return nil
}
