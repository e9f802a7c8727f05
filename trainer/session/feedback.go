package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/measure"
)

// decisions are the constraints of a task on rates of decisions.
type decisions struct {
	system *constraints.System
	bounds *problem.AffineMap // the bounds, with the shifts
	on     BoundsOn
	shared *samples
}

// decided returns the constraints on rates of decisions; nil if the task has none.
func (s *Statement) decided() *decisions {
	if s.system == nil {
		return nil
	}
	return &decisions{s.system, s.Affine, s.boundsOn, s.samples}
}

// sample returns the system on rows.
func (d *decisions) sample(r rows) (*constraints.Sample, error) { return d.shared.sample(r.public()) }

// sampleOf returns the system on the rows of a split. The split keeps it.
func (d *decisions) sampleOf(s *split) (*constraints.Sample, error) {
	if s.sample != nil {
		return s.sample, nil
	}
	var err error
	s.sample, err = d.sample(s.rows)
	return s.sample, err
}

// rates returns the rates of decisions on a sample of n rows.
func (d *decisions) rates(s *constraints.Sample, n, classes int) (*decide.Rates, error) {
	entries, list := s.Entries(), []decide.Entry(nil)
	r, err := decide.NewRates(n, classes, make([]float64, d.system.Terms()), func(i int) []decide.Entry {
		list = list[:0]
		for _, e := range entries(i) {
			list = append(list, decide.Entry(e))
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	for k := range d.system.Terms() {
		if k >= len(d.system.Rates) || d.system.Rates[k].IsLoss() {
			r.Undecided(k)
		}
	}
	return r, nil
}

// target returns the objective and the bounds on decisions. The slack of an inequality is its
// tolerance for a gap, a ratio, a loss or a norm, and 0 for a rate. Coarse inequalities are those
// whose tolerance cannot make the constraint met.
func (d *decisions) target(counted *constraints.Counted) *decide.Target {
	t := &decide.Target{}
	t.Objective.Coefficients, t.Objective.Constant = d.system.ObjectiveRow()
	var ofLoss []bool // by constraint
	for j := range d.system.Subject {
		ofLoss = append(ofLoss, d.system.DependsOnLoss(j))
	}
	for k, b := range d.system.Bounds {
		own := decide.Bound{AffineRow: problem.AffineRow{Coefficients: b.Coefficients, Constant: b.Constant, Bound: b.Bound}}
		tolerance, coarse := counted.Tolerance(k, counted.Terms)
		switch {
		case ofLoss[b.Constraint]:
			own.Slack = tolerance
		case d.system.Subject[b.Constraint].Measure().Compares():
			own.Row, own.Slack = tolerance, tolerance
			switch {
			case counted.ToleranceVaries(k):
				own.Coarse = func(rates []float64) bool {
					_, coarse := counted.Tolerance(k, rates)
					return coarse
				}
			case coarse:
				own.Coarse = func([]float64) bool { return true }
			}
		default:
			own.Row = tolerance
		}
		t.Bounds = append(t.Bounds, own)
	}
	return t
}

// tooSmall returns warnings about constraints that cannot be judged if the decisions exceed them,
// because a single row of the smallest group changes the value too much.
func (d *decisions) tooSmall(counted *constraints.Counted) (list []string) {
	for j, c := range d.system.Subject {
		e := counted.Coarse(j)
		if e == nil {
			continue
		}
		list = append(list, fmt.Sprintf("%s: one row of the smallest group changes the value by more than %.2g, so that the constraint may end as \"%s\"",
			c, c.MostTolerance(), e.Unjudged()))
	}
	return list
}

// The resolutions of scores. The resolution is the largest relative distance at which the exact
// step treats two scores as equal. The resolution is several rounding units of the weights,
// because the threshold must survive the rounding of the weights.
const (
	resolutionOfFloat32 = 1e-5
	resolutionOfFloat64 = 1e-12
)

// resolution returns the resolution of scores for the run's precision.
func (a *assembly) resolution() float64 {
	if a.dtype == tensor.Float32 {
		return resolutionOfFloat32
	}
	return resolutionOfFloat64
}

// solution is the result of the feedback rounds.
type solution struct {
	rounds *decide.Result
	sample *constraints.Sample // the training rows
	rates  *decide.Rates
	target *decide.Target
	exact  *decide.Exact // the exact step on scores in float64
	scores []float64     // of the training rows in the last round
	// constant is the class of every training row after the exact step; -1 if the classes of the
	// rows differ.
	constant int
	accepted int // training rows with a positive decision after the exact step, of a model with one score
	positive int // training rows of the positive class
}

const (
	fewRows  = 10   // fewer accepted rows cause a warning
	fewShare = 0.01 // and also a smaller share of the training rows
)

// few reports whether the model accepts so few training rows that their rates say little, although
// more rows are positive.
func (f *solution) few() bool {
	if f.constant >= 0 || f.rates.Outputs() > 1 || f.accepted >= f.positive {
		return false
	}
	return f.accepted < fewRows || float64(f.accepted) < fewShare*float64(f.rates.Rows())
}

// optimizeDecisions runs the feedback rounds and then the exact step.
func (a *assembly) optimizeDecisions(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	d, train := a.builder.statement.decided(), a.data.splits[0]
	f := &solution{}
	var err error
	if f.sample, err = d.sampleOf(train); err != nil {
		return nil, err
	}
	n := train.len()
	if f.rates, err = d.rates(f.sample, n, len(train.classes)); err != nil {
		return nil, err
	}
	zeros := make([]int, n)
	counted, err := f.sample.CountWith(zeros, make([]float64, d.system.Terms()))
	if err != nil {
		return nil, err
	}
	f.target = d.target(&counted)
	tell := func(warnings trainer.Warnings) {
		if s.Warn == nil {
			return
		}
		for _, w := range warnings {
			s.Warn(w)
		}
	}
	early := coded(WarnUnjudged, d.tooSmall(&counted))
	tell(early)
	smooth, ok := a.problem.(*problem.Affine)
	if !ok {
		return nil, fmt.Errorf("session: %w: the task %s does not support bounds on decisions", ErrOptions, a.builder.statement.Name)
	}
	feedback := decide.Feedback{
		Smooth: smooth, Rates: f.rates, Target: f.target, Start: a.builder.statement.start, Resolution: a.resolution(),
		Scores: func() (_ []float64, err error) {
			f.scores, err = a.appendScores(f.scores[:0], train)
			return f.scores, err
		},
	}
	if feedback.Judge, err = a.judge(); err != nil {
		return nil, err
	}
	if a.confidence != nil {
		feedback.Tighten = a.confidence.tighten
	}
	f.rounds, err = decide.Train(ctx, a.Problem(), a.options.Method, s, feedback)
	if err != nil {
		if f.rounds == nil {
			return nil, err
		}
		return f.rounds.Result, err
	}
	began := time.Now()
	if err := a.exactStep(f); err != nil {
		return f.rounds.Result, err
	}
	f.rounds.Times.Rounds += time.Since(began).Seconds()
	a.solved = f
	late := append(f.warnings(d, train.classes, a.confidence == nil, a.circumstances(f.rounds.Status)), coded(WarnPromise, a.confidence.warnings())...)
	tell(late)
	f.rounds.Warnings = slices.Concat(early, f.rounds.Warnings, late)
	return f.rounds.Result, nil
}

// exactStep finds the offsets of the scores in float64 at the iterate.
func (a *assembly) exactStep(f *solution) error {
	scores, err := a.scores64(a.data.splits[0])
	if err != nil {
		return err
	}
	if a.confidence != nil {
		err = a.confidence.exactStep(a, f, scores)
	} else {
		f.exact, err = decide.Offsets(f.rates, f.target, scores, a.resolution())
	}
	if err != nil {
		return err
	}
	decided := make([]int32, f.rates.Rows())
	decide.Decide(decided, scores, f.exact.Offsets)
	if a.confidence != nil { // the bounds of the exact step were tighter
		d, g := make([]float64, f.rates.Len()), make([]float64, len(f.target.Bounds))
		f.rates.Count(d, decided)
		f.target.Excess(g, d)
		f.exact.Violation = f.target.Violation(g)
	}
	f.constant, f.accepted, f.positive = int(decided[0]), 0, 0
	for i, k := range decided {
		f.accepted += int(k)
		if train := a.data.splits[0]; len(train.classes) == 2 && train.labels[i] == train.classes[1].Label {
			f.positive++
		}
	}
	for _, k := range decided {
		if int(k) != f.constant {
			f.constant = -1
			break
		}
	}
	return nil
}

// costlyStep is the smallest increase of the objective by the exact step that causes a warning.
const costlyStep = 0.005

// warnings returns the warnings about a failed exact step and about constant decisions. If the
// training rows chose the offsets, warnings also reports the cost of the exact step.
func (f *solution) warnings(d *decisions, classes []Class, byTraining bool, c measure.Circumstances) (list trainer.Warnings) {
	add := func(code trainer.WarningCode, format string, args ...any) {
		list = append(list, trainer.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	use := c.ToMeetBounds()
	switch {
	case f.constant < 0:
	case f.rates.Outputs() > 1:
		add(WarnOneSided, "the model decides %s for every training row: it meets bounds, but it decides nothing; %s", classes[f.constant].Name, use)
	default:
		who := [2]string{"rejects", "accepts"}[f.constant]
		add(WarnOneSided, "the model %s everybody: it decides %s for every training row, with which every gap is 0; %s", who, classes[f.constant].Name, use)
	}
	if f.few() {
		add(WarnFewPositive, "the model accepts only %d of %d training rows, and %d are positive: the rates of so few rows say little; %s",
			f.accepted, f.rates.Rows(), f.positive, use)
	}
	if f.exact.Violation > 0 {
		what := "no threshold"
		if f.rates.Outputs() > 1 {
			what = "no offsets of the classes that the search found"
		}
		add(WarnUnmet, "%s meets all bounds on the decisions of the training rows: they are exceeded by %.3g in all; %s", what, f.exact.Violation, use)
	}
	if cost := f.exact.Cost(); byTraining && cost > costlyStep {
		add(WarnCost, "the exact threshold costs %.1f points of the objective (%s): %s", 100*cost, d.system.Minimize, use)
	}
	return list
}

// applyExactStep adds the offsets to the scores: it changes the weights of the iterate.
func (a *assembly) applyExactStep() error {
	if a.solved == nil || !a.solved.exact.Moved {
		return nil
	}
	x := a.iterate()
	if err := models.AddToScores(a.builder.Model, x, a.solved.exact.Offsets); err != nil {
		return err
	}
	a.problem.Space().Write(problem.Iterate, x)
	return nil
}
