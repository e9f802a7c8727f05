package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/decide"
	"ppal/internal/rates"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/session/results"
)

// Optimize implements Pipeline. Optimize adds measures of every split to the records.
func (a *assembly) Optimize(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	if s.Solved = 0; s.Tolerance == 0 {
		s.Solved = a.problem.Space().Roundoff()
	}
	s.Tolerance = max(s.Tolerance, 0)
	s.Measure, s.CollapseAbove = a.measure, a.builder.statement.CollapseAbove
	a.setWork(&s)
	if s.RecordEvery == 0 {
		s.RecordShare = build.RecordShare
		if a.devices.GPU != nil {
			s.FreeRecords = build.FreeOnGPU
		}
	}
	a.recorded.settings(a, &s)
	s.OwnMultiplier = s.OwnMultiplier || a.searchesLast()
	if err := a.setMerits(&s); err != nil {
		return nil, err
	}
	method := a.options.Method
	if a.sampler != nil {
		s.Full = a.problem
	}
	if a.batches != nil && a.batches.From < s.Iterations {
		s.AllRowsFrom = a.batches.From
	}
	if a.onDecisions() {
		return a.optimizeDecisions(ctx, s)
	}
	if a.sampler == nil {
		return trainer.Train(ctx, a.problem, method, s)
	}
	r, err := trainer.Train(ctx, a.sampler, method, s)
	if err == nil { // the output can differ from the iterate of the last record
		x := a.iterate()
		a.sampler.Space().Read(x, problem.Iterate)
		a.problem.Space().Write(problem.Iterate, x)
	}
	return r, err
}

// optimizeDecisions runs the feedback rounds and then the exact step.
func (a *assembly) optimizeDecisions(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	d, train := a.decided(), a.splits[0]
	sample, err := d.sampleOf(train)
	if err != nil {
		return nil, err
	}
	positive := 0
	if len(train.Classes) == 2 {
		positive = train.OfLabel(train.Classes[1].Label)
	}
	f, early, err := measure.NewSolution(d.System, sample, len(train.Classes), train.Len(), positive)
	if err != nil {
		return nil, err
	}
	tell := func(warnings trainer.Warnings) {
		if s.Warn == nil {
			return
		}
		for _, w := range warnings {
			s.Warn(w)
		}
	}
	tell(early)
	if f.Orders != nil {
		if a.shifts, err = a.groupWeight(sample); err != nil {
			return nil, err
		}
		f.Orders.Direction, f.Column = a.shifts.values, a.shifts.column
	}
	smooth, ok := a.problem.(*problem.Affine)
	if !ok {
		return nil, fmt.Errorf("session: %w: the task %s does not support bounds on decisions", ErrOptions, a.builder.statement.Name)
	}
	if a.scored != nil {
		return a.chooseThresholds(f, smooth, tell, early)
	}
	var scores []float64 // of the training rows
	feedback := decide.Feedback{
		Smooth: smooth, Rates: f.Decided(), Target: f.Target, Start: a.builder.statement.start, Resolution: measure.Resolution(a.dtype == tensor.Float32),
		Scores: func() (_ []float64, err error) {
			scores, err = a.appendScores(scores[:0], train)
			return scores, err
		},
	}
	if feedback.Judge, err = a.judge(); err != nil {
		return nil, err
	}
	if a.confidence != nil {
		feedback.Tighten = a.confidence.Tighten
	}
	f.Rounds, err = decide.Train(ctx, a.Problem(), a.options.Method, s, feedback)
	if err != nil {
		if f.Rounds == nil {
			return nil, err
		}
		return f.Rounds.Result, err
	}
	began := time.Now()
	if err := a.exactStep(f); err != nil {
		return f.Rounds.Result, err
	}
	f.Rounds.Times.Rounds += time.Since(began).Seconds()
	a.solved = f
	late := append(f.Warnings(a.confidence == nil, a.circumstances(f.Rounds.Status)), a.confidence.Warnings()...)
	tell(late)
	f.Rounds.Warnings = slices.Concat(early, f.Rounds.Warnings, late)
	return f.Rounds.Result, nil
}

// decisions are the constraints of a task on rates of decisions.
type decisions struct {
	measure.Bounds
	shared *samples
}

// decided returns the constraints on rates of decisions; nil if the task has none.
func (s *Statement) decided() *decisions {
	if s.system == nil {
		return nil
	}
	d := &decisions{measure.Bounds{System: s.system, On: s.boundsOn, Confidence: s.confidence}, s.samples}
	if s.Decided != nil {
		d.OfNodes = s.bounds()
	}
	return d
}

// decided returns the constraints on rates of decisions; nil if the task has none.
func (a *assembly) decided() *decisions {
	d := a.builder.statement.decided()
	if d != nil {
		d.Tolerance = a.options.feasibilityTolerance()
	}
	return d
}

// onDecisions reports whether bounds apply to decisions.
func (a *assembly) onDecisions() bool {
	return a.builder.statement.system != nil && a.builder.statement.boundsOn == constraints.OnDecisions
}

// sampleOf returns the system on the rows of a split. The split keeps it.
func (d *decisions) sampleOf(s *split) (*constraints.Sample, error) {
	if s.sample != nil {
		return s.sample, nil
	}
	var err error
	s.sample, err = d.shared.sample(rowsOf(s.Rows))
	return s.sample, err
}

// newConfidence returns the plan of the promises; nil if the task asks for no confidence.
func (a *assembly) newConfidence() (*measure.Confidence, error) {
	level, d := a.builder.statement.confidence, a.decided()
	if level == 0 {
		return nil, nil
	}
	validation := a.validation()
	if validation == nil {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows, " + takeValidationRows}
	}
	s := a.options.Settings
	if s.Output == trainer.OutputBestValidation || s.Patience > 0 {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows that did not choose the weights; leave out --select best-validation and --patience"}
	}
	sample, err := d.sampleOf(validation)
	if err != nil {
		return nil, err
	}
	c, err := measure.NewConfidence(d.System, sample, validation.Len(), level)
	if errors.Is(err, rates.ErrLoss) {
		return nil, &OptionError{Option: "confidence", Problem: "promises rates of decisions, and a loss is none: bound an error instead", Err: err}
	}
	return c, err
}

// checkConfidence returns an error for a confidence that is not a probability, and for a confidence
// with bounds on surrogates.
func checkConfidence(level float64, on constraints.BoundsOn) error {
	switch {
	case level == 0:
		return nil
	case !(level > 0 && level < 1):
		return &OptionError{Option: "confidence", Problem: fmt.Sprintf("is %v, want a probability between 0 and 1, such as 0.95", level)}
	case on != constraints.OnDecisions:
		return &OptionError{Option: "confidence", Problem: "is about decisions, and the bounds are on surrogates: use --bounds-on decisions"}
	}
	return nil
}

// measure computes the measures of every split at the iterate, after a forward pass on the
// training rows. For the training rows it uses the scores of that pass. If the statement is pure,
// the splits are measured at the same time.
func (a *assembly) measure() (map[string]float64, error) {
	return a.measureAll(a.splits, a.problem)
}

// measureAll is measure for splits at the iterate of p.
func (a *assembly) measureAll(splits []*split, p problem.Problem) (map[string]float64, error) {
	x := iterateOf(p)
	if a.builder.Terms != nil {
		if _, err := a.builder.Terms.At(x); err != nil {
			return nil, err
		}
	}
	var started []func() (Measures, error)
	var failure error
	for _, s := range splits {
		if s.scores, failure = a.appendScoresAt(s.scores[:0], s, x); failure != nil {
			break
		}
		started = append(started, startIf(a.builder.statement.pure, func() (Measures, error) { return s.measure(s.scores) }))
	}
	all := map[string]float64{}
	for k, wait := range started {
		s := splits[k]
		m, err := wait()
		if failure = cmp.Or(failure, err); failure != nil {
			continue // wait for the other splits
		}
		for name, v := range m.Named {
			all[results.MeasureKey(s.Name, name)] = v
		}
		s.last = m
	}
	if failure != nil {
		return nil, failure
	}
	return all, nil
}

// scores returns the scores of a split at the iterate, row by row.
func (a *assembly) scores(s *split) ([]float64, error) { return a.appendScores(nil, s) }

// appendScores appends the scores of a split at the iterate to dst.
func (a *assembly) appendScores(dst []float64, s *split) ([]float64, error) {
	return a.appendScoresAt(dst, s, a.iterate())
}

// appendScoresAt is appendScores at the iterate x.
func (a *assembly) appendScoresAt(dst []float64, s *split, x []float64) ([]float64, error) {
	if s.blocks != nil {
		return s.blocks.AppendScores(dst, x)
	}
	return s.problem.AppendWatched(slices.Grow(dst, s.Len()*a.builder.Outputs()), 0)
}

// iterate returns a copy of the iterate.
func (a *assembly) iterate() []float64 { return iterateOf(a.problem) }

// iterateOf returns a copy of the iterate of p.
func iterateOf(p problem.Problem) []float64 {
	x := make([]float64, p.Space().Len())
	p.Space().Read(x, problem.Iterate)
	return x
}

// setWork sets what the automatic intervals of records and checks follow from.
func (a *assembly) setWork(s *trainer.Settings) {
	s.RecordWork, s.LeastRecords = a.recordWork()
	if a.sampler != nil {
		s.IterationsPerEpoch = a.sampler.PerPass()
	}
}

// recordWork estimates the work of a record, in iterations, and returns the number of records that
// a run takes in any case.
func (a *assembly) recordWork() (iterations float64, least int) {
	var rows []matrix.Matrix
	splits, sample := a.splits, a.recorded != nil && a.options.Settings.Samples()
	if sample {
		splits = a.recorded.splits
	}
	for _, s := range splits {
		rows = append(rows, s.Data)
	}
	batch := 0
	if a.sampler != nil {
		batch = a.options.BatchSize
	}
	iterations, least = a.builder.RecordWork(rows, batch, a.sampler != nil || a.products == string(Int8) || a.sampled)
	if sample {
		least = max(least, sampledRecords)
	}
	return iterations, least
}

// takeValidationRows is the part of an error message that tells how a run gets validation rows.
const takeValidationRows = "take some with --split, as in 70/15/15 for tables and 90/10/0 for pictures"

// checkSelection returns an error if the settings choose weights by validation rows and the run
// has no validation rows.
func (a *assembly) checkSelection() error {
	if a.validation() != nil {
		return nil
	}
	switch {
	case a.options.Settings.Output == trainer.OutputBestValidation:
		return &OptionError{Option: "select", Problem: "is best-validation, but there are no validation rows; " + takeValidationRows}
	case a.options.Settings.Patience > 0:
		return &OptionError{Option: "patience", Problem: "waits for the measures on validation rows, but there are none; " + takeValidationRows}
	}
	return nil
}

// setMerits sets the merits by which the settings choose weights. Without bounds on decisions, the
// method's own f and g are the merit on the training rows.
func (a *assembly) setMerits(s *trainer.Settings) (err error) {
	s.TrainMerit, s.ValidationMerit = nil, nil
	if a.onDecisions() {
		if s.TrainMerit, err = a.merit(a.splits[0]); err != nil {
			return err
		}
	}
	if held := a.validation(); held != nil {
		s.ValidationMerit, err = a.merit(held)
	}
	return err
}

// merit returns the function for the merit of the iterate on a split. measure must have measured
// the iterate. The merit is the objective and the violation of the bounds. With bounds on
// decisions, the merit counts decisions; otherwise the merit uses the values that the task bounds.
// A violation counts if it exceeds the feasibility tolerance and the weight of a single row. The
// row belongs to the smallest cell of each bound on decisions, else to the smallest class (of each
// group, on tables).
func (a *assembly) merit(s *split) (func() trainer.Merit, error) {
	if a.onDecisions() {
		merit, err := a.meritOnDecisions(s)
		return func() trainer.Merit { return merit(s.last.decisions) }, err
	}
	smallest := math.MaxInt
	for _, rows := range s.Stratified() {
		smallest = min(smallest, len(rows))
	}
	merit := measure.Merit(a.builder.statement.bounds(), max(a.options.feasibilityTolerance(), 1/float64(smallest)))
	return func() trainer.Merit { return merit(s.last.Values) }, nil
}

// meritOnDecisions returns the function for the merit of counted values on a split.
func (a *assembly) meritOnDecisions(s *split) (func(values []float64) trainer.Merit, error) {
	d := a.decided()
	sample, err := d.sampleOf(s)
	if err != nil {
		return nil, err
	}
	return d.Merit(a.builder.statement.bounds(), sample.Rows()), nil
}

// judge returns the function for the merit of the last measured iterate on the validation rows,
// with offsets of the scores; nil if the run has no validation rows.
func (a *assembly) judge() (func(offsets []float64) (trainer.Merit, error), error) {
	held, d := a.validation(), a.decided()
	if held == nil {
		return nil, nil
	}
	sample, err := d.sampleOf(held)
	if err != nil {
		return nil, err
	}
	merit, err := a.meritOnDecisions(held)
	if err != nil {
		return nil, err
	}
	return func(offsets []float64) (trainer.Merit, error) {
		scores := make([]float64, len(held.scores))
		for i, s := range held.scores {
			scores[i] = s + offsets[i%len(offsets)]
		}
		parameters, err := a.builder.Terms.At(a.iterate())
		if err != nil {
			return trainer.Merit{}, err
		}
		m, err := a.builder.statement.measureRates(rowsOf(held.Rows), sample, nil, new(rates.Areas), scores, parameters)
		if err != nil {
			return trainer.Merit{}, err
		}
		return merit(m.decisions), nil
	}, nil
}
