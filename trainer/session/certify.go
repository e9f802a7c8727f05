package session

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/session/results"
)

// Certify implements Pipeline. For a task with bounds on decisions, the certificate describes the
// smooth problem with the shifts of the feedback before the exact step. The measures describe the
// model after the exact step.
func (a *assembly) Certify(r *trainer.Result) (*Result, error) {
	began, result := time.Now(), &Result{Training: r}
	if a.scored != nil {
		return result, a.judgeThresholds(result)
	}
	x := a.iterate()
	train := a.splits[0]
	smooth, err := a.builder.exact(train, x)
	if err != nil {
		return nil, err
	}
	a.rest()
	a.recorded = nil // no record follows
	for _, s := range a.splits {
		s.seen, s.scores = checksum(s.scores), nil
	}
	a.data.FreeMemory() // otherwise the memory of the training stays beside float64 vectors
	p, err := a.builder.statement.complete(smooth)
	if err != nil {
		return nil, err
	}
	at, certificate, err := measure.Certify(p, len(a.builder.statement.Constraints), r, a.dtype == tensor.Float32, a.searchesLast(), a.solved)
	if err != nil {
		return nil, err
	}
	if a.searchesLast() && a.options.Method.Report().Nu == nil {
		certificate.Own = nil // it is of the records
	}
	a.data.FreeMemory()
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
	a.rest()
	a.data.FreeMemory() // otherwise the memory of the passes stays beside the page's
	last := len(all) - 1
	if result.Examples, err = a.examples(a.splits[last], all[last], a.options.Files.Examples); err != nil {
		return nil, err
	}
	decided := a.decided()
	if decided == nil {
		return result, nil
	}
	if result.Outcome, err = a.outcome(r, all, result); err != nil {
		return nil, err
	}
	decided.Multipliers(result.Outcome, result.Certificate.Nu)
	return result, nil
}

// rest gives back the memory of the layers of batches and of the rows that are measured.
func (a *assembly) rest() {
	for _, s := range a.splits {
		s.blocks.Rest()
		s.exact.Rest()
	}
	if a.batches != nil {
		a.batches.Rest()
	}
}

// searchesLast reports whether the certificate in float64 searches for a better multiplier, and not
// the training: with each stratum in blocks of its own, all gradients cost one pass over the rows.
func (a *assembly) searchesLast() bool {
	_, pictures := a.builder.Model.(models.OfPictures)
	return pictures && a.devices.Team == nil && a.batches != nil && !a.onDecisions()
}

// exactStep finds the offsets of the scores in float64 at the iterate.
func (a *assembly) exactStep(f *measure.Solution) error {
	scores, err := a.scores64(a.splits[0])
	if err != nil {
		return err
	}
	resolution := measure.Resolution(a.dtype == tensor.Float32)
	scoresOn := func(s *split, x []float64) ([]float64, error) {
		measure.Round(x, resolution)
		b, err := a.builder.exactBlocks(s, x)
		if err != nil {
			return nil, err
		}
		return b.Scores(x)
	}
	scoresOf := func(x []float64) ([]float64, error) { return scoresOn(a.splits[0], x) }
	if f.Orders != nil {
		return f.RankStep(scores, resolution, problem.FeaturesOf(a.problem).Shallow, scoresOf)
	}
	if a.mayTurn() {
		classes, err := rowsOf(a.splits[0].Rows).indices()
		if err != nil {
			return err
		}
		if scores, err = f.Turn(a.iterate(), scores, classes, resolution, a.confidence, scoresOf); err != nil {
			return err
		}
	}
	return f.ExactStep(scores, resolution, a.confidence, func() ([]float64, error) {
		if f.Weights == nil {
			return a.scores64(a.validation())
		}
		return scoresOn(a.validation(), slices.Clone(f.Weights))
	})
}

// mayTurn reports whether the exact step may change the weights of the columns: in linear models
// whose regularizer gives no weight a value of its own, and which no validation rows select.
func (a *assembly) mayTurn() bool {
	kind := a.builder.Regularizer.Kind
	return models.IsLinear(a.builder.Model) && (kind == problem.NoRegularizer || kind == problem.Ball || kind == problem.SquaredL2) &&
		a.options.Settings.Selects() != trainer.OutputBestValidation
}

// applyExactStep adds the offsets to the scores: it changes the weights of the iterate.
func (a *assembly) applyExactStep() error {
	if a.solved == nil || !a.solved.Exact.Moved {
		return nil
	}
	x := a.iterate()
	switch {
	case a.solved.Weights != nil:
		copy(x, a.solved.Weights)
	case a.solved.Orders != nil:
		x[a.shifts.column] += a.solved.Exact.Offsets[0]
	}
	if a.solved.Orders == nil {
		if err := models.AddToScores(a.builder.Model, x, a.solved.Exact.Offsets); err != nil {
			return err
		}
	}
	a.problem.Space().Write(problem.Iterate, x)
	return nil
}

// scores64 returns the scores of a split in float64 at the iterate.
func (a *assembly) scores64(s *split) ([]float64, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(s, x)
	if err != nil {
		return nil, err
	}
	return b.Scores(x)
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
	if a.builder.Terms == nil && s.last.Named != nil && checksum(scores) == s.seen {
		return s.last, nil
	}
	return s.measure(scores)
}

// checksum returns a checksum of scores. It differs from run to run.
func checksum(scores []float64) uint64 { return maphash.Bytes(checksumSeed, ranks.Bytes(scores)) }

var checksumSeed = maphash.MakeSeed()

// measureRates sets the rates and the ROC curve of a split, if the scores decide.
func (a *assembly) measureRates(s *split, m *SplitMeasures, scores []float64) error {
	if a.ranks() {
		return nil
	}
	decided, err := s.decided(scores)
	if decided == nil || err != nil {
		return err
	}
	var sample *constraints.Sample
	d := a.decided()
	if d != nil {
		if sample, err = d.sampleOf(s); err != nil {
			return err
		}
	}
	groups, err := s.RateGroups(sample)
	if err != nil {
		return err
	}
	if m.Rates, err = decided.Rates(groups); err != nil {
		return err
	}
	if d != nil {
		m.Rates.MarkExtremes(d.System.BoundGroups())
	}
	m.ROC = decided.ROC()
	return nil
}

// outcome counts the decisions of every split. scores holds the scores of each split, in the order
// of the splits.
func (a *assembly) outcome(r *trainer.Result, scores [][]float64, measured *Result) (*results.Outcome, error) {
	d, list := a.decided(), make([]measure.Judged, len(a.splits))
	parameters, err := a.builder.Terms.At(a.iterate())
	if err != nil {
		return nil, err
	}
	for k, s := range a.splits {
		list[k] = measure.Judged{Split: s.Name, Classes: len(s.Classes), Scores: scores[k]}
		if list[k].Sample, err = d.sampleOf(s); err != nil {
			return nil, fmt.Errorf("session: %s rows: %w", s.Name, err)
		}
		if list[k].Labels, err = rowsOf(s.Rows).indices(); err != nil {
			return nil, err
		}
	}
	o, err := d.Outcome(list, parameters, measured.Values)
	if err != nil {
		return nil, err
	}
	o.GradientEvaluations = r.Point.GradientEvaluations
	if train := measured.Splits[0].Rates; train != nil {
		o.Decides, _ = train.Decides()
	}
	if a.solved != nil {
		a.solved.Describe(o)
		a.confidence.Describe(o)
	}
	return o, nil
}

// DefaultExamples is the default of Files.Examples.
const DefaultExamples = 5

// examples returns the wrong decisions of scores with the largest margins on a split, at most most
// of each class. examples returns nil if the scores decide nothing.
func (a *assembly) examples(s *split, scores []float64, most int) (*results.Examples, error) {
	if a.ranks() {
		return nil, nil
	}
	decided, err := s.decided(scores)
	if decided == nil || err != nil {
		return nil, err
	}
	d := a.data.Description
	display := &measure.Display{Source: s.Source, Attributes: s.Attributes, Features: s.Features(), Read: s.readRow,
		Center: a.data.Center, Scale: a.data.Scale, Preparation: d.Preparation, Names: d.FeatureNames}
	if _, bytes := s.Data.(matrix.EightBit); bytes && a.data.Shape.Pixels() == s.Features() {
		display.Shape, display.Pixels = a.data.Shape, s.pixels
	}
	return decided.Examples(display, most)
}

// startIf is relay.Start if concurrently is true. Otherwise startIf calls f before it returns.
func startIf[T any](concurrently bool, f func() (T, error)) (wait func() (T, error)) {
	if concurrently {
		return relay.Start(f)
	}
	result, err := f()
	return func() (T, error) { return result, err }
}

// certifyPasses is the number of forward and backward passes in float64 that Certify takes, for
// each row: the values, the gradients with two multipliers in one pass, and the scores for the
// measures.
const certifyPasses = 3

// certifyTime estimates the wall time of Certify before the training. It times a forward and a
// backward pass of one block of training rows in float64, and multiplies by the number of blocks of
// all splits and by certifyPasses. A session with a time limit ends the training earlier by that
// time.
func (a *assembly) certifyTime() (time.Duration, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(a.splits[0], x)
	if err != nil {
		return 0, err
	}
	took, block, err := b.TimePass(x)
	if err != nil || block == 0 {
		return 0, err
	}
	rows := 0
	for _, s := range a.splits {
		rows += s.Len()
	}
	return time.Duration(float64(took) * certifyPasses * float64(rows) / float64(block*a.devices.Team.Size())), nil
}

// SaveModel implements Pipeline. The weights of the file act on raw rows.
func (a *assembly) SaveModel(path string) error { return a.saveWeights(path, a.iterate()) }

// saveWeights writes the stacked weights x, as trained, as SaveModel writes the weights of the
// output.
func (a *assembly) saveWeights(path string, x []float64) error {
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
