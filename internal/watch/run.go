package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ppal/internal/dirlock"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// run is the watcher of a run.
type run struct {
	dir      rundir.Dir
	title    string
	settings settings
	follower *rundir.Follower
	absence  absence
}

// settings are the parts of config.yaml that the watcher needs.
type settings struct {
	Method     string            `yaml:"method"`
	Dataset    string            `yaml:"dataset"`
	Iterations int               `yaml:"iterations"`
	TimeLimit  string            `yaml:"time-limit"`
	BoundsOn   rundir.BoundsOn   `yaml:"bounds-on"`
	Tolerance  float64           `yaml:"feasibility-tolerance"`
	Provenance rundir.Provenance `yaml:"provenance"`
}

// timeLimit returns the time limit in seconds; 0: no limit.
func (s *settings) timeLimit() float64 {
	d, err := time.ParseDuration(s.TimeLimit)
	if err != nil {
		return 0
	}
	return d.Seconds()
}

func openRun(dir string) (*run, error) {
	path := rundir.Dir(dir).Config()
	data, err := rundir.Seal{}.Read(path)
	if err != nil {
		return nil, err
	}
	r := &run{dir: rundir.Dir(dir), follower: rundir.Dir(dir).Follow(), absence: absence{dir: dir}}
	if err := yaml.Unmarshal(data, &r.settings); err != nil {
		return nil, fmt.Errorf("watch: %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	for _, part := range []struct{ word, name string }{{"", r.settings.Method}, {" on ", r.settings.Dataset}} {
		if part.name != "" {
			r.title += part.word + part.name
		}
	}
	r.title = strings.TrimPrefix(r.title+": "+dir, ": ")
	return r, nil
}

// resumable reports whether a run with this status can continue.
func resumable(status string) bool {
	return status == string(trainer.Interrupted) || status == string(trainer.Failed)
}

// Look implements Watcher.
func (r *run) Look() (*View, error) {
	gone := r.absence.gone() // before the files are read: the process may end in between
	sum, err := rundir.ReadSummary(r.dir.Summary())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// An interrupted run that goes on still has the summary of its former part.
	ended := err == nil && (!resumable(sum.Status) || dirlock.Free(string(r.dir)))
	records, err := r.follower.Records()
	if errors.Is(err, fs.ErrNotExist) {
		return &View{Ended: true, Failure: fmt.Sprintf("%s is gone: the run ended before its first record", r.dir),
			Screen: func(int, int) []string { return nil }}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &state{run: r, records: records}
	v := &View{Line: s.line(), Screen: s.screen}
	reached := ""
	if n := len(records); n > 0 {
		reached = " after " + s.iterations()
	}
	switch {
	case ended && sum.Status == string(trainer.Interrupted):
		v.Ended, v.Resume, v.Failure = true, string(r.dir), "the run was interrupted"+reached
	case ended && sum.Status == string(trainer.Failed):
		v.Ended, v.Failure = true, fmt.Sprintf("the run failed%s: %s", reached, sum.Error)
	case ended:
		v.Ended, v.Outcome = true, outcome(&sum, r)
	case gone:
		v.Ended, v.Resume, v.Failure = true, string(r.dir), "the process of the run is gone, without a result"+reached
	}
	return v, nil
}
