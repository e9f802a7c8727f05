package decisions

import (
	"fmt"
	"path/filepath"

	"ppal/internal/study"
)

// Point is a fitted classifier.
type Point struct {
	Name     string `json:"name"`
	Models   int    `json:"models"`
	Accepted Counts `json:"accepted"` // the expected number of accepted rows
}

// Fit is the result of a run: a line of results.jsonl.
type Fit struct {
	Kind      Kind    `json:"kind"`
	Dataset   string  `json:"dataset"`
	Bound     float64 `json:"bound"`
	Scores    bool    `json:"scores,omitempty"` // see Problem
	Split     uint64  `json:"split"`            // the seed of the split
	Contender string  `json:"contender"`
	Setting   Setting `json:"setting,omitempty"`
	Repeat    int     `json:"repeat"` // timed runs count from 1; the search has 0
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"cpu_seconds"`
	Totals    Counts  `json:"totals"`
	Points    []Point `json:"points"`
	// Notes are warnings of the library. Failure is the error that ended the run.
	Notes   []string `json:"notes,omitempty"`
	Failure string   `json:"failure,omitempty"`
}

// key identifies a run.
func (f Fit) key() string {
	return fmt.Sprintf("%s %s %v %t %d %s %s %d", f.Kind, f.Dataset, f.Bound, f.Scores, f.Split, f.Contender, f.Setting.Key(), f.Repeat)
}

// of reports whether the fit belongs to the problem.
func (f Fit) solves(p Problem) bool {
	return f.Kind == p.Kind && f.Dataset == p.Data.Name && f.Bound == p.Bound && f.Scores == p.Scores
}

// best returns the point of the fit with the best training decisions. Among points whose
// bounds count as met, Best returns the point with the least error; otherwise Best returns the
// point with the least violation. Best returns false if the fit failed.
func (f Fit) best(p Problem) (Point, bool) {
	var best Point
	found := false
	for _, at := range f.Points {
		if !found || better(p, f.Totals, at.Accepted, best.Accepted) {
			best, found = at, true
		}
	}
	return best, found
}

// better reports whether the training decisions of a are better than the training decisions of b.
func better(p Problem, totals, a, b Counts) bool {
	x, y := measure(p.Kind, totals, a, 0), measure(p.Kind, totals, b, 0)
	switch metX, metY := p.met(totals, a), p.met(totals, b); {
	case metX != metY:
		return metX
	case metX:
		return x.Error < y.Error
	default:
		return x.largest() < y.largest()
	}
}

// resultsFile is the name of the journal in the directory of the results.
const resultsFile = "results.jsonl"

// openJournal opens the journal of all runs in the directory of the results.
func openJournal(dir string) (*study.Journal[Fit], error) {
	return study.OpenJournal(filepath.Join(dir, resultsFile), func(f Fit) (string, error) { return f.key(), nil })
}
