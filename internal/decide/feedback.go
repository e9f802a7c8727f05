package decide

import (
	"context"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// DefaultRounds is the default of Feedback.Rounds.
const DefaultRounds = 6

// Feedback describes the bounds on decisions that Train feeds back into a smooth problem.
type Feedback struct {
	// Smooth is the smooth problem on all rows. Its first terms are the smooth rates, in the order
	// of Rates. Terms after the rates, such as a norm of the weights, have no decisions and keep
	// their value. The map of Smooth holds the shifts, which Train changes. If the trained problem
	// is a Sampler, it must share the map.
	Smooth *problem.Affine
	// Rates are the rates of decisions on the rows of Smooth: a *Rates, or *Orders. Rates after the
	// last term of Smooth belong to the objective only.
	Rates Decisions
	// Target is the objective on decisions, and the bounds of the map with their slacks.
	Target *Target
	// Start are weights of the terms of Smooth. If Start is not nil, the run begins with one more
	// round, whose objective is the weighted sum of the terms, such as the mean loss. The smooth
	// objective may be flat at the start, and the loss is not. After this round, the method begins
	// anew at the last weights; with hidden layers, quasi-Newton steps keep their model and their
	// trust region. nil is the default: no such round.
	Start []float64
	// Scores returns the scores [n, outputs] of the last Forward of Smooth.
	Scores func() ([]float64, error)
	// Tighten returns the amounts by which Train tightens the bounds of Target at the rates of
	// decisions d, such as margins for new rows; nil means no tightening.
	Tighten func(d []float64) []float64
	// Judge returns the merit of the last forward pass of Smooth on validation rows, with the offsets
	// of the exact step. Settings.Patience and trainer.OutputBestValidation need Judge, which replaces
	// Settings.ValidationMerit.
	Judge func(offsets []float64) (trainer.Merit, error)
	// Rounds is the largest number of rounds after the first solution of the smooth problem; 0 is
	// the default, 6. A negative number means none.
	Rounds int
	// Resolution is the distance up to which scores count as equal in the exact step, relative to
	// the largest absolute score.
	Resolution float64
}

// Decisions are rates of the decisions that scores make, with an exact step.
type Decisions interface {
	// Len returns the number of rates.
	Len() int
	// CountScores writes the rates of the decisions of scores into d. smooth are the smooth rates,
	// which are the values of the rates that decisions do not determine.
	CountScores(d, scores, smooth []float64) error
	// Step takes the exact step from the scores. resolution is that of Feedback.
	Step(target *Target, scores, smooth []float64, resolution float64) (*Exact, error)
}

// Round describes a round of the feedback: a solution of the smooth problem with its shifts, and
// the decisions at the solution.
type Round struct {
	Iteration int       // the last iteration of the round
	Output    int       // the iteration of its weights, by Settings.Output
	Theta     float64   // the step of the feedback that made the shifts
	Shifts    []float64 // c of the round
	Smooth    []float64 // sum_r C_jr h_r + constant_j - bound_j of the smooth rates h
	Decisions []float64 // the same sum for the rates of decisions d, plus the tightening
	Objective float64   // on decisions, before the exact step
	Exact     Exact     // the result of the exact step of the round
}

// Result is the result of Train.
type Result struct {
	// Result describes all rounds: iterations, seconds and gradients. Its point, objective and
	// certificate belong to the smooth problem with the shifts of the best round, before the exact
	// step.
	*trainer.Result
	// Rounds are the rounds in their order. After a resume, Rounds holds the best round before the
	// resume, if a round had ended, and the rounds after the resume.
	Rounds []Round
	// Best is the index of the best round, whose weights the problem holds. The best round has the
	// least violation after the exact step, and among equal violations the least objective on
	// decisions, on the validation rows if they select the weights, else on the training rows.
	Best int
	// OfStart says that the best round is that of Start, although other rounds have ended.
	OfStart bool
	// Ends are the weights at the ends of Rounds.
	Ends [][]float64
}

// Train solves p by rounds of m until the decisions meet the bounds. The package comment describes
// the feedback. The limits of the settings apply to all rounds together: iterations, gradients and
// time. With Start, the run begins with a round that has the objective of Start. This round gets a
// third of the limits, ends at an epsilon of 1e-3, and changes no shift. Of the rest, the next
// round gets a third, and the later rounds share what remains equally. A state of Warm skips the
// round. A round also ends at a check whose epsilon is at most the largest of Settings.Tolerance, a
// twentieth of a row, and 1e-5, and when the method is at rest (trainer.Rester). If the decisions
// of the ended round meet the bounds and use them, the run ends. The run also ends after two rounds
// in a row whose smooth problem cannot be met (package infeasible), if no round met the bounds with
// the exact step. Records continue over the rounds, with increasing iterations; their means begin
// again in each round. If the best round has the objective of Start, the result has no best
// feasible record.
//
// The weights of the best round are the iterate of p and of Smooth at the end, and the map holds
// its shifts. Settings.Output selects the weights of each round. With trainer.OutputBestValidation,
// the best weights on validation rows are those of the run: the merit of each iterate is counted on
// decisions, after the exact step on the training rows. If Settings.Patience ends a round, the run
// ends too, unless it is the round of Start: the next round then begins at the best weights.
// Train does not apply the exact step: its offsets are in Round.Exact.
//
// Result.State continues a run at its last iterate in the same round, to the same bits, if the
// settings are the same. Errors are those of trainer.Train.
func Train(ctx context.Context, p problem.Problem, m trainer.Method, s trainer.Settings, f Feedback) (*Result, error) {
	l, err := newLoop(p, m, s, f)
	if err != nil {
		return nil, err
	}
	for {
		again, err := l.round(ctx)
		if err != nil {
			return l.result, err
		}
		if !again {
			err := l.finish()
			l.book()
			return l.result, err
		}
	}
}
