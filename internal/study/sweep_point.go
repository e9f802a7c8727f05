package study

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"

	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// SweepPoint is one point of the trade-off curve, an object of sweep.jsonl.
type SweepPoint struct {
	Bound float64 `json:"bound"`
	// Outcome is the outcome of the run. Its last constraint is the swept constraint.
	*results.Outcome
	// Multipliers holds, for each constraint of the outcome, the sum of the certificate's
	// multipliers.
	Multipliers []float64 `json:"multipliers"`
	// Slope is the derivative of the smooth objective with respect to the bound. Its size is the
	// multiplier; its sign is negative for a bound from above and positive for a bound from below.
	// Slope is nil for a ratio, because a ratio's bound multiplies a rate.
	Slope        *float64 `json:"slope"`
	Epsilon      float64  `json:"epsilon"` // epsilon of the certificate
	Status       string   `json:"status"`
	Iterations   int      `json:"iterations"`
	Seconds      float64  `json:"seconds"`       // training time
	SecondsTotal float64  `json:"seconds_total"` // wall time of the run
	Run          string   `json:"run"`           // the run's directory, relative to the sweep's directory
	Warnings     []string `json:"warnings"`
}

// newSweepPoint returns the point of a saved run.
func newSweepPoint(bound float64, run string, s *session.Session, result *session.Result) SweepPoint {
	sum := s.Summary()
	p := SweepPoint{Bound: bound, Outcome: result.Outcome, Status: sum.Status, Iterations: sum.Iterations,
		Seconds: sum.Seconds, SecondsTotal: sum.SecondsTotal, Run: run, Warnings: sum.Warnings}
	if sum.Certificate == nil {
		return p
	}
	p.Epsilon = sum.Certificate.Epsilon
	for _, c := range result.Outcome.Constraints {
		p.Multipliers = append(p.Multipliers, c.Multiplier)
	}
	swept := p.Swept()
	slope := 0 - swept.Multiplier // avoids -0
	switch {
	case swept.IsRatio():
		return p
	case swept.AtLeast:
		slope = swept.Multiplier
	}
	p.Slope = &slope
	return p
}

// Swept returns the constraint whose bound varies.
func (p *SweepPoint) Swept() *results.ConstraintOutcome { return &p.Constraints[len(p.Constraints)-1] }

// key returns the key of a point in the journal: the run's directory.
func (p SweepPoint) key() (string, error) {
	if p.Outcome == nil || len(p.Constraints) == 0 {
		return "", fmt.Errorf("%w: the point has no constraints", ErrSweep)
	}
	return p.Run, nil
}

// readSweepPoints reads the points of a sweep. It returns no points if the file does not exist, and
// ignores a last line that a crash cut off. Other errors name the line.
func readSweepPoints(path string) (points []SweepPoint, err error) {
	err = ReadJournal(path, func(p SweepPoint) error {
		_, err := p.key()
		if err == nil {
			points = append(points, p)
		}
		return err
	})
	return points, err
}

// writeSweepState writes the state from which the next run starts.
func writeSweepState(path string, s *trainer.State) error {
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(s); err != nil {
		return fmt.Errorf("sweep: the state: %w", err)
	}
	return rundir.WriteFile(path, out.Bytes())
}

func readSweepState(path string) (*trainer.State, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep: the state of the last point: %w; remove the directory and start again", err)
	}
	var s trainer.State
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&s); err != nil {
		return nil, fmt.Errorf("sweep: %s: %w; remove the directory and start again", path, err)
	}
	return &s, nil
}
