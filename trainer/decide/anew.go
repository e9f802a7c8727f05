package decide

import (
	"fmt"
	"math"
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Quasi-Newton steps leave the weights of the loss, which meet the smooth bounds or nearly do,
// while the multipliers are 0 and the penalty is small. They may then come to weights with steep
// sigmoids that exceed a bound, and where its gradient nearly vanishes. Multipliers and penalty
// grow there without end and change nothing. A round that is stuck in this way ends, and begins
// anew from the weights of the loss, with a first penalty that keeps the steps near the bounds.

const (
	// stuckChecks is the number of checks in a row that end a round.
	stuckChecks = 10
	// falling is the ratio to an earlier violation below which the violation counts as falling.
	falling = 0.5
	// firmPenalty is the first penalty of a round that begins anew;
	// docs/evidence/decision-records/rounds.md has measurements. Each further round has ten times as
	// much.
	firmPenalty = 1000
	// mostAnew is the largest number of rounds of a run that begin anew.
	mostAnew = 2
)

// loss describes the weights of the round of Start.
type loss struct {
	x         []float64
	objective float64   // f + r with the smooth objective
	excess    []float64 // the constraints without shifts
}

// stagnation watches the checks of a round.
type stagnation struct {
	checks    int     // checks in a row with a Lagrangian that is too large
	violation float64 // the largest violation when it last halved
}

// stuck reports whether the round is stuck at an iterate with the objective f + r. The Lagrangian,
// f + r + lambda.g, exceeds the Lagrangian at the weights of the loss by more than the whole range
// of f: a round that ends there has gained nothing by leaving those weights, whatever f is. Between
// an update of the multipliers and the steps after it, this happens in every round. A round is
// stuck if it happens at 10 checks in a row, in which the violation has not halved.
func (l *loop) stuck(objective float64, g, multipliers []float64) bool {
	w, violation, gap := &l.stagnation, 0.0, objective-l.loss.objective
	for j, v := range g {
		violation = max(violation, v)
		gap += multipliers[j] * (v - (l.loss.excess[j] - l.shifts[j]))
	}
	switch {
	case gap <= l.f.Target.span():
		*w = stagnation{}
	case w.checks == 0 || violation < falling*w.violation:
		*w = stagnation{checks: 1, violation: violation}
	default:
		w.checks++
	}
	return w.checks >= stuckChecks
}

// span returns the largest difference between two values of the objective.
func (t *Target) span() (sum float64) {
	for _, c := range t.Objective.Coefficients {
		sum += math.Abs(c)
	}
	return sum
}

// mayBeginAnew reports whether the current round may begin anew: the method takes quasi-Newton
// steps with a penalty of its own, and the weights of the loss are known.
func (l *loop) mayBeginAnew() bool {
	return l.loss != nil && !l.starting() && l.anew < mostAnew && l.state.Numbers["outer.steps"] != nil && l.state.Numbers[penaltyName] != nil
}

// penaltyName is the name of the penalty of quasi-Newton steps in a state.
const penaltyName = "alm.penalty"

// beginAnew prepares the state in which a round that was stuck begins anew.
func (l *loop) beginAnew() error {
	if _, err := l.begin(l.loss.x); err != nil {
		return err
	}
	l.anew++
	l.next()
	l.state.Numbers[penaltyName] = []float64{firmPenalty * math.Pow(10, float64(l.anew-1))}
	return nil
}

// begin makes the method begin at the weights x, and captures its state.
func (l *loop) begin(x []float64) (problem.Point, error) {
	l.p.Space().Write(problem.Iterate, x)
	at := problem.NewPoint(l.p)
	if err := at.SampleAndForward(l.p, l.at.Iteration); err != nil {
		return at, err
	}
	if err := l.m.Init(l.p, &at); err != nil {
		return at, err
	}
	l.state = trainer.Capture(l.p, l.m)
	return at, nil
}

// keepLoss keeps the weights of the round of Start and its point with the smooth objective.
func (l *loop) keepLoss(x []float64, at *problem.Point) {
	l.loss = &loss{x: x, objective: at.Objective + l.p.Space().Regularizer.Value(x), excess: slices.Clone(at.Constraints)}
	for j, c := range l.shifts {
		l.loss.excess[j] += c
	}
}

// anewNote says that rounds began anew.
func anewNote(rounds int) string {
	which := "A round"
	if rounds > 1 {
		which = fmt.Sprintf("%d rounds", rounds)
	}
	return which + " ended early, because multipliers grew while the violation did not fall, and began anew from the weights of the loss."
}

// addAnew adds to the numbers and vectors of a state what beginning anew needs.
func (l *loop) addAnew(s *trainer.State) {
	if l.loss == nil {
		return
	}
	w := &l.stagnation
	s.Numbers[prefix+"anew"] = []float64{float64(l.anew), float64(w.checks), w.violation}
	s.Numbers[prefix+"loss"] = append([]float64{l.loss.objective}, l.loss.excess...)
	s.Vectors[prefix+"loss.x"] = l.loss.x
}

// resumeAnew restores what addAnew added.
func (l *loop) resumeAnew(rounds map[string][]float64) error {
	v, of, x := rounds["anew"], rounds["loss"], rounds["loss.x"]
	if v == nil {
		return nil
	}
	if len(v) != 3 || len(of) != 1+len(l.shifts) || len(x) != l.p.Space().Len() {
		return fmt.Errorf("decide: %w: the weights of the loss belong to another problem", problem.ErrSettings)
	}
	l.anew, l.stagnation = int(v[0]), stagnation{checks: int(v[1]), violation: v[2]}
	l.loss = &loss{x: x, objective: of[0], excess: of[1:]}
	return nil
}
