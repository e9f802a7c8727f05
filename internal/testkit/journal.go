package testkit

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Journal keeps everything that a recorder receives.
type Journal struct {
	Iterations, Ticks []int                         // iterations of the records and ticks
	Records           []trainer.Record              // copies of the records
	After             func(r *trainer.Record) error // if not nil, Record calls After at its end
}

// Record implements trainer.Recorder.
func (l *Journal) Record(r *trainer.Record) error {
	l.Iterations = append(l.Iterations, r.Iteration)
	l.Records = append(l.Records, *r)
	if l.After != nil {
		return l.After(r)
	}
	return nil
}

// Tick implements trainer.Ticker.
func (l *Journal) Tick(at *problem.Point) { l.Ticks = append(l.Ticks, at.Iteration) }

// Mentions reports whether a line contains part.
func Mentions(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, part) })
}

// rooms matches the name of a package of trainer at the start of an error.
var rooms = regexp.MustCompile(`^(trainer|problem|method|step|certify|near|estimate): `)

// Refused fails the test unless Train returns an error that wraps ErrSettings. The error must have
// a single line and begin with the name of a package of trainer.
func Refused(t *testing.T, p problem.Problem, m trainer.Method, s trainer.Settings) {
	t.Helper()
	_, err := trainer.Train(context.Background(), p, m, s)
	if !errors.Is(err, problem.ErrSettings) {
		t.Fatalf("error %v, want ErrSettings", err)
	}
	if text := err.Error(); !rooms.MatchString(text) || strings.Contains(text, "\n") {
		t.Errorf("error %q, want one line with the package's name", text)
	}
}

// SameBits reports whether x and y are the same number to the bit.
func SameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
