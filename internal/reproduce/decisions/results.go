package decisions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	Split     uint64  `json:"split"` // the seed of the split
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
	return fmt.Sprintf("%s %s %v %d %s %s %d", f.Kind, f.Dataset, f.Bound, f.Split, f.Contender, f.Setting.Key(), f.Repeat)
}

// of reports whether the fit belongs to the problem.
func (f Fit) of(p Problem) bool {
	return f.Kind == p.Kind && f.Dataset == p.Data.Name && f.Bound == p.Bound
}

// Best returns the point of the fit with the best training decisions. Among points within the
// bound plus one row, Best returns the point with the least error; otherwise Best returns the
// point with the least violation. Best returns false if the fit failed.
func (f Fit) Best(p Problem) (Point, bool) {
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
	x, y := Measure(p.Kind, totals, a, 0), Measure(p.Kind, totals, b, 0)
	switch metX, metY := x.Met(p, totals, 0), y.Met(p, totals, 0); {
	case metX != metY:
		return metX
	case metX:
		return x.Error < y.Error
	default:
		return x.Largest() < y.Largest()
	}
}

// journal is the file of all runs. The comparison does not repeat a run in the journal.
type journal struct {
	path string
	fits []Fit
	at   map[string]int
}

// resultsFile is the journal's name in the directory of the results.
const resultsFile = "results.jsonl"

// openJournal reads the runs of an earlier, possibly interrupted call.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	j := &journal{path: filepath.Join(dir, resultsFile), at: map[string]int{}}
	data, err := os.ReadFile(j.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1] // an interrupted call may leave half a line
	if len(whole) < len(data) {
		if err := os.Truncate(j.path, int64(len(whole))); err != nil {
			return nil, err
		}
	}
	line := 0
	for text := range bytes.Lines(whole) {
		line++
		var f Fit
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; remove the file to measure again", j.path, line, err)
		}
		j.keep(f)
	}
	return j, nil
}

// keep adds a run in memory. The run replaces an earlier run with the same key.
func (j *journal) keep(f Fit) {
	if i, ok := j.at[f.key()]; ok {
		j.fits[i] = f
		return
	}
	j.at[f.key()] = len(j.fits)
	j.fits = append(j.fits, f)
}

// find returns the run with the same key, if the journal has that run.
func (j *journal) find(f Fit) (Fit, bool) {
	i, ok := j.at[f.key()]
	if !ok {
		return Fit{}, false
	}
	return j.fits[i], true
}

// add appends a run to the file.
func (j *journal) add(f Fit) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(text, '\n')); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	j.keep(f)
	return nil
}
