package session

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/measure"
)

// Result is a trained model, certified and measured in float64.
type Result struct {
	// Training is the result of the training loop, in the run's precision.
	Training    *trainer.Result
	Certificate certify.Certificate
	Certifying  time.Duration   // wall time of the certificate
	Objective   float64         // f + r
	Constraints []float64       // g
	Values      []float64       // f, then g + bound, as the training run computes them
	Splits      []SplitMeasures // the training rows first
	// Outcome is the result in the user's terms: each constraint on decisions, the objective and
	// the acceptance rate; nil if the task does not define decisions.
	Outcome *Outcome
	// Overfitting is a note about a model that fits the training rows much more closely than the
	// validation rows, with advice; "" for other models.
	Overfitting string
	// Examples are wrong decisions on the rows of the last split: the test rows, if there are any;
	// nil if the task does not define decisions.
	Examples *rundir.Examples
}

// SplitMeasures are the measures of one split.
type SplitMeasures struct {
	Name  Split
	Named map[string]float64
	// Rates are the rates of all rows and of each group; nil if the task's scores do not decide
	// between the classes.
	Rates *RateTable
	// ROC is the curve of the rates over all thresholds, with at most about 400 points; nil unless
	// the model has a single score and the rows have two classes.
	ROC []ROCPoint
}

// Optimize implements Pipeline. Optimize adds measures of every split to the records.
func (a *assembly) Optimize(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	s.Measure, s.CollapseAbove = a.measure, a.builder.statement.CollapseAbove
	s.RecordWork, s.LeastRecords = a.recordWork()
	if s.RecordEvery == 0 {
		s.RecordShare = build.RecordShare
	}
	if err := a.setMerits(&s); err != nil {
		return nil, err
	}
	method := a.options.Method
	if a.sampler != nil {
		s.Full, s.IterationsPerEpoch = a.problem, a.sampler.PerPass()
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

// measure computes the measures of every split at the iterate, after a forward pass on the
// training rows. For the training rows it uses the scores of that pass. If the statement is pure,
// the splits are measured at the same time.
func (a *assembly) measure() (map[string]float64, error) {
	if a.builder.Terms != nil {
		if _, err := a.builder.Terms.At(a.iterate()); err != nil {
			return nil, err
		}
	}
	var results []func() (Measures, error)
	var failure error
	for _, s := range a.splits {
		if s.scores, failure = a.appendScores(s.scores[:0], s); failure != nil {
			break
		}
		results = append(results, startIf(a.builder.statement.pure, func() (Measures, error) { return s.measure(s.scores) }))
	}
	all := map[string]float64{}
	for k, wait := range results {
		s := a.splits[k]
		m, err := wait()
		if failure = cmp.Or(failure, err); failure != nil {
			continue // wait for the other splits
		}
		for name, v := range m.Named {
			all[rundir.MeasureKey(s.Name, name)] = v
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
	if s.blocks != nil {
		return s.blocks.AppendScores(dst, a.iterate())
	}
	return s.problem.AppendWatched(slices.Grow(dst, s.Len()*a.builder.Outputs()), 0)
}

// iterate returns a copy of the iterate.
func (a *assembly) iterate() []float64 {
	n, _ := a.problem.Dims()
	x := make([]float64, n)
	a.problem.Space().Read(x, problem.Iterate)
	return x
}

// Certify implements Pipeline. For a task with bounds on decisions, the certificate describes the
// smooth problem with the shifts of the feedback before the exact step. The measures describe the
// model after the exact step.
func (a *assembly) Certify(r *trainer.Result) (*Result, error) {
	began, result := time.Now(), &Result{Training: r}
	x := a.iterate()
	train := a.splits[0]
	smooth, err := a.builder.exact(train, x)
	if err != nil {
		return nil, err
	}
	a.data.FreeMemory() // otherwise the memory of the training stays beside float64 vectors
	p, err := a.builder.statement.complete(smooth)
	if err != nil {
		return nil, err
	}
	at, certificate, err := measure.Certify(p, len(a.builder.statement.Constraints), r, a.dtype == tensor.Float32, a.solved)
	if err != nil {
		return nil, err
	}
	result.Certificate = certificate
	result.Certifying = time.Since(began)
	result.Objective, result.Constraints = at.Objective+a.builder.Regularizer.Value(x), at.Constraints
	if err := a.applyExactStep(); err != nil {
		return nil, err
	}
	if _, err := a.problem.Forward(make([]float64, len(at.Constraints))); err != nil {
		return nil, err
	}
	all, err := a.measureSplits(result)
	if err != nil {
		return nil, err
	}
	last := len(all) - 1
	if result.Examples, err = a.examples(a.splits[last], all[last], a.options.Files.Examples); err != nil {
		return nil, err
	}
	decided := a.decided()
	if decided == nil {
		return result, nil
	}
	if result.Outcome, err = a.outcome(r, all, result.Values); err != nil {
		return nil, err
	}
	decided.Multipliers(result.Outcome, result.Certificate.Nu)
	return result, nil
}

// measureSplits adds the measures of every split to the result, and returns the scores of the
// splits. If the statement is pure, the splits are measured at the same time.
func (a *assembly) measureSplits(result *Result) (all [][]float64, err error) {
	st := a.builder.statement
	type measured struct {
		SplitMeasures
		values []float64
	}
	var results []func() (measured, error)
	for _, s := range a.splits {
		scoresOf := a.scores
		if st.system != nil { // count decisions as a program that loads the weights
			scoresOf = a.scores64
		}
		scores, err := scoresOf(s)
		if err != nil {
			return nil, err
		}
		all = append(all, scores)
		results = append(results, startIf(st.pure, func() (measured, error) {
			m, err := a.measuresOf(s, scores)
			if err != nil {
				return measured{}, err
			}
			own := measured{SplitMeasures{Name: s.Name, Named: m.Named}, m.Values}
			err = a.measureRates(s, &own.SplitMeasures, scores)
			return own, err
		}))
	}
	for k, wait := range results {
		own, failure := wait()
		if err == nil {
			err = failure
		}
		if k == 0 {
			result.Values = own.values
		}
		result.Splits = append(result.Splits, own.SplitMeasures)
	}
	return all, err
}

// measuresOf returns the measures of a split's scores at the iterate. At the end of most runs, the
// last record has the same scores, and measuresOf returns the measures of the record.
func (a *assembly) measuresOf(s *split, scores []float64) (Measures, error) {
	if a.builder.Terms == nil && s.last.Named != nil && slices.Equal(scores, s.scores) {
		return s.last, nil
	}
	return s.measure(scores)
}

// SaveModel implements Pipeline. The weights of the file act on raw rows.
func (a *assembly) SaveModel(path string) error { return a.SaveWeights(path, a.iterate()) }

// SaveWeights implements weightsSaver.
func (a *assembly) SaveWeights(path string, x []float64) error {
	model, n := a.builder.Model, a.data.Normalization
	trained, err := models.Unstack(model, x)
	if err != nil {
		return err
	}
	raw, err := n.Fold(model, trained)
	if err != nil {
		return err
	}
	return models.SaveFile(path, models.Model{Architecture: model, Weights: raw, Normalization: n}, a.dtype)
}
