package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"ppal/internal/study"
)

// Point is a feasible evaluation that no earlier evaluation of the run dominates: every earlier
// evaluation has a larger f or a larger violation.
type Point struct {
	Evaluations int    `json:"evaluations"`
	Seconds     number `json:"seconds"`
	F           number `json:"f"`
	Violation   number `json:"violation"` // 0 below leastViolation
}

// leastViolation is the least violation that counts as more than 0.
const leastViolation = 1e-8

// Run is the result of an optimiser on a problem: a line of results.jsonl.
type Run struct {
	Problem   string `json:"problem"`
	Contender string `json:"contender"`
	// Setting is JSON; empty for ppal.
	Setting string `json:"setting,omitempty"`
	// Limit is the largest number of evaluations. Later evaluations do not count.
	Limit int `json:"limit"`
	// Start is f at the start.
	Start       number       `json:"start"`
	Points      []Point      `json:"points"`
	Checkpoints []Checkpoint `json:"checkpoints"`
	// Spent is the number of evaluations, at most Limit.
	Spent   int    `json:"spent"`
	Seconds number `json:"seconds"`
	// Failure is the error that ended the run.
	Failure string `json:"failure,omitempty"`
}

// key identifies a run.
func (r *Run) key() string {
	return fmt.Sprintf("%s %s %s %d", r.Problem, r.Contender, r.Setting, r.Limit)
}

// evaluate adds an evaluation.
func (r *Run) evaluate(e Evaluation) {
	if e.Evaluations > r.Limit {
		return
	}
	if e.Forwards == 1 {
		r.Start = e.F
	}
	r.Spent, r.Seconds = e.Evaluations, e.Seconds
	if !e.feasible() {
		return
	}
	at := Point{e.Evaluations, e.Seconds, e.F, e.Violation}
	if at.Violation < leastViolation {
		at.Violation = 0
	}
	if !slices.ContainsFunc(r.Points, func(p Point) bool { return p.F <= at.F && p.Violation <= at.Violation }) {
		r.Points = append(r.Points, at)
	}
}

// check adds a checkpoint.
func (r *Run) check(c Checkpoint) {
	if c.Checkpoint <= r.Limit {
		r.Checkpoints = append(r.Checkpoints, c)
	}
}

// bestAfter returns the least feasible f within a number of evaluations; NaN if there is none.
func (r *Run) bestAfter(evaluations int) float64 {
	best := math.NaN()
	for _, p := range r.Points {
		if f := float64(p.F); p.Evaluations <= evaluations && !(best <= f) {
			best = f
		}
	}
	return best
}

// best returns the least feasible f; NaN if no evaluation was feasible.
func (r *Run) best() float64 { return r.bestAfter(r.Limit) }

// certificate returns the checkpoint with the least epsilon; false if there is no certificate.
func (r *Run) certificate() (Checkpoint, bool) {
	least := Checkpoint{Epsilon: number(math.Inf(1))}
	for _, c := range r.Checkpoints {
		if c.Epsilon < least.Epsilon {
			least = c
		}
	}
	return least, !math.IsInf(float64(least.Epsilon), 1)
}

// epsilon returns the least epsilon of a certificate; infinity if there is none.
func (r *Run) epsilon() float64 {
	c, _ := r.certificate()
	return float64(c.Epsilon)
}

// readTrace adds the evaluations and the checkpoints of an oracle's trace. An oracle that was
// killed may leave half a line.
func (r *Run) readTrace(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		var either struct {
			Evaluation
			Checkpoint  *int   `json:"checkpoint"`
			Best        number `json:"best"`
			Epsilon     number `json:"epsilon"`
			Multipliers number `json:"multipliers"`
		}
		if err := json.Unmarshal(line, &either); err != nil {
			return fmt.Errorf("suite: a trace of %s: %w", r.Problem, err)
		}
		if either.Checkpoint != nil {
			r.check(Checkpoint{*either.Checkpoint, either.Seconds, either.Best, either.Epsilon, either.Multipliers})
		} else {
			r.evaluate(either.Evaluation)
		}
	}
	return nil
}

// resultsFile is the name of the journal in the directory of the results.
const resultsFile = "results.jsonl"

// openJournal opens the journal of all runs in the directory of the results.
func openJournal(dir string) (*study.Journal[Run], error) {
	return study.OpenJournal(filepath.Join(dir, resultsFile), func(r Run) (string, error) { return r.key(), nil })
}
