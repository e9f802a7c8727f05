package decide

import (
	"fmt"
	"math"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// After the round of Start, the multipliers are 0 and the penalty is small. The steps leave weights
// that meet the smooth bounds or nearly do, and may come to weights with steep sigmoids that exceed
// a bound, and where its gradient nearly vanishes. Multipliers, and a penalty that grows, then
// change little. A round that is stuck in this way ends, and begins anew from the weights of the
// loss with a first penalty that keeps the steps near the bounds.

const (
	// stuckChecks is the number of checks in a row after which a round may be stuck.
	stuckChecks = 10
	// falling is the ratio to an earlier violation below which the violation counts as falling.
	falling = 0.5
	// firmPenalty is the least first penalty of a round that begins anew;
	// docs/evidence/decision-records/rounds.md has measurements. The penalty is also at least ten
	// times the first penalty of the run, and each further round has ten times as much.
	firmPenalty = 1000
	// mostRestarts is the largest number of rounds of a run that begin anew.
	mostRestarts = 2
)

// WarnStuck is the code of the warning that a round is stuck and the method cannot begin anew.
const WarnStuck trainer.WarningCode = "stuck"

// loss describes the end of the round of Start.
type loss struct {
	x                []float64 // the weights at which the next round begins
	violation, worth float64   // of the exact step
	penalty          float64   // the first penalty of the next round; 0: the method has none
}

// stagnation watches the checks of a round.
type stagnation struct {
	checks    int     // checks in a row since the violation halved
	violation float64 // the largest violation since then
	inVain    bool    // a round was stuck, and the method could not begin anew
}

// stuck reports whether the round is stuck at an iterate with the constraints g. This is so if the
// method has raised the penalty to that of a round that begins anew, or if a bound is violated at
// 10 checks in a row, the violation has not halved, and the decisions after the exact step are no
// better than those at the weights of the loss: leaving these weights has gained nothing.
func (l *loop) stuck(g []float64) (bool, error) {
	penalty := l.penalty()
	if l.restarts == 0 && penalty > 0 && penalty >= l.firm() {
		return true, nil
	}
	w, violation := &l.stagnation, problem.MaxViolation(g)
	switch {
	case violation <= l.set.Tolerance:
		w.checks = 0
	case w.checks == 0 || violation < falling*w.violation:
		w.checks, w.violation = 1, violation
	default:
		w.checks++
		w.violation = max(w.violation, violation)
	}
	if w.checks < stuckChecks {
		return false, nil
	}
	w.checks = 0
	r, err := l.count()
	if err != nil || better(r.Exact.Violation, r.Exact.worth(), l.loss.violation, l.loss.worth) {
		return false, err
	}
	w.inVain = w.inVain || penalty == 0
	return penalty > 0, nil
}

// penalty returns the present penalty of the method, 0 if the method cannot begin with another.
func (l *loop) penalty() float64 {
	if m, ok := l.m.(trainer.Penalizer); ok {
		return m.CurrentPenalty()
	}
	return 0
}

// firm returns the first penalty of the next round that begins anew.
func (l *loop) firm() float64 {
	return max(firmPenalty, 10*l.loss.penalty) * math.Pow(10, float64(l.restarts))
}

// mayRestart reports whether the current round may begin anew.
func (l *loop) mayRestart() bool { return l.loss != nil && !l.starting() && l.restarts < mostRestarts }

// restart prepares the state in which a round that was stuck begins anew.
func (l *loop) restart() error {
	if err := l.begin(l.loss.x); err != nil {
		return err
	}
	l.m.(trainer.Penalizer).BeginWith(l.firm())
	l.state = trainer.Capture(l.p, l.m)
	l.restarts++
	l.next()
	return nil
}

// begin makes the method begin at the weights x, and captures its state.
func (l *loop) begin(x []float64) error {
	l.p.Space().Write(problem.Iterate, x)
	at := problem.NewPoint(l.p)
	if err := at.SampleAndForward(l.p, l.at.Iteration); err != nil {
		return err
	}
	if err := l.m.Init(l.p, &at); err != nil {
		return err
	}
	l.state = trainer.Capture(l.p, l.m)
	return nil
}

// restartNote says that rounds began anew.
func restartNote(rounds int) string {
	which := "A round"
	if rounds > 1 {
		which = fmt.Sprintf("%d rounds", rounds)
	}
	return which + " began anew from the weights of the loss with a larger penalty, because multipliers or the penalty grew while a bound stayed exceeded."
}

// stuckWarning says that the weights of the loss are the result, because the method could not begin
// anew.
func (l *loop) stuckWarning() trainer.Warning {
	return trainer.Warning{Code: WarnStuck, Text: fmt.Sprintf("no round gained on the weights of the loss: the steps came to weights that exceed a bound and stayed there, and "+
		"%s cannot begin anew with a larger penalty here (use --method alm)", l.m.Name())}
}

// addRestarts adds to the numbers and vectors of a state what beginning anew needs.
func (l *loop) addRestarts(s *trainer.State) {
	if l.loss == nil {
		return
	}
	w, inVain := &l.stagnation, 0.0
	if w.inVain {
		inVain = 1
	}
	s.Numbers[prefix+"anew"] = []float64{float64(l.restarts), float64(w.checks), w.violation, inVain}
	s.Numbers[prefix+"loss"] = []float64{l.loss.violation, l.loss.worth, l.loss.penalty}
	s.Vectors[prefix+"loss.x"] = l.loss.x
}

// resumeRestarts restores what addRestarts added.
func (l *loop) resumeRestarts(rounds map[string][]float64) error {
	v, start, x := rounds["anew"], rounds["loss"], rounds["loss.x"]
	if v == nil {
		return nil
	}
	if len(v) != 4 || len(start) != 3 || len(x) != l.p.Space().Len() {
		return fmt.Errorf("decide: %w: the weights of the loss belong to another problem", problem.ErrSettings)
	}
	l.restarts, l.stagnation = int(v[0]), stagnation{checks: int(v[1]), violation: v[2], inVain: v[3] != 0}
	l.loss = &loss{x: x, violation: start[0], worth: start[1], penalty: start[2]}
	return nil
}
