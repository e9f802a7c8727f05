package trainer

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// overdue reports whether the deadline has passed.
func (s *Settings) overdue() bool { return !s.Deadline.IsZero() && !time.Now().Before(s.Deadline) }

// timed decides when records are due by time, and when due records are skipped because records have
// taken too much time. By default, a run with a limit on its time also records at intervals of
// time, because the limit may end the run long before Iterations.
type timed struct {
	now      func() time.Time
	training float64       // seconds of training between records; infinite: never
	wall     time.Duration // wall time between records; 0: never
	last     time.Time     // the end of the last record
	began    time.Time
	spent    time.Duration // wall time of all records
	cost     time.Duration // wall time of the last record
	share    float64       // the largest share of the training time for records; 0: any
	free     time.Duration // the time of records that share does not limit
	from     float64       // seconds of training before the run, if it continues an earlier run
}

// newTimed returns the intervals of the settings.
func newTimed(s *Settings, now func() time.Time) timed {
	t := timed{now: now, training: math.Inf(1), began: now(), free: cmp.Or(s.FreeRecords, freeRecords)}
	if !s.ChecksChoose() && s.NearEvery == 0 {
		t.share = s.RecordShare
	}
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

// scheduled reports whether the iterate is on the automatic schedule: a multiple of the interval
// between automatic records, or early.
func (t *run) scheduled() bool { return t.at.Iteration%t.schedule == 0 || t.early() }

// early reports whether the automatic schedule has the iterate before its first interval has
// passed: after 1, 2, 4, ... checks, up to half the interval.
func (t *run) early() bool {
	k := t.at.Iteration
	return k > 0 && 2*k <= t.schedule && k%t.check == 0 && bits.OnesCount(uint(k/t.check)) == 1
}

// due reports whether the iterate has a record, if the run does not end there. By default, a record
// that is scheduled, or due by time, is skipped while records are too expensive. An early record is
// skipped sooner, because it must leave time for two later records.
func (t *run) due() bool {
	more, early := 2, t.set.RecordEvery == 0 && t.early() // this record and the last
	if early {
		more += 2
	}
	return (early || t.at.Iteration%t.every == 0 || t.timed.due(t.seconds-t.last.Seconds)) && t.timed.affordable(t.seconds, more)
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
	now := t.now()
	return now.Sub(t.last) >= t.wall && t.spent.Seconds() <= recordShare*now.Sub(t.began).Seconds()
}

// affordable reports whether more records, each as long as the record before, fit into the share of
// the training time or into the free time. seconds is the training time.
func (t *timed) affordable(seconds float64, more int) bool {
	return t.share == 0 || (t.spent+time.Duration(more)*t.cost).Seconds() <= max(t.share*(seconds-t.from), t.free.Seconds())
}

// recorded counts a record of the given wall time.
func (t *timed) recorded(spent time.Duration) {
	t.spent, t.cost = t.spent+spent, spent
	if t.wall > 0 {
		t.last = t.now()
	}
}
