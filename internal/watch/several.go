package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/internal/rundir"
	"ppal/internal/sweep"
)

// several is the watcher of a comparison or a sweep.
type several struct {
	dir     string
	title   string
	total   int // number of runs; 0: not known
	absence absence
	// runs lists the runs that have begun, and reports whether the result is complete.
	runs func() (list []part, complete bool, err error)
	// results are the files of the result.
	results string
}

// part is a run of a comparison or a sweep.
type part struct {
	name string
	done bool
	text string // its state, or its result
}

// Look implements Watcher.
func (s *several) Look() (*View, error) {
	gone := s.absence.gone()
	list, complete, err := s.runs()
	if err != nil {
		return nil, err
	}
	done := 0
	var going []string
	for _, p := range list {
		if p.done {
			done++
		} else {
			going = append(going, p.name+" "+p.text)
		}
	}
	count := fmt.Sprintf("%d runs finished", done)
	if s.total > 0 {
		count = fmt.Sprintf("%d of %d runs finished", done, s.total)
	}
	v := &View{Line: strings.Join(append([]string{count}, going...), "; "), Screen: func(width, height int) []string {
		return fit(s.screen(count, list, height), width)
	}}
	switch {
	case gone && complete:
		v.Ended, v.Outcome = true, append(s.screen(count, list, len(list)+3), "the results are in "+s.dir+": "+s.results)
	case gone:
		v.Ended, v.Failure = true, fmt.Sprintf("the process is gone, with %s: repeat its command with --out %s to continue", count, s.dir)
	}
	return v, nil
}

// screen returns a line for each run. A low screen shows the last runs.
func (s *several) screen(count string, list []part, height int) []string {
	lines := []string{s.title, count}
	if hidden := len(list) - max(leastRows, height-len(lines)-1); hidden > 0 {
		list = list[hidden:]
	}
	width := 0
	for _, p := range list {
		width = max(width, len([]rune(p.name)))
	}
	for _, p := range list {
		mark := "running "
		if p.done {
			mark = "finished"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s  %s  %s", pad(p.name, width), mark, p.text), " "))
	}
	return lines
}

func openComparison(dir string) (Watcher, error) {
	path := filepath.Join(dir, "study.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	var study struct {
		Title      string   `yaml:"title"`
		Seeds      []uint64 `yaml:"seeds"`
		Contenders []struct {
			Grid []any `yaml:"grid"`
		} `yaml:"contenders"`
	}
	if err := yaml.Unmarshal(data, &study); err != nil {
		return nil, fmt.Errorf("watch: %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	total := len(study.Seeds) * len(study.Contenders)
	for _, c := range study.Contenders {
		if len(c.Grid) > 0 {
			total = 0 // the search decides how many runs there are
		}
	}
	s := &several{dir: dir, title: "comparison: " + study.Title + ": " + dir, total: total, absence: absence{dir: dir},
		results: "summary.md, results.jsonl, plots"}
	folder := filepath.Join(dir, "runs")
	followers := map[string]*rundir.Follower{}
	s.runs = func() ([]part, bool, error) {
		_, missing := os.Stat(filepath.Join(dir, "summary.md"))
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, fmt.Errorf("watch: %w", err)
		}
		var list []part
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".done"); ok {
				list = append(list, part{name: name, done: true})
			}
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".jsonl.part")
			if !ok || slices.ContainsFunc(list, func(p part) bool { return p.name == name }) {
				continue
			}
			path := filepath.Join(folder, e.Name())
			if followers[path] == nil {
				followers[path] = rundir.FollowFile(path)
			}
			text := "no record yet"
			if records, err := followers[path].Records(); err == nil && len(records) > 0 {
				r := &records[len(records)-1]
				text = fmt.Sprintf("iteration %d, objective %.4g, worst violation %.2g", r.Iteration, r.Objective, r.MaxViolation)
			}
			list = append(list, part{name: name, text: text})
		}
		return list, missing == nil, nil
	}
	return s, nil
}

func openSweep(dir string) (Watcher, error) {
	path := filepath.Join(dir, "sweep.yaml")
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer file.Close()
	var head struct { // the first of several documents
		Over   string `yaml:"over"`
		Values any    `yaml:"values"`
	}
	if err := yaml.NewDecoder(file).Decode(&head); err != nil {
		return nil, fmt.Errorf("watch: %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	s := &several{dir: dir, title: "sweep over " + head.Over + ": " + dir, total: len(strings.Fields(fmt.Sprint(head.Values))), absence: absence{dir: dir},
		results: "sweep.jsonl, plots, and a directory for each run"}
	running := map[string]*run{}
	s.runs = func() ([]part, bool, error) {
		points, err := sweep.ReadPoints(sweep.Dir(dir).Points())
		if err != nil {
			return nil, false, err
		}
		var list []part
		for i := range points {
			p := &points[i]
			state := "all bounds met"
			switch p.Rating() {
			case rundir.TrainOnly:
				state = "all bounds met on the training rows only"
			case rundir.Unmet:
				state = fmt.Sprintf("%d bounds not met", len(p.Unmet()))
			}
			list = append(list, part{filepath.Base(p.Run), true, fmt.Sprintf("%s; %s: %s", state, p.Objective.Name, splits(&p.Objective.SplitValues, number))})
		}
		configs, err := filepath.Glob(filepath.Join(escaped(dir), "*-bound-*", "config.yaml"))
		if err != nil {
			return nil, false, fmt.Errorf("watch: %w", err)
		}
		for _, path := range configs {
			name := filepath.Base(filepath.Dir(path))
			if slices.ContainsFunc(list, func(p part) bool { return p.name == name }) {
				continue
			}
			if running[name] == nil {
				if running[name], err = openRun(filepath.Dir(path)); err != nil {
					return nil, false, err
				}
			}
			text := "no record yet"
			if v, err := running[name].Look(); err == nil && v.Line != "" {
				text = v.Line
			}
			list = append(list, part{name: name, text: text})
		}
		return list, s.total > 0 && len(points) >= s.total, nil
	}
	return s, nil
}

// escaped returns a directory's name as a pattern that matches this name only.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
