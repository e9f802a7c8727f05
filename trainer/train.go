package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// Status is the reason why a run stopped.
type Status string

// The reasons why a run stops. Reaching a limit is not convergence.
const (
	IterationLimit Status = "iteration limit"
	TimeLimit      Status = "time limit"
	GradientLimit  Status = "gradient limit"
	Converged      Status = "tolerance reached"    // the certificate's epsilon at a check is at most Settings.Tolerance, or Settings.Solved
	AtRest         Status = "steps below rounding" // a Rester is at rest: further iterations change nothing
	NoImprovement  Status = "no improvement"       // Settings.Patience checks in a row without a better merit on validation rows
	RoundsEnded    Status = "rounds ended"         // the last round of package decide ended before a limit of the run
	Compared       Status = "thresholds compared"  // the run has no iterations: it compared thresholds on given scores
	Stuck          Status = "stuck"                // Settings.Stuck
	Infeasible     Status = "infeasible"           // Result.Infeasible proves that the constraints cannot be met near the iterate
	Interrupted    Status = "interrupted"          // the context was cancelled
	Failed         Status = "failed"               // an error, which Train also returns
)

// Result is the result of a run at the iterate that Settings.Output selects.
type Result struct {
	Status     Status
	Iterations int
	Seconds    float64
	Objective  float64       // f + r
	Point      problem.Point // f and g at the output; the iteration and the count of gradients of the run
	// Certificate has the better of the method's own multiplier and the multiplier that
	// certify.Measure finds (certify.Better).
	Certificate certify.Certificate
	// Infeasible proves that the constraints cannot be met near the last iterate; nil unless the
	// status is Infeasible.
	Infeasible *certify.Infeasibility
	Trend      Trend
	// Attainable says that a search from an infeasible iterate found a point that meets the
	// constraints within Settings.FeasibilityTolerance.
	Attainable bool
	// BestFeasible is the feasible record with the smallest objective, nil if none is feasible.
	BestFeasible *Best
	Output       int // iteration of the output
	// Merit is the merit of the output on the training or the validation rows; nil unless
	// Settings.Output selects an iterate by it.
	Merit    *Merit
	Decay    Decay
	Times    Times
	Warnings Warnings
	Notes    []string
	// State is the state of the last iterate, for Settings.Resume.
	State *State
}

// Times are the wall times of a run outside its iterations (Result.Seconds), in seconds. A run that
// continues counts its own part.
type Times struct {
	Records      float64 // records with their measures
	Certificates float64 // the certificate of the result
	Rounds       float64 // the ends of rounds: counts, the exact step, searches for a conflict (package decide)
}

// Best is a recorded feasible iterate.
type Best struct {
	Iteration int
	Objective float64
	// X is a copy of the iterate, in float64; nil after a resume from a checkpoint without the copy.
	X []float64
}

// Train runs m on p until a setting in s stops the run. The error is a *problem.NonFiniteError if f
// or g is not finite, wraps problem.ErrSettings for invalid settings, or comes from the problem.
// After an error in the iterations, the Result has the status Failed and describes the run up to
// the error; after an error before or after the iterations, the Result is nil. A cancelled context
// is not an error: the status is Interrupted.
func Train(ctx context.Context, p problem.Problem, m Method, s Settings) (*Result, error) {
	if ctx == nil {
		return nil, fmt.Errorf("trainer: %w: the context is nil: use context.Background", problem.ErrSettings)
	}
	t, err := newRun(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	status, err := t.loop()
	result, finishErr := t.finish(status, err)
	if err == nil {
		err = finishErr
	}
	return result, err
}

// run is the state of the loop.
type run struct {
	ctx       context.Context // of Train
	p         problem.Problem
	m         Method
	hooks     hooks
	set       Settings
	at        problem.Point
	full      problem.Problem // p, or Settings.Full
	fullAt    *problem.Point  // at, or the point of the full problem
	sample    *Sample         // Settings.Sample, unless records decide something
	sampleAt  problem.Point   // of the sample
	graded    problem.Graded  // the problem, if its passes have grades
	seconds   float64
	times     Times
	now       func() time.Time
	every     int   // iterations between records
	schedule  int   // iterations between automatic records, at which the run searches for a conflict
	check     int   // iterations between checks
	timed     timed // when records are due by time
	recorded  int   // last measured iteration, -1 before the first
	unwritten bool  // the recorder has not received last
	last      Record
	lastAt    *problem.Point // of last
	lastNu    []float64      // the method's own multiplier of last, nil if the method has none
	residuals residuals
	x         []float64 // scratch for a copy of the iterate
	rng       *rand.Rand
	source    *rand.PCG // of rng
	from      int       // the count of gradients at the start
	best      *Best
	conflict  conflict
	trend     trend
	selection *selection
	drawn     int            // iteration of the iterate that OutputRandom has drawn, 0 before the first
	weight    float64        // sum of a Weigher's weights of all iterates
	drawnAt   problem.Vector // copy of the drawn iterate
	drawnNu   []float64      // certified multiplier of the drawn iterate
	iterateAt problem.Vector // the iterate while the returned point of a Returner is shown
	warnings  Warnings
	improves  improves
}

// newRun checks the settings, evaluates the start, initialises the method, restores the state of
// Settings.Resume, and warns about the start and the settings.
func newRun(ctx context.Context, p problem.Problem, m Method, s Settings) (*run, error) {
	switch {
	case p == nil:
		return nil, fmt.Errorf("trainer: %w: the problem is nil", problem.ErrSettings)
	case m == nil:
		return nil, fmt.Errorf("trainer: %w: the method is nil", problem.ErrSettings)
	}
	n, _ := p.Dims()
	s, err := s.withOutput()
	if err != nil {
		return nil, err
	}
	if err := s.validate(p, n); err != nil {
		return nil, err
	}
	if err := m.Needs().Check(p); err != nil {
		return nil, err
	}
	t := &run{ctx: ctx, p: p, m: m, hooks: hooksOf(m, s.Recorder), set: s, now: time.Now, recorded: -1, x: make([]float64, n)}
	t.source, t.from = rand.NewPCG(s.Seed, 0x6f757470), s.ResumeAt.GradientEvaluations
	t.rng = rand.New(t.source)
	t.at = problem.NewPoint(p)
	t.full, t.fullAt = p, &t.at
	t.graded = problem.FeaturesOf(p).Graded
	problem.MakeAccurate(t.graded) // an earlier run may have left them coarse
	if s.Full != nil {
		at := problem.NewPoint(s.Full)
		t.full, t.fullAt = s.Full, &at
	}
	if s.Sample != nil && s.Samples() {
		t.sample = s.Sample
		t.sampleAt = problem.NewPoint(t.sample.Problem)
	}
	t.lastAt = t.fullAt
	t.set.FeasibilityTolerance = cmp.Or(s.FeasibilityTolerance, DefaultFeasibilityTolerance)
	t.set.IterationsPerEpoch = cmp.Or(s.IterationsPerEpoch, 1)
	t.selection = newSelection(p, &t.set)
	t.every, t.check = t.set.Intervals()
	t.schedule, _ = t.set.automatic()
	t.timed = newTimed(&t.set, t.now)
	if s.Output == OutputRandom {
		t.drawnAt = p.Space().New()
	}
	p.Space().Project()
	if err := t.at.SampleAndForward(p, 0); err != nil {
		return nil, err
	}
	if err := t.at.Check(); err != nil {
		return nil, err
	}
	if err := m.Init(p, &t.at); err != nil {
		return nil, err
	}
	if err := t.settleNear(); err != nil {
		return nil, err
	}
	continued := false
	if s.Resume != nil {
		if continued, err = t.resume(); err != nil {
			return nil, err
		}
	}
	t.improves = newImproves(&t.at, continued)
	if continued && t.at.Iteration > 0 {
		return t, nil // the warnings about the start are among the restored warnings
	}
	t.warnings = nil // a signal may have ended the diagnosis of the earlier run
	return t, t.withAccuratePoint(t.diagnose)
}

// resume restores the state of an earlier run, and reports whether the state has the earlier run's
// progress.
func (t *run) resume() (continued bool, err error) {
	own, progress := t.set.Resume.cutProgress()
	if err := own.Restore(t.p, t.m); err != nil {
		return false, err
	}
	if continued, err = t.restoreProgress(progress); err != nil {
		return false, err
	}
	t.at.Iteration, t.at.GradientEvaluations = t.set.ResumeAt.Iteration, t.set.ResumeAt.GradientEvaluations
	t.timed.from = t.seconds
	return continued, t.at.SampleAndForward(t.p, t.at.Iteration)
}

// evaluate copies the iterate to the full problem and evaluates f and g on the full problem.
func (t *run) evaluate() error {
	if t.full == t.p {
		return t.at.Refresh(t.p)
	}
	return t.copyTo(t.full, t.fullAt)
}

// copyTo copies the iterate to the problem and evaluates f and g of the problem.
func (t *run) copyTo(p problem.Problem, at *problem.Point) error {
	t.p.Space().Read(t.x, problem.Iterate)
	p.Space().Write(problem.Iterate, t.x)
	at.Iteration, at.GradientEvaluations = t.at.Iteration, t.at.GradientEvaluations
	if err := at.Forward(p); err != nil {
		return err
	}
	return at.Check()
}

// withAccuratePoint runs measure with accurate passes. If the passes are coarse, it first evaluates
// the iterate again, and afterwards restores the coarse f and g, so that measuring does not change
// the run.
func (t *run) withAccuratePoint(measure func() error) error {
	if !problem.Coarse(t.graded) {
		return measure()
	}
	return t.withAccuratePasses(func() error {
		if err := t.at.Forward(t.p); err != nil {
			return err
		}
		return measure()
	})
}

// withAccuratePasses runs accurate passes that are not the method's. If the method's are coarse, it
// restores their f and g.
func (t *run) withAccuratePasses(passes func() error) error {
	if !problem.Coarse(t.graded) {
		return passes()
	}
	f, g := t.at.Objective, slices.Clone(t.at.Constraints)
	err := problem.WithAccuratePasses(t.p, passes)
	t.at.Restore(f, g)
	return err
}

// warn adds warnings with a code to the result, and passes each warning to Settings.Warn.
func (t *run) warn(code WarningCode, texts ...string) {
	for _, text := range texts {
		w := Warning{Code: code, Text: text}
		t.warnings = append(t.warnings, w)
		if t.set.Warn != nil {
			t.set.Warn(w)
		}
	}
}

// diagnose warns about a start and settings that the theory does not cover, on the full problem or
// the sample.
func (t *run) diagnose() error {
	at, err := t.judged(false)
	if err != nil {
		return err
	}
	p := t.full
	if t.sample != nil {
		p = t.sample.Problem
	}
	if v := problem.MaxViolation(at.Constraints); v > t.set.FeasibilityTolerance && t.at.Iteration == 0 {
		t.warn(WarnInfeasibleStart, fmt.Sprintf("the start is infeasible: the largest violation is %.3g (--init starts from other weights)", v))
	}
	if t.hooks.diagnoser != nil {
		warnings, err := t.hooks.diagnoser.Diagnose(t.ctx, p, at)
		if err != nil {
			return err
		}
		t.warn(WarnSettings, warnings...)
	}
	return nil
}

// loop iterates until a limit, the tolerance, a method at rest, the context or an error ends it.
func (t *run) loop() (Status, error) {
	for {
		last := t.at.Iteration >= t.set.Iterations
		overtime := t.set.TimeLimit > 0 && t.seconds >= t.set.TimeLimit.Seconds() || t.set.overdue()
		spent := t.set.Gradients > 0 && t.at.GradientEvaluations >= t.set.Gradients
		interrupted := t.ctx.Err() != nil
		// OutputRandom draws from the iterates of all iterations, the equal ones at rest included. A
		// limit on gradients would never end a run at rest.
		resting := t.hooks.rester != nil && t.hooks.rester.Resting() && (t.set.Output != OutputRandom || t.set.Gradients > 0)
		limited := last || overtime || spent || resting
		scheduled, checked := t.scheduled(), t.at.Iteration%t.check == 0
		solved := false
		if checked {
			var err error
			if solved, err = t.solved(); err != nil {
				return Failed, err
			}
		}
		ending := limited || interrupted || solved
		if c := t.set.Checkpointer; c != nil && (c.Due() || interrupted || last || overtime || spent) {
			t.checkpoint()
		}
		due := ending || t.due()
		measured := due || checked && t.set.ChecksChoose()
		if !measured && checked {
			var err error
			if measured, err = t.meets(t.set.Tolerance); err != nil {
				return Failed, err
			}
		}
		if measured {
			began := t.now()
			if err := t.record(ending, due); err != nil {
				return Failed, err
			}
			took := t.now().Sub(began)
			t.timed.recorded(took)
			t.times.Records += took.Seconds()
			stopped := interrupted && !limited
			switch {
			case stopped && !checked: // without the interruption, no check would end the run here
				return Interrupted, nil
			case solved || t.set.Tolerance > 0 && (checked || ending) && t.last.Certificate.Epsilon <= t.set.Tolerance:
				return t.ends(Converged)
			case stopped:
				return Interrupted, nil
			}
		}
		if ending || scheduled || due && t.set.RecordEvery == 0 {
			if proven, err := t.searchConflict(limited); err != nil {
				return Failed, err
			} else if proven {
				return Infeasible, nil
			}
		}
		stuck := false
		if checked && !limited {
			var err error
			if stuck, err = t.stuck(); err != nil {
				return Failed, err
			}
		}
		switch {
		case last:
			return IterationLimit, nil
		case overtime:
			return TimeLimit, nil
		case spent:
			return GradientLimit, nil
		case resting:
			return AtRest, nil
		case stuck:
			if err := t.record(true, true); err != nil {
				return Failed, err
			}
			return Stuck, nil
		case checked && t.set.Patience > 0 && t.selection.waited >= t.set.Patience:
			return t.ends(NoImprovement)
		}
		began := t.now()
		if err := t.m.Iterate(t.p, &t.at); err != nil {
			return Failed, fmt.Errorf("trainer: iteration %d: %w", t.at.Iteration+1, err)
		}
		t.seconds += t.now().Sub(began).Seconds()
		t.at.Iteration++
		if err := t.at.Check(); err != nil {
			return Failed, err
		}
		t.improves.see(&t.at)
		if t.set.Output == OutputRandom && t.draws() {
			t.p.Space().Combine(t.drawnAt, 1, problem.Iterate, 0, problem.Iterate)
			t.drawn, t.drawnNu = t.at.Iteration, slices.Clone(t.m.Report().Nu)
		}
		if t.hooks.ticker != nil {
			t.hooks.ticker.Tick(&t.at)
		}
	}
}

// ends returns the status of a run that ends at the last record, which the recorder receives.
func (t *run) ends(status Status) (Status, error) {
	if err := t.write(); err != nil {
		return Failed, err
	}
	return status, nil
}

// draws reports whether the current iterate replaces the drawn iterate. The probability is the
// weight of the current iterate divided by the sum of all weights to date. With this probability
// the last drawn iterate is a draw from all iterates, in proportion to the weights.
func (t *run) draws() bool {
	if t.hooks.weigher == nil {
		return t.rng.IntN(t.at.Iteration) == 0
	}
	weight := t.hooks.weigher.OutputWeight(&t.at)
	t.weight += weight
	return t.rng.Float64()*t.weight < weight
}
