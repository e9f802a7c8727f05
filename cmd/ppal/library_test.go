package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
)

// The command and the library do the same run, to the bit: the defaults of one are those of the
// other.
func TestLibraryDoesTheCommandsRun(t *testing.T) {
	set := trainer.Settings{Iterations: 25, Seed: 1}
	for flags, options := range map[string]session.Options{
		"--problem dp": {Data: session.Table{Dataset: "synthetic-adult"}, Task: session.DemographicParity{}},
		"--problem eo --dataset synthetic-compas": {
			Data: session.Table{Dataset: "synthetic-compas"}, Task: session.EqualizedOdds{}},
		"--problem if --hidden 8": {
			Data: session.Table{Dataset: "synthetic-communities"}, Task: session.Intersectional{},
			Model: &models.Spec{Hidden: []int{8}, Activation: models.ReLU}},
		"--rows-per-class 40": {Data: session.Images{Dataset: "synthetic", RowsPerClass: 40}, Task: session.NeymanPearson{}},
	} {
		t.Run(flags, func(t *testing.T) {
			command := rundir.Dir(filepath.Join(t.TempDir(), "command"))
			got := commandOn(t.Context(), func(a *app) { a.open = session.New },
				append([]string{"train", "--quiet", "--iterations", "25", "--out", string(command)}, strings.Fields(flags)...)...)
			if got.status != exitDone {
				t.Fatalf("%+v", got)
			}
			options.Settings = set
			s, err := session.New(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Train(t.Context()); err != nil {
				t.Fatal(err)
			}
			library := rundir.Dir(filepath.Join(t.TempDir(), "library"))
			if err := s.Save(string(library)); err != nil {
				t.Fatal(err)
			}
			compareRuns(t, command, library)
		})
	}
}

// compareRuns compares the files of two runs, except the program's version and measured times.
func compareRuns(t *testing.T, command, library rundir.Dir) {
	t.Helper()
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Equal(read(command.Model()), read(library.Model())) {
		t.Error("the weights differ")
	}
	times := regexp.MustCompile(`"seconds":[^,]*,`)
	if diff := cmp.Diff(times.ReplaceAllString(string(read(command.Metrics())), ""), times.ReplaceAllString(string(read(library.Metrics())), "")); diff != "" {
		t.Error(diff)
	}
	summaries := [2]rundir.Summary{}
	for i, dir := range []rundir.Dir{command, library} {
		s, err := rundir.ReadSummary(dir.Summary())
		if err != nil {
			t.Fatal(err)
		}
		s.Seconds, s.PeakBytes, s.Version = 0, 0, ""
		s.SecondsReading, s.SecondsMeasuring, s.SecondsTotal = 0, 0, 0
		summaries[i] = s
	}
	if diff := cmp.Diff(summaries[0], summaries[1]); diff != "" {
		t.Error(diff)
	}
	names := func(dir rundir.Dir) (list []string) {
		files, err := filepath.Glob(filepath.Join(string(dir), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			list = append(list, filepath.Base(path))
		}
		return list
	}
	if diff := cmp.Diff(names(command), names(library)); diff != "" {
		t.Error(diff)
	}
}
