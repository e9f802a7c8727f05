package trainer

import (
	"fmt"
	"time"

	"ppal/trainer/certify"
	"ppal/trainer/certify/near"
	"ppal/trainer/problem"
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
	// Gradients is the limit on gradient evaluations, so that methods of one and of several backward
	// passes an iteration get equal work; the iteration that reaches it is the last. 0 is the default:
	// none.
	Gradients int
	// Tolerance stops the run at the first record whose certificate's epsilon is at most this; 0 is
	// the default: never.
	Tolerance float64
	// RecordEvery iterations; the start and the last iterate are always recorded. 0 is the default:
	// about 200 records over the iterations, and with a TimeLimit, which may end the run long before,
	// about 200 over that too: whichever is due first.
	RecordEvery int
	// Recorder observes; nil is the default: nobody.
	Recorder Recorder
	// Measure evaluates what is not the optimiser's business at a record (error rates), outside the
	// clock. nil is the default: nothing.
	Measure func() (map[string]float64, error)
	// Output chooses the iterate that is left in the problem; "" is the default, OutputLast.
	Output Output
	// FeasibilityTolerance is the violation that counts as feasible; 0 is the default, 1e-3.
	FeasibilityTolerance float64
	// CollapseAbove is the objective from which a stationary point is worthless (every margin
	// saturated); 0 is the default: not checked.
	CollapseAbove float64
	// IterationsPerEpoch is for the records' epochs; 0 is the default, 1 (full batch).
	IterationsPerEpoch float64
	// Full is the problem on all data, for records, certificates and results, where the problem that
	// is trained is a Sampler; its iterate is set from that problem's. nil is the default: the problem
	// itself.
	Full problem.Problem
	// Seed of OutputRandom's draw.
	Seed uint64
	// Resume goes on from a state that Result.State of an earlier run of the same problem and method
	// gave, at ResumeAt's iteration (Result.Point). The records, the best iterate and the random one
	// are those of the part that is run.
	Resume   *State
	ResumeAt problem.Point
	// Warn is told each warning as it arises; nil is the default: Result.Warnings alone.
	Warn func(warning string)
	// Certificate's tolerances.
	Certificate certify.Settings
	// NearEvery measures near stationarity at the first record, the last one, and each so many times
	// RecordEvery iterations, outside the clock; 0 is the default: never.
	NearEvery int
	// Near is how. A rho^ that is not set is estimated at the start x_0 and stays.
	Near near.Settings
}

// DefaultFeasibilityTolerance is the violation up to which a constraint counts as met.
const DefaultFeasibilityTolerance = 1e-3

// defaultRecords is about how many records a run takes by default.
const defaultRecords = 200

func (s Settings) validate(p problem.Problem, n int) error {
	switch {
	case s.Iterations < 0 || s.RecordEvery < 0 || s.Gradients < 0:
		return fmt.Errorf("trainer: %w: %d iterations, %d gradients, a record every %d, want none negative",
			problem.ErrSettings, s.Iterations, s.Gradients, s.RecordEvery)
	case !(s.Tolerance >= 0) || !(s.FeasibilityTolerance >= 0) || s.TimeLimit < 0:
		return fmt.Errorf("trainer: %w: tolerance %v, feasibility tolerance %v, time limit %v, want none negative",
			problem.ErrSettings, s.Tolerance, s.FeasibilityTolerance, s.TimeLimit)
	case !(s.Certificate.Sphere >= 0) || !(s.Certificate.Kink >= 0):
		return fmt.Errorf("trainer: %w: the certificate's tolerances %v and %v, want neither negative",
			problem.ErrSettings, s.Certificate.Sphere, s.Certificate.Kink)
	case !(s.IterationsPerEpoch >= 0) || !(s.CollapseAbove >= 0):
		return fmt.Errorf("trainer: %w: %v iterations per epoch, collapse above %v, want neither negative",
			problem.ErrSettings, s.IterationsPerEpoch, s.CollapseAbove)
	case s.NearEvery < 0:
		return fmt.Errorf("trainer: %w: near stationarity every %d records, want it not negative", problem.ErrSettings, s.NearEvery)
	case s.Output != "" && s.Output != OutputLast && s.Output != OutputBest && s.Output != OutputRandom:
		return fmt.Errorf("trainer: %w: output %q (last, best, random)", problem.ErrSettings, s.Output)
	}
	return p.Space().Regularizer.Validate(n)
}
