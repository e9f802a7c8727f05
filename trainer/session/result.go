package session

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/session/results"
)

// Result is a trained model, certified and measured in float64.
type Result struct {
	// Training is the result of the training loop, in the run's precision.
	Training *trainer.Result
	// Certificate is the certificate of the smooth problem. Thresholds on given scores have none.
	Certificate certify.Certificate
	Thresholds  bool            // the run chose thresholds on given scores
	Certifying  time.Duration   // wall time of the certificate
	Objective   float64         // f + r
	Constraints []float64       // g
	Values      []float64       // f, then g + bound, as the training run computes them
	Splits      []SplitMeasures // the training rows first
	// Outcome is the result in the user's terms: each constraint on decisions, the objective and
	// the acceptance rate; nil if the task does not define decisions.
	Outcome *results.Outcome
	// Overfitting is a note about a model that fits the training rows much more closely than the
	// validation rows, with advice; "" for other models.
	Overfitting string
	// Examples are wrong decisions on the rows of the last split: the test rows, if there are any;
	// nil if the task does not define decisions.
	Examples *results.Examples
}

// SplitMeasures are the measures of one split.
type SplitMeasures struct {
	Name  results.Split
	Named map[string]float64
	// Rates are the rates of all rows and of each group; nil if the task's scores do not decide
	// between the classes.
	Rates *results.RateTable
	// ROC is the curve of the rates over all thresholds, with at most about 400 points; nil unless
	// the model has a single score and the rows have two classes.
	ROC []results.ROCPoint
}

// The codes of the warnings of a session, in addition to the codes of package trainer.
const (
	WarnOneSided                        = measure.WarnOneSided    // the model decides every training row alike
	WarnFewPositive                     = measure.WarnFewPositive // the model decides few training rows as positive
	WarnUnmet                           = measure.WarnUnmet       // no threshold meets all bounds on decisions
	WarnUnjudged                        = measure.WarnUnjudged    // a group may be too small to judge a constraint
	WarnCost                            = measure.WarnCost        // the threshold costs much of the objective
	WarnPromise                         = measure.WarnPromise     // a bound is not promised for new rows
	WarnTimeLimit   trainer.WarningCode = "time-limit"            // the limit ended before the first iteration
	WarnFiles       trainer.WarningCode = "files"                 // a file of the run cannot be written
)

// Summary returns the contents of summary.json. Before Save it has no checksums, and before Certify
// it is the zero value.
func (s *Session) Summary() results.Summary {
	if s.summary.Schema == 0 && s.result != nil {
		return s.summarise()
	}
	return s.summary
}

// rateTables returns the rates of decisions on the splits; nil without rates.
func (s *Session) rateTables() (tables map[results.Split]*results.RateTable) {
	for _, split := range s.result.Splits {
		if split.Rates == nil {
			continue
		}
		if tables == nil {
			tables = map[results.Split]*results.RateTable{}
		}
		tables[split.Name] = split.Rates
	}
	return tables
}

// summarise returns the summary of a certified run.
func (s *Session) summarise() results.Summary {
	r := s.result
	sum := s.commonSummary(s.training)
	sum.Objective, sum.Constraints = r.Objective, r.Constraints
	if !r.Thresholds {
		sum.Certificate = results.NewCertificate(r.Certificate)
	}
	sum.MaxViolation, sum.Outcome = problem.MaxViolation(r.Constraints), r.Outcome
	for _, split := range r.Splits {
		sum.Measures(split.Name, split.Named)
	}
	sum.Rates = s.rateTables()
	s.ended(sum.Outcome).Judge(&sum)
	if s.lost != nil {
		sum.Error = s.lost.Error()
	}
	return sum
}

// commonSummary returns the part of the summary that does not need a certificate.
func (s *Session) commonSummary(r *trainer.Result) results.Summary {
	d := s.Describe()
	sum := results.Summary{
		Schema: rundir.Schema,
		Status: string(r.Status), Iterations: r.Iterations, Seconds: r.Seconds, Bounds: d.Bounds,
		Device: d.deviceAndMemory(), Products: d.Products,
		PeakBytes: rundir.PeakBytes(), Warnings: s.Warnings(), WarningCodes: results.NewWarningCodes(s.warnings), Version: d.Version,
		OutputIteration: r.Output, ResidualDecay: results.NewResidualDecay(r.Decay),
		Notes: append([]string{}, concat(d.Notes, r.Notes)...),
	}
	if a := s.own; a != nil {
		sum.SecondsOpening = a.devices.Opening.Seconds()
	}
	sum.SecondsReading, sum.SecondsTotal = s.reading.Seconds(), s.spent.Seconds()
	sum.SecondsMeasuring = max(0, sum.SecondsTotal-sum.SecondsReading-sum.Seconds)
	sum.SecondsCertificates, sum.SecondsRounds, sum.SecondsRecords = r.Times.Certificates, r.Times.Rounds, r.Times.Records
	if s.result != nil {
		sum.SecondsCertificates += s.result.Certifying.Seconds()
	}
	sum.SecondsPlots = s.saving.Seconds()
	if b := r.BestFeasible; b != nil {
		sum.BestFeasible = &results.BestFeasible{Iteration: b.Iteration, Objective: b.Objective}
	}
	return sum
}

// deviceAndMemory returns the name of the device. For a GPU the text includes the peak of the
// memory in use.
func (d Description) deviceAndMemory() string {
	if d.DeviceBytes == 0 {
		return d.Device
	}
	const mega = 1e6
	return fmt.Sprintf("%s, at most %.0f MB on it", d.Device, math.Ceil(float64(d.DeviceBytes)/mega))
}

// ended returns the ended run for its verdict.
func (s *Session) ended(o *results.Outcome) measure.Run {
	run := measure.Run{Circumstances: s.circumstances(o), Training: s.training, Constraints: s.pipeline.Describe().Bounded,
		FeasibilityTolerance: s.options.feasibilityTolerance()}
	if a := s.own; a != nil && a.solved != nil && a.solved.Rounds != nil {
		rounds := a.solved.Rounds.Rounds
		run.Shifts = rounds[len(rounds)-1].Shifts
	}
	return run
}

// circumstances returns the circumstances of a certified run.
func (s *Session) circumstances(o *results.Outcome) measure.Circumstances {
	c := measure.Circumstances{Status: s.training.Status}
	if s.own != nil {
		c = s.own.circumstances(s.training.Status)
	} else { // a pipeline of the caller's own
		c.Float32, c.Batches = s.options.Device.dtype() == tensor.Float32, s.options.BatchSize > 0
		c.Patience, c.Tolerance = s.options.Settings.Patience, s.options.Settings.Tolerance
	}
	c.AtRounding = s.training.Trend.AtRounding && !c.OfLoss
	c.Selected = s.training.Output < s.training.Iterations &&
		slices.Contains([]trainer.Output{trainer.OutputBestTrain, trainer.OutputBestValidation}, s.options.Settings.Output)
	c.Overfitted = o != nil && measure.Overfits(&o.Objective)
	return c
}

// circumstances returns the circumstances of a run with the given end, as far as the settings and
// the rounds tell them.
func (a *assembly) circumstances(status trainer.Status) measure.Circumstances {
	o, st := &a.options, a.builder.statement
	c := measure.Circumstances{Status: status, Float32: a.dtype == tensor.Float32, Batches: o.BatchSize > 0, Promises: a.confidence != nil,
		Several: a.builder.Outputs() > 1, Weighted: a.builder.Regularizer.Weight > 0, Patience: o.Settings.Patience, Tolerance: o.Settings.Tolerance,
		Unscaled: a.data.Dataset == datasets.LIBSVM,
		Convex:   st.start != nil && problem.FeaturesOf(a.problem).Shallow}
	if f := a.solved; f != nil {
		c.Unmet, c.Constant = f.Exact.Violation > 0, f.Few()
		c.Costly = a.confidence == nil && f.Costly()
		c.OfLoss = f.Rounds != nil && f.Rounds.OfStart
	}
	return c
}

// feasibilityTolerance returns the largest violation that counts as feasible.
func (o Options) feasibilityTolerance() float64 {
	if t := o.Settings.FeasibilityTolerance; t > 0 {
		return t
	}
	return trainer.DefaultFeasibilityTolerance
}
