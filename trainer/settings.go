package trainer

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// Output selects the iterate that a run returns.
type Output string

// The outputs. The theorems cover OutputRandom.
const (
	OutputLast   Output = "last"   // the last iterate
	OutputBest   Output = "best"   // the feasible iterate of a check with the smallest objective, or the last if none is feasible
	OutputRandom Output = "random" // an iterate x_1..x_K drawn uniformly, or with the weights of a Weigher

	// OutputBestTrain selects the iterate after the start with the best Merit on the training rows of
	// all checks; OutputBestValidation selects the one with the best Merit on the validation rows.
	OutputBestTrain      Output = "best-train"
	OutputBestValidation Output = "best-validation"
)

// outputs are the values of Settings.Output.
func outputs() []Output {
	return []Output{OutputLast, OutputBest, OutputRandom, OutputBestTrain, OutputBestValidation}
}

// Settings are the settings of a run. The zero value evaluates and records the start alone.
type Settings struct {
	// Iterations is the largest number K of iterations; 0 evaluates and records the start alone.
	Iterations int
	// TimeLimit is the largest training time (recording not counted); 0 is the default: no limit.
	TimeLimit time.Duration
	// Deadline is the time of day at which the run stops; records count, too. The zero value is the
	// default: no deadline.
	Deadline time.Time
	// Gradients is the largest number of gradient evaluations. The run ends after the iteration that
	// reaches the limit. The limit gives equal work to methods with different numbers of backward
	// passes in an iteration. 0 is the default: no limit.
	Gradients int
	// Tolerance stops the run at the first check whose certificate's epsilon is at most Tolerance. The
	// certificate of a check uses the method's own multiplier if the method has one. 0 is the default:
	// never.
	Tolerance float64
	// Solved stops the run at the first check whose objective f and certificate's epsilon are both at
	// most Solved in magnitude: f is a mean of losses, which are at least 0, and can hardly fall. A
	// small epsilon alone may be a plateau: one wrong row with a saturated loss has a small gradient,
	// and later steps can still correct the row. Solved does not end mini-batches, or steps on a
	// sample of the rows. 0 is the default: never.
	Solved float64
	// RecordEvery is the number of iterations between records. Records change neither the iterates
	// nor the end of the run. The run always records the start and the last iterate. 0 is the default:
	// about 200 records over Planned, or fewer if RecordWork is known (see Intervals). With a
	// TimeLimit, the default also records after each 1/200 of TimeLimit, because the limit may end the
	// run early; with a Deadline, after each 1/50 of the time that is left at the start.
	RecordEvery int
	// RecordWork estimates the work of a record, in iterations. 0 is the default: not known.
	RecordWork float64
	// LeastRecords is the number of records that automatic records keep, whatever their work is; 0 is
	// the default, 20.
	LeastRecords int
	// RecordShare is the largest share of the training time that records may take. The run measures
	// the time of its records, and skips a record that is due if the records would take more than this
	// share, and more than FreeRecords in all. The start and the last iterate always have a record.
	// Skipping changes neither the iterates nor the end of the run. Records of a run whose checks
	// choose the output or end it (Output, Patience), and records with NearEvery, are never skipped. 0
	// is the default: no limit.
	RecordShare float64
	// FreeRecords is the time of all records below which RecordShare skips none, so that short runs
	// have equal records; 0 is the default: a second.
	FreeRecords time.Duration
	// CheckEvery is the number of iterations between checks of Tolerance and of the iterates that
	// Output and Patience judge. 0 is the default: 1/200 of Planned, or more: see Intervals.
	CheckEvery int
	// Planned is the number of iterations from which the automatic intervals of records and checks
	// follow. 0 is the default: Iterations. A part of a longer run has the iterations of the run.
	Planned int
	// Recorder observes the run; nil is the default: none.
	Recorder Recorder
	// Measure evaluates further measures, for example error rates, at a record. The time of Measure
	// does not count as training time. nil is the default: no measures.
	Measure func() (map[string]float64, error)
	// Output selects the iterate that the run leaves in the problem. "" is the default: OutputLast, or
	// OutputBestValidation with a Patience.
	Output Output
	// Patience stops the run after this number of checks in a row without a better ValidationMerit; 0
	// is the default: never.
	Patience int
	// TrainMerit returns the merit of the iterate that Measure has just measured, on the training
	// rows. nil is the default: the iterate's objective, and its constraints with
	// FeasibilityTolerance.
	TrainMerit func() Merit
	// ValidationMerit returns the merit of the iterate that Measure has just measured, on validation
	// rows. Patience and OutputBestValidation need ValidationMerit. nil is the
	// default: no validation rows.
	ValidationMerit func() Merit
	// Incumbent is a merit on validation rows that iterates must exceed to reset the wait of Patience;
	// nil is the default: none.
	Incumbent *Merit
	// FeasibilityTolerance is the largest violation that counts as feasible; 0 is the default, 1e-3.
	FeasibilityTolerance float64
	// Stuck reports at a check whether the run is to end with the status Stuck, given the constraints
	// at the iterate. Runs on mini-batches never call Stuck. nil is the default: never.
	Stuck func(g []float64) (bool, error)
	// IgnoreConflict continues a run whose constraints cannot be met (status Infeasible), and does not
	// search for such a conflict.
	IgnoreConflict bool
	// CollapseAbove is the objective of equal scores. The run warns about an output with at least
	// this objective if the point is stationary, or if the model no longer decides for the class of
	// the objective (GivenUp). A record of such a model does not count as feasible. 0 is the default:
	// no check.
	CollapseAbove float64
	// IterationsPerEpoch converts iterations to the records' epochs; 0 is the default, 1 (full batch).
	IterationsPerEpoch float64
	// AllRowsFrom is the iteration from which each iteration of a run on mini-batches uses all rows,
	// and is an epoch; 0 is the default: none.
	AllRowsFrom int
	// Full is the problem on all data, for records, certificates and results, if the trained problem
	// is a Sampler. The run copies the iterate of the trained problem to Full. nil is the default: the
	// trained problem itself.
	Full problem.Problem
	// Sample is the problem on a sample of the rows: see Sample. nil is the default: records have the
	// values of all rows.
	Sample *Sample
	// Seed seeds the draw of OutputRandom.
	Seed uint64
	// Resume continues from the state in Result.State of an earlier run of the same problem and
	// method; ResumeAt is the iteration of that state (Result.Point). The records, the best iterate
	// and the random iterate cover the resumed iterations only, unless the state comes from a
	// Checkpointer.
	Resume   *State
	ResumeAt problem.Point
	// Checkpointer keeps the whole state of the run from time to time. The time that it takes does not
	// count as training time. nil is the default: none.
	Checkpointer Checkpointer
	// Warn receives each warning when it arises; nil is the default: warnings are in Result.Warnings
	// only.
	Warn func(w Warning)
	// Certificate holds the tolerances of the certificate.
	Certificate certify.Settings
	// OwnMultiplier leaves the certificate of the result with the method's own multiplier, if the
	// method has one, and saves the search for a better one: for a part of a longer run.
	OwnMultiplier bool
	// NearEvery measures near stationarity at the first and the last record, and after every NearEvery
	// times RecordEvery iterations. The measurement does not count as training time. 0 is the default:
	// never.
	NearEvery int
	// Near holds the settings of near stationarity. For a RhoHat of 0 the run estimates rho^ at the
	// start x_0 and keeps the estimate.
	Near certify.NearSettings
}

// Sample makes automatic records cheap where all rows cost too much. Records before the last one
// have the values of the sample, and are no candidates for the best feasible iterate. The last
// record has the values of all rows, with the residual of the sample's gradient. The result has the
// certificate of all rows unless Settings.OwnMultiplier leaves the last record's. Settings whose
// records decide something (RecordEvery, Tolerance, Output, Patience, NearEvery) do without the
// sample.
type Sample struct {
	Problem problem.Problem // its own iterate; the run copies the iterate of the trained problem to it
	Rows    int
	Measure func() (map[string]float64, error) // replaces Settings.Measure
}

// Samples reports whether no record decides something, so that records can measure a sample.
func (s *Settings) Samples() bool {
	return s.RecordEvery == 0 && s.Tolerance <= 0 && s.NearEvery == 0 && !s.ChecksChoose() && s.Output != OutputRandom
}

// DefaultFeasibilityTolerance is the default of Settings.FeasibilityTolerance.
const DefaultFeasibilityTolerance = 1e-3

const (
	defaultRecords  = 200         // the approximate number of records of a run by default
	leastRecords    = 20          // the default of LeastRecords
	recordShare     = 0.1         // the largest share of the work for records, if LeastRecords allows it
	checkShare      = 2           // of the work, for checks that choose or may end the run, likewise
	deadlineRecords = 50          // the largest number of records that a Deadline adds
	freeRecords     = time.Second // the default of FreeRecords
)

// Intervals returns the numbers of iterations between records and between checks. A check takes
// place after each 1/200 of Planned, if CheckEvery is 0. On mini-batches the checks that choose the
// output or may end the run are fewer, so that they take at most twice the work of the iterations,
// but LeastRecords remain.
//
// By default a record takes place at every check. If RecordWork is known, a record takes place at
// every p-th check, and after 1, 2, 4, ... checks up to p/2, because a run may end early. p is
// large enough that all records, with the first and the last, take at most a tenth of the work of
// the iterations, but small enough that LeastRecords remain besides the early ones. The intervals
// depend on the settings only. If checks choose the output or end the run (Output, Patience), a
// record takes place at every check.
func (s Settings) Intervals() (record, check int) {
	record, check = s.automatic()
	return cmp.Or(s.RecordEvery, record), check
}

// automatic is Intervals without RecordEvery.
func (s *Settings) automatic() (record, check int) {
	planned := cmp.Or(s.Planned, s.Iterations)
	check = cmp.Or(s.CheckEvery, max(1, planned/defaultRecords))
	least := cmp.Or(s.LeastRecords, leastRecords)
	if s.CheckEvery == 0 && s.IterationsPerEpoch > 1 && s.RecordWork > 0 && (s.ChecksChoose() || s.Tolerance > 0) {
		checks := max(float64(least), checkShare*float64(planned)/s.RecordWork)
		check *= max(1, int(float64(planned/check)/checks))
	}
	if s.ChecksChoose() || s.RecordWork == 0 {
		return check, check
	}
	most := planned / least / check
	allowed := recordShare * float64(planned) / s.RecordWork // records, the first and the last included
	apart := func(records float64) int {
		return int(min(math.Ceil(float64(planned)/float64(check)/max(1, records)), float64(most)))
	}
	early := bits.Len(uint(apart(allowed - 1)))
	return check * max(1, apart(allowed-1-float64(early))), check
}

// ChecksChoose reports whether measures at the checks choose the output or end the run.
func (s *Settings) ChecksChoose() bool {
	switch s.Output {
	case OutputBest, OutputBestTrain, OutputBestValidation:
		return true
	}
	return s.Patience > 0
}

// validate returns an error that wraps problem.ErrSettings if a setting or the regularizer of p is
// invalid. n is the length of x.
func (s Settings) validate(p problem.Problem, n int) error {
	switch {
	case s.Iterations < 0 || s.Planned < 0 || s.RecordEvery < 0 || s.CheckEvery < 0 || s.Gradients < 0:
		return fmt.Errorf("trainer: %w: %d of %d planned iterations, %d gradients, a record every %d and a check every %d iterations, want numbers of at least 0",
			problem.ErrSettings, s.Iterations, s.Planned, s.Gradients, s.RecordEvery, s.CheckEvery)
	case !(s.RecordWork >= 0) || s.LeastRecords < 0 || !(s.RecordShare >= 0):
		return fmt.Errorf("trainer: %w: a record has the work of %v iterations, at least %d records remain, and records take at most %v of the time, want numbers of at least 0",
			problem.ErrSettings, s.RecordWork, s.LeastRecords, s.RecordShare)
	case !(s.Tolerance >= 0) || !(s.Solved >= 0) || !(s.FeasibilityTolerance >= 0) || s.TimeLimit < 0:
		return fmt.Errorf("trainer: %w: tolerance %v, solved at %v, feasibility tolerance %v, time limit %v, want numbers of at least 0",
			problem.ErrSettings, s.Tolerance, s.Solved, s.FeasibilityTolerance, s.TimeLimit)
	case !(s.Certificate.Sphere >= 0) || !(s.Certificate.Kink >= 0):
		return fmt.Errorf("trainer: %w: the certificate's tolerances are %v and %v, want numbers of at least 0",
			problem.ErrSettings, s.Certificate.Sphere, s.Certificate.Kink)
	case s.AllRowsFrom < 0:
		return fmt.Errorf("trainer: %w: all rows from iteration %d on, want a number of at least 0", problem.ErrSettings, s.AllRowsFrom)
	case !(s.IterationsPerEpoch >= 0) || !(s.CollapseAbove >= 0):
		return fmt.Errorf("trainer: %w: %v iterations per epoch, collapse above %v, want numbers of at least 0",
			problem.ErrSettings, s.IterationsPerEpoch, s.CollapseAbove)
	case s.NearEvery < 0:
		return fmt.Errorf("trainer: %w: near stationarity every %d records, want a number of at least 0", problem.ErrSettings, s.NearEvery)
	case s.Output != "" && !slices.Contains(outputs(), s.Output):
		return fmt.Errorf("trainer: %w: unknown output %q (supported: %q)", problem.ErrSettings, s.Output, outputs())
	}
	return p.Space().Regularizer.Validate(n)
}

// epochs returns the number of passes over the rows that the first iterations make.
func (s *Settings) epochs(iterations int) float64 {
	onBatches := iterations
	if s.AllRowsFrom > 0 {
		onBatches = min(iterations, s.AllRowsFrom)
	}
	return float64(onBatches)/s.IterationsPerEpoch + float64(iterations-onBatches)
}
