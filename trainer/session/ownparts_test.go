package session_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/trainer"
	"ppal/trainer/session"
)

// ownSource is a source of a program's own. The content stands for the file that it reads.
type ownSource string

func (s ownSource) Load(ctx context.Context, on session.Request) (*session.Data, error) {
	m := session.Matrices{Name: "own", Files: []session.DataFile{session.NewDataFile("own.bin", []byte(s))}}
	m.Train = &session.Matrix{Features: &matrix.Dense{Rows: 4, Cols: 1, Data: []float64{1, 2, 3, float64(on.Seed())}},
		Labels: []int{-1, 1, -1, 1}, Numbers: []int{7, 5, 3, 1}}
	return m.Load(ctx, on)
}

func (ownSource) Configuration() []session.Setting {
	return []session.Setting{{Name: "path", Value: "own.bin"}, {Name: "part", Value: "all"}}
}

// The rows of a program's own source have their name, their files, the settings and the row numbers
// in the run's files, and another content of the files is refused when the run is resumed.
func TestOwnSource(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "run")
	run := func(s ownSource) *session.Session {
		one, err := session.New(ctx, session.Options{Data: s, Task: session.Decisions{}, Settings: trainer.Settings{Iterations: 5, Seed: 4}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { one.Close() })
		return one
	}
	begun := run("first")
	if err := begun.Open(dir); err != nil {
		t.Fatal(err)
	}
	if err := begun.Close(); err != nil { // an interruption before the first checkpoint
		t.Fatal(err)
	}
	if _, err := run("other").Resume(dir); !errors.Is(err, session.ErrResume) || !strings.Contains(err.Error(), "own.bin is not the file that the run read") {
		t.Errorf("other rows: %v", err)
	}
	s := run("first")
	if _, err := s.Resume(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Train(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	for file, wants := range map[string][]string{
		"config.yaml": {"only-in-program: [the rows]", "own-source: [path=own.bin, part=all]", "own.bin", session.NewDataFile("own.bin", []byte("first")).SHA256},
		"model.json":  {`"dataset": "own"`, `"format": "matrix"`},
		"rows.csv":    {"2,train", "8,train"},
	} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s has no %q:\n%s", file, want, content)
			}
		}
	}
	_, err := session.Matrices{Train: &session.Matrix{Features: &matrix.Dense{Rows: 1, Cols: 1, Data: []float64{1}}, Labels: []int{1}, Numbers: []int{1, 2}}}.
		Load(ctx, session.Request{})
	if !errors.Is(err, session.ErrOptions) || !strings.Contains(err.Error(), "2 numbers of 1 rows") {
		t.Errorf("numbers of other rows: %v", err)
	}
}

// ownTask is a task of a program's own: the mean square of label minus score, and a bound in the
// language.
type ownTask struct{ bound float64 }

func (o ownTask) decisions() session.Decisions {
	return session.Decisions{Objective: squares, SubjectTo: []constraints.Constraint{constraints.Gap(constraints.TPR, "sex").AtMost(o.bound)}}
}

func (o ownTask) Needs() constraints.Needs { return o.decisions().Needs() }

func (o ownTask) State(train session.Rows, smooth bool) (*session.Statement, error) {
	return o.decisions().State(train, smooth)
}

func (ownTask) Configuration() []session.Setting {
	return []session.Setting{{Name: "power", Value: "2"}}
}

func squares(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, error) {
	var labels []float64
	for _, y := range rows.Labels {
		labels = append(labels, float64(y))
	}
	return gorgonia.Mean(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(scores, session.Column(scores, "labels", labels))))))
}

// A task of a program's own has the attributes that it needs, counted decisions with intervals, and
// the objective of its nodes.
func TestOwnTask(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "run")
	s, err := session.New(ctx, session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: ownTask{0.1}, Settings: trainer.Settings{Iterations: 300}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Train(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	sum := s.Summary()
	if c := sum.Outcome.Constraints[0]; c.Train == nil || *c.Train > 0.1 || !c.Met || c.Interval == nil {
		t.Errorf("%+v", c)
	}
	if f := sum.Train["objective"]; math.Abs(f-sum.Objective) > 0.02 || f < 0.5 || f > 1 { // 1 with scores 0; the exact threshold moves f
		t.Errorf("the mean square is %v, the objective %v", f, sum.Objective)
	}
	content, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || !strings.Contains(string(content), "only-in-program: [the task]") || !strings.Contains(string(content), "own-task: [power=2]") {
		t.Errorf("%v\n%s", err, content)
	}
}
