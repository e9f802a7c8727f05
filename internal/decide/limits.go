package decide

import (
	"math"
	"time"

	"ppal/trainer"
)

// share returns the share of the limits at which the current round ends.
func (l *loop) share() float64 {
	rounds, from := l.solutions(), 0.0
	if l.f.Start != nil {
		from = startShare
	}
	switch {
	case rounds < 0:
		return from
	case rounds >= l.f.Rounds:
		return 1
	}
	return from + (1-from)*(firstShare+(1-firstShare)*float64(rounds)/float64(l.f.Rounds))
}

// solutions returns the number of ended rounds with the smooth objective; -1 before the end of the
// round with the objective of Start.
func (l *loop) solutions() int {
	if l.f.Start != nil {
		return l.rounds - 1
	}
	return l.rounds
}

// starting reports whether the current round minimises the objective of Start.
func (l *loop) starting() bool { return l.solutions() < 0 }

// limits returns the settings with the limits at which the current round ends.
func (l *loop) limits() trainer.Settings {
	s, share := l.set, l.share()
	if l.starting() {
		s.Tolerance = math.Max(s.Tolerance, startTolerance)
	}
	s.Iterations = int(math.Ceil(share * float64(s.Iterations)))
	if s.Gradients > 0 {
		s.Gradients = max(l.gradients+1, int(math.Ceil(share*float64(s.Gradients))))
	}
	if s.TimeLimit > 0 {
		s.TimeLimit = max(1, duration(share*s.TimeLimit.Seconds()-l.seconds))
	}
	if !s.Deadline.IsZero() {
		s.Deadline = l.began.Add(time.Duration(share * float64(s.Deadline.Sub(l.began))))
	}
	return s
}

// spent reports whether a limit of the settings is reached.
func (l *loop) spent() bool {
	s := &l.set
	return l.at.Iteration >= s.Iterations || s.TimeLimit > 0 && l.seconds >= s.TimeLimit.Seconds() ||
		s.Gradients > 0 && l.at.GradientEvaluations >= s.Gradients || !s.Deadline.IsZero() && !time.Now().Before(s.Deadline)
}
