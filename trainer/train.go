package trainer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Status says why a run stopped.
type Status string

// The ends of a run. Reaching a limit is not convergence.
const (
	IterationLimit Status = "iteration limit"
	TimeLimit      Status = "time limit"
	GradientLimit  Status = "gradient limit"
	Converged      Status = "tolerance reached" // the certificate's epsilon at a record
	Interrupted    Status = "interrupted"       // the context was cancelled
	Failed         Status = "failed"            // an error, which Train returns too
)

// Output names the iterate that a run returns.
type Output string

// The outputs. The theorems speak of OutputRandom.
const (
	OutputLast   Output = "last"
	OutputBest   Output = "best"   // the feasible recorded iterate with the smallest objective; the last where there is none
	OutputRandom Output = "random" // an iterate x_1..x_K drawn uniformly, or by the method's own weights (Weigher)
)

// Settings of a run.
type Settings struct {
	// Iterations is the limit K; 0 evaluates and records the start alone.
	Iterations int
	// TimeLimit on the training time (recording not counted); 0 is the default: none.
	TimeLimit time.Duration
	// Gradients is the limit on gradient evaluations, so that methods of one and of several backward passes an iteration get equal work;
	// the iteration that reaches it is the last. 0 is the default: none.
	Gradients int
	// Tolerance stops the run at the first record whose certificate's epsilon is at most this; 0 is the default: never.
	Tolerance float64
	// RecordEvery iterations; the start and the last iterate are always recorded. 0 is the default: about 200 records over the
	// iterations, and with a TimeLimit, which may end the run long before, about 200 over that too: whichever is due first.
	RecordEvery int
	// Recorder observes; nil is the default: nobody.
	Recorder Recorder
	// Measure evaluates what is not the optimiser's business at a record (error rates), outside the clock. nil is the default: nothing.
	Measure func() (map[string]float64, error)
	// Output chooses the iterate that is left in the problem; "" is the default, OutputLast.
	Output Output
	// FeasibilityTolerance is the violation that counts as feasible; 0 is the default, 1e-3.
	FeasibilityTolerance float64
	// CollapseAbove is the objective from which a stationary point is worthless (every margin saturated); 0 is the default: not checked.
	CollapseAbove float64
	// IterationsPerEpoch is for the records' epochs; 0 is the default, 1 (full batch).
	IterationsPerEpoch float64
	// Full is the problem on all data, for records, certificates and results, where the problem that is trained is a Sampler; its
	// iterate is set from that problem's. nil is the default: the problem itself.
	Full Problem
	// Seed of OutputRandom's draw.
	Seed uint64
	// Resume goes on from a state that Result.State of an earlier run of the same problem and method gave, at ResumeAt's
	// iteration (Result.Point). The records, the best iterate and the random one are those of the part that is run.
	Resume   *State
	ResumeAt Point
	// Warn is told each warning as it arises; nil is the default: Result.Warnings alone.
	Warn func(warning string)
	// Certificate's tolerances.
	Certificate CertificateSettings
	// NearEvery measures near stationarity at the first record, the last one that reaches Iterations, and each so many times RecordEvery
	// iterations, outside the clock; 0 is the default: never.
	NearEvery int
	// Near is how. A rho^ that is not set is estimated at the start x_0 and stays.
	Near NearStationaritySettings
}

const (
	defaultRecords = 200
	// collapseStationarity is the residual below which a collapsed objective is a stationary point.
	collapseStationarity = 1e-3
)

// Result of a run, at the iterate that Settings.Output chose.
type Result struct {
	Status      Status
	Iterations  int
	Seconds     float64
	Objective   float64 // f + r
	Point       Point   // f and g at the output; the iteration and the count of gradients are the run's
	Certificate Certificate
	// BestFeasible is the feasible record with the smallest objective, nil where there is none.
	BestFeasible *Best
	Output       int // iteration of the iterate that was chosen
	Decay        Decay
	Warnings     []string
	Notes        []string
	// State of the last iterate, to go on from.
	State *State
}

// Best is a recorded feasible iterate.
type Best struct {
	Iteration int
	Objective float64
}

// Train runs m on p until s stops it. The error is a *NonFiniteError where f or g was not finite, ErrSettings (wrapped) for a setting
// that does not fit, or the problem's; what was reached until then is in the Result, with status Failed. A cancelled
// context is no error: the status is Interrupted.
func Train(ctx context.Context, p Problem, m Method, s Settings) (*Result, error) {
	t, err := newRun(p, m, s)
	if err != nil {
		return nil, err
	}
	status, err := t.loop(ctx)
	result, finishErr := t.finish(status, err)
	if err == nil {
		err = finishErr
	}
	return result, err
}

// run is the loop's state.
type run struct {
	p         Problem
	m         Method
	set       Settings
	at        Point
	full      Problem // p, or Settings.Full
	fullAt    *Point  // at, or the full problem's
	seconds   float64
	every     int
	share     float64 // seconds from a record after which the next is due, infinite where the iterations alone decide
	recorded  int     // last recorded iteration, -1 before
	last      Record
	residuals residuals
	x         []float64
	rng       *rand.Rand
	best      *Best
	bestAt    Vector
	bestNu    []float64 // Report.Nu there, a copy
	drawn     int
	weight    float64 // of all iterates so far, of a Weigher
	drawnAt   Vector
	drawnNu   []float64
	warnings  []string
}

func newRun(p Problem, m Method, s Settings) (*run, error) {
	n, constraints := p.Dims()
	if err := s.validate(p, n); err != nil {
		return nil, err
	}
	t := &run{p: p, m: m, set: s, every: s.RecordEvery, share: math.Inf(1), recorded: -1, x: make([]float64, n)}
	t.rng = rand.New(rand.NewPCG(s.Seed, 0x6f757470))
	t.at.Constraints = make([]float64, constraints)
	t.full, t.fullAt = p, &t.at
	if s.Full != nil {
		t.full, t.fullAt = s.Full, &Point{Constraints: make([]float64, constraints)}
	}
	t.set.FeasibilityTolerance = orDefault(s.FeasibilityTolerance, DefaultFeasibilityTolerance)
	t.set.IterationsPerEpoch = orDefault(s.IterationsPerEpoch, 1)
	if t.every == 0 {
		t.every = max(1, s.Iterations/defaultRecords)
		if s.TimeLimit > 0 {
			t.share = s.TimeLimit.Seconds() / defaultRecords
		}
	}
	switch s.Output {
	case OutputBest:
		t.bestAt = p.NewVector()
	case OutputRandom:
		t.drawnAt = p.NewVector()
	}
	switch p.Regularizer().Kind {
	case Ball, Box:
		p.Prox(1, Iterate)
	}
	if err := t.at.sampleAndForward(p, 0); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := m.Init(p, &t.at); err != nil {
		return nil, err
	}
	if err := t.settleNear(); err != nil {
		return nil, err
	}
	if s.Resume != nil {
		if err := t.resume(); err != nil {
			return nil, err
		}
	}
	return t, t.diagnose()
}

func (s Settings) validate(p Problem, n int) error {
	switch {
	case s.Iterations < 0 || s.RecordEvery < 0 || s.Gradients < 0:
		return fmt.Errorf("trainer: %w: %d iterations, %d gradients, a record every %d, want none negative",
			ErrSettings, s.Iterations, s.Gradients, s.RecordEvery)
	case !(s.Tolerance >= 0) || !(s.FeasibilityTolerance >= 0) || s.TimeLimit < 0:
		return fmt.Errorf("trainer: %w: tolerance %v, feasibility tolerance %v, time limit %v, want none negative",
			ErrSettings, s.Tolerance, s.FeasibilityTolerance, s.TimeLimit)
	case !(s.Certificate.Sphere >= 0) || !(s.Certificate.Kink >= 0):
		return fmt.Errorf("trainer: %w: the certificate's tolerances %v and %v, want neither negative",
			ErrSettings, s.Certificate.Sphere, s.Certificate.Kink)
	case !(s.IterationsPerEpoch >= 0) || !(s.CollapseAbove >= 0):
		return fmt.Errorf("trainer: %w: %v iterations per epoch, collapse above %v, want neither negative",
			ErrSettings, s.IterationsPerEpoch, s.CollapseAbove)
	case s.NearEvery < 0:
		return fmt.Errorf("trainer: %w: near stationarity every %d records, want it not negative", ErrSettings, s.NearEvery)
	case s.Output != "" && s.Output != OutputLast && s.Output != OutputBest && s.Output != OutputRandom:
		return fmt.Errorf("trainer: %w: output %q (last, best, random)", ErrSettings, s.Output)
	}
	return p.Regularizer().Validate(n)
}

// resume restores the state of an earlier run.
func (t *run) resume() error {
	if err := t.set.Resume.Restore(t.p, t.m); err != nil {
		return err
	}
	t.at.Iteration, t.at.GradientEvaluations = t.set.ResumeAt.Iteration, t.set.ResumeAt.GradientEvaluations
	return t.at.sampleAndForward(t.p, t.at.Iteration)
}

// evaluate brings the full problem to the iterate.
func (t *run) evaluate() error {
	if t.full == t.p {
		return nil
	}
	t.p.Read(t.x, Iterate)
	t.full.Write(Iterate, t.x)
	t.fullAt.Iteration, t.fullAt.GradientEvaluations = t.at.Iteration, t.at.GradientEvaluations
	if err := t.fullAt.forward(t.full); err != nil {
		return err
	}
	return t.fullAt.check()
}

func (t *run) warn(warnings ...string) {
	for _, w := range warnings {
		t.warnings = append(t.warnings, w)
		if t.set.Warn != nil {
			t.set.Warn(w)
		}
	}
}

// diagnose warns of what the theory does not cover at the start, of the full problem.
func (t *run) diagnose() error {
	if err := t.evaluate(); err != nil {
		return err
	}
	if v := MaxViolation(t.fullAt.Constraints); v > t.set.FeasibilityTolerance && t.at.Iteration == 0 {
		t.warn(fmt.Sprintf("the start is infeasible: the largest violation is %.3g", v))
	}
	if d, ok := t.m.(Diagnoser); ok {
		warnings, err := d.Diagnose(t.full, t.fullAt)
		if err != nil {
			return err
		}
		t.warn(warnings...)
	}
	return nil
}

// loop iterates until something stops it.
func (t *run) loop(ctx context.Context) (Status, error) {
	for {
		last := t.at.Iteration >= t.set.Iterations
		overtime := t.set.TimeLimit > 0 && t.seconds >= t.set.TimeLimit.Seconds()
		spent := t.set.Gradients > 0 && t.at.GradientEvaluations >= t.set.Gradients
		interrupted := ctx.Err() != nil
		if last || overtime || spent || interrupted || t.at.Iteration%t.every == 0 || t.seconds-t.last.Seconds >= t.share {
			if err := t.record(); err != nil {
				return Failed, err
			}
			switch {
			case t.set.Tolerance > 0 && t.last.Certificate.Epsilon <= t.set.Tolerance:
				return Converged, nil
			case last:
				return IterationLimit, nil
			case overtime:
				return TimeLimit, nil
			case spent:
				return GradientLimit, nil
			case interrupted:
				return Interrupted, nil
			}
		}
		began := time.Now()
		if err := t.m.Iterate(t.p, &t.at); err != nil {
			return Failed, fmt.Errorf("trainer: iteration %d: %w", t.at.Iteration+1, err)
		}
		t.seconds += time.Since(began).Seconds()
		t.at.Iteration++
		if err := t.check(); err != nil {
			return Failed, err
		}
		if t.set.Output == OutputRandom && t.draws() {
			t.p.Combine(t.drawnAt, 1, Iterate, 0, Iterate)
			t.drawn, t.drawnNu = t.at.Iteration, slices.Clone(t.m.Report().Nu)
		}
		if tick, ok := t.set.Recorder.(Ticker); ok {
			tick.Tick(&t.at)
		}
	}
}

// draws says whether the current iterate takes the place of the one that was drawn before: with the probability of its weight among
// those so far, which makes the last one drawn a draw from all.
func (t *run) draws() bool {
	w, ok := t.m.(Weigher)
	if !ok {
		return t.rng.IntN(t.at.Iteration) == 0
	}
	weight := w.OutputWeight(&t.at)
	t.weight += weight
	return t.rng.Float64()*t.weight < weight
}

// check is the one place where a run stops on a value that is not finite.
func (t *run) check() error { return t.at.check() }

func (at *Point) check() error {
	if !finite(at.Objective) {
		return &NonFiniteError{"objective", at.Iteration, at.Objective}
	}
	if j := firstNonFinite(at.Constraints); j >= 0 {
		return &NonFiniteError{fmt.Sprintf("constraint %d", j), at.Iteration, at.Constraints[j]}
	}
	return nil
}

// record measures the iterate and tells the recorder.
func (t *run) record() error {
	if t.recorded == t.at.Iteration {
		return nil
	}
	if err := t.evaluate(); err != nil {
		return err
	}
	report, at := t.m.Report(), t.fullAt
	c, err := Certify(t.full, at, report.Nu, t.set.Certificate)
	if err != nil {
		return err
	}
	if !finite(c.Epsilon) {
		return &NonFiniteError{"gradient", t.at.Iteration, c.Stationarity}
	}
	t.p.Read(t.x, Iterate)
	r := Record{
		Iteration: t.at.Iteration, Epoch: float64(t.at.Iteration) / t.set.IterationsPerEpoch, Seconds: t.seconds,
		GradientEvaluations: t.at.GradientEvaluations,
		Objective:           at.Objective + t.p.Regularizer().Value(t.x), Constraints: at.Constraints,
		MaxViolation: MaxViolation(at.Constraints), Feasibility: c.Feasibility,
		Stationarity: c.Stationarity, Complementarity: c.Complementarity,
		Multipliers: report.Multipliers, Auxiliary: report.Auxiliary, Slack: report.Slack,
		Delta: known(report.Delta), StepSize: known(report.StepSize), Certificate: c,
	}
	t.residuals.add(&r)
	if err := t.near(&r); err != nil {
		return err
	}
	if t.set.Measure != nil {
		if r.Measures, err = t.set.Measure(); err != nil {
			return fmt.Errorf("trainer: measures at iteration %d: %w", t.at.Iteration, err)
		}
	}
	if r.MaxViolation <= t.set.FeasibilityTolerance && (t.best == nil || r.Objective < t.best.Objective) {
		t.best = &Best{r.Iteration, r.Objective}
		if t.set.Output == OutputBest {
			t.p.Combine(t.bestAt, 1, Iterate, 0, Iterate)
			t.bestNu = slices.Clone(report.Nu)
		}
	}
	t.last, t.recorded = r, t.at.Iteration
	if t.set.Recorder == nil {
		return nil
	}
	return t.set.Recorder.Record(&r)
}

// known is nil for NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
