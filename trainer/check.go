package trainer

import (
	"math"
	"time"

	"ppal/trainer/certify"
)

// meets reports whether the certificate of the iterate, or of the point that the method would
// return, has an epsilon of at most Settings.Tolerance. It computes the certificate only if the
// constraints and their multipliers do not already exceed the tolerance.
func (t *run) meets() (bool, error) {
	if t.set.Tolerance == 0 {
		return false, nil
	}
	shown, err := t.showReturned()
	if err != nil {
		return false, err
	}
	met := false
	err = t.accurately(func() (err error) {
		met, err = t.meetsHere()
		return err
	})
	if shown && err == nil {
		err = t.hideReturned()
	}
	return met, err
}

// meetsHere reports whether the iterate meets the tolerance.
func (t *run) meetsHere() (bool, error) {
	if err := t.evaluate(); err != nil {
		return false, err
	}
	nu := t.m.Report().Nu
	if infeasibility, complementarity := certify.Residuals(t.fullAt.Constraints, nu); max(infeasibility, complementarity) > t.set.Tolerance {
		return false, nil
	}
	c, err := certify.Measure(t.full, t.fullAt, nu, t.set.Certificate)
	return c.Epsilon <= t.set.Tolerance, err
}

// overdue reports whether the deadline has passed.
func (s *Settings) overdue() bool { return !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) }

// timed decides when records are due by time. By default, a run with a limit on its time also
// records at intervals of time, because the limit may end the run long before Iterations.
type timed struct {
	training float64       // seconds of training between records; infinite: never
	wall     time.Duration // wall time between records; 0: never
	last     time.Time     // the end of the last record
	began    time.Time
	spent    time.Duration // wall time of all records
}

// newTimed returns the intervals of the settings.
func newTimed(s *Settings) timed {
	t := timed{training: math.Inf(1), began: time.Now()}
	if s.RecordEvery > 0 {
		return t
	}
	if s.TimeLimit > 0 {
		t.training = s.TimeLimit.Seconds() / defaultRecords
	}
	if !s.Deadline.IsZero() {
		t.last, t.wall = t.began, max(1, s.Deadline.Sub(t.began)/deadlineRecords)
	}
	return t
}

// due reports whether a record is due after the given seconds of training without a record. Under a
// deadline, records that have taken more than recordShare of the time wait.
func (t *timed) due(training float64) bool {
	if training >= t.training {
		return true
	}
	if t.wall == 0 {
		return false
	}
	now := time.Now()
	return now.Sub(t.last) >= t.wall && t.spent.Seconds() <= recordShare*now.Sub(t.began).Seconds()
}

// recorded counts a record of the given wall time.
func (t *timed) recorded(spent time.Duration) {
	t.spent += spent
	if t.wall > 0 {
		t.last = time.Now()
	}
}
