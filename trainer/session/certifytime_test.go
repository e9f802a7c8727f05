package session

import (
	"context"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/trainer"
)

// deadlines is a pipeline that keeps the deadline of the training.
type deadlines struct {
	*assembly
	certificate time.Duration
	deadline    time.Time
}

func (d *deadlines) certifyTime() (time.Duration, error) { return d.certificate, nil }

func (d *deadlines) Optimize(_ context.Context, s trainer.Settings) (*trainer.Result, error) {
	d.deadline = s.Deadline
	return &trainer.Result{}, nil
}

// The training ends before the time limit by the estimated time of the certificate, but has at
// least a quarter of the limit.
func TestTimeLimitHasTheCertificate(t *testing.T) {
	a := assembled(t, small(nil))
	if took, err := a.certifyTime(); err != nil || took <= 0 {
		t.Errorf("estimate %v, %v", took, err)
	}
	const limit = 1000 * time.Hour
	for _, tc := range []struct{ certificate, want time.Duration }{
		{300 * time.Hour, 700 * time.Hour}, {0, limit}, {999 * time.Hour, 250 * time.Hour}, {5000 * time.Hour, 250 * time.Hour},
	} {
		p := &deadlines{assembly: a, certificate: tc.certificate}
		o := a.options
		o.TimeLimit = limit
		s := Run(p, o)
		require.Value(s.Optimize(t.Context()))(t)
		if left := time.Until(p.deadline).Round(time.Hour); left != tc.want {
			t.Errorf("certificate %v: %v for the training, want %v", tc.certificate, left, tc.want)
		}
	}
}

// The estimate leaves the certificate's blocks as they were: equal scores before and after.
func TestClosingLeavesTheScores(t *testing.T) {
	a := assembled(t, small(nil))
	s := a.splits[0]
	b := require.Value(a.builder.exactBlocks(s, a.iterate()))(t)
	before := require.Value(b.Scores(a.iterate()))(t)
	require.Value(a.certifyTime())(t)
	after, err := b.Scores(a.iterate())
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d and %d scores, %v", len(before), len(after), err)
	}
	for i := range before {
		if before[i] != after[i] {
			t.Fatalf("score %d is %v, was %v", i, after[i], before[i])
		}
	}
}
