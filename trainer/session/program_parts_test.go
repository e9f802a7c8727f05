package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
	"ppal/trainer/session/verify"
)

// ownSource is a source of a program's own. The content stands for the file that it reads.
type ownSource string

func (s ownSource) Load(ctx context.Context, on session.Request) (*session.Data, error) {
	m := session.Matrices{Name: "own", Files: []results.DataFile{session.NewDataFile("own.bin", []byte(s))}}
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
		one := require.Value(session.New(ctx, session.Options{Data: s, Task: session.Decisions{}, Settings: trainer.Settings{Iterations: 5, Seed: 4}}))(t)
		t.Cleanup(func() { one.Close() })
		return one
	}
	begun := run("first")
	require.NoError(t, begun.Open(dir))
	require.NoError(t, begun.Close()) // an interruption before the first checkpoint
	if _, err := run("other").Resume(dir); !errors.Is(err, session.ErrResume) || !strings.Contains(err.Error(), "own.bin is not the file that the run read") {
		t.Errorf("other rows: %v", err)
	}
	s := run("first")
	require.Value(s.Resume(dir))(t)
	require.Value(s.Train(ctx))(t)
	require.NoError(t, s.Save(dir))
	for file, wants := range map[string][]string{
		"config.yaml": {"only-in-program: [the rows]", "own-source: [path=own.bin, part=all]", "own.bin", session.NewDataFile("own.bin", []byte("first")).SHA256},
		"model.json":  {`"dataset": "own"`, `"format": "matrix"`},
		"rows.csv":    {"2,train", "8,train"},
	} {
		content := require.Value(os.ReadFile(filepath.Join(dir, file)))(t)
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
	s := require.Value(session.New(ctx, session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: ownTask{0.1}, Settings: trainer.Settings{Iterations: 300}}))(t)
	defer s.Close()
	require.Value(s.Train(ctx))(t)
	require.NoError(t, s.Save(dir))
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

// nodesTask is a task of nodes: the mean square of label minus score, with a bound on the mean
// square of the scores, which stands for a bound on the positive rate.
func nodesTask(bound float64) *session.Statement {
	return &session.Statement{
		Name: "bounded-fit", Constraints: []session.Constraint{{Name: "mean square", Bound: bound}},
		Nodes: func(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			f, err := squares(scores, rows)
			g := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(scores))))
			return f, gorgonia.Nodes{gorgonia.Must(gorgonia.Sub(g, session.Number(scores, bound)))}, err
		},
		Decided: &session.Decided{SubjectTo: []constraints.Constraint{constraints.PositiveRate().AtMost(0.6)}},
	}
}

// A task of nodes has the counted decisions that it states, with intervals, and verify recomputes
// its nodes: a run of other nodes is not verified.
func TestOwnNodes(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "run")
	options := func(bound float64) session.Options {
		return session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: nodesTask(bound), Settings: trainer.Settings{Iterations: 300}}
	}
	s := require.Value(session.New(ctx, options(0.05)))(t)
	defer s.Close()
	require.Value(s.Train(ctx))(t)
	require.NoError(t, s.Save(dir))
	sum := s.Summary()
	c := sum.Outcome.Constraints[0]
	if c.Constraint != "positive_rate <= 0.6" || c.Train == nil || !c.Met || c.Interval == nil || c.Surrogate == nil ||
		math.Abs(*c.Surrogate-0.05) > 0.005 || c.Multiplier <= 0 || c.Multiplier != sum.Certificate.Nu[0] {
		t.Errorf("%+v, nu %v", c, sum.Certificate.Nu)
	}
	if sum.Train["positive_rate"] != *c.Train || sum.Train["mean_square"] != *c.Surrogate {
		t.Errorf("%v, want the rate %v and the node %v", sum.Train, *c.Train, *c.Surrogate)
	}
	for bound, verified := range map[float64]bool{0.05: true, 0.06: false} {
		if r, err := verify.Run(ctx, dir, options(bound)); err != nil || r.Verified != verified {
			t.Errorf("bound %v: %v, %+v", bound, err, r)
		}
	}
	for want, change := range map[string]func(o *session.Statement){
		"Decided has 2 constraints, and the nodes have 1": func(o *session.Statement) {
			o.Decided.SubjectTo = append(o.Decided.SubjectTo, constraints.FPR().AtMost(0.1))
		},
		"l1(weights)": func(o *session.Statement) { o.Decided.SubjectTo[0], _ = constraints.Parse("l1(weights) <= 3") },
	} {
		o := options(0.05)
		change(o.Task.(*session.Statement))
		if _, err := session.New(ctx, o); !errors.Is(err, session.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// tiles is a source of a program's own pictures: 1 x 4 pixels, whose first pixels are bright for
// class 0.
type tiles struct{}

func (tiles) HoldsPictures() bool { return true }

// images returns n tiles with their labels.
func (tiles) images(n int) (pixels []byte, labels []uint8) {
	for i := range n {
		label := uint8(i % 2)
		labels = append(labels, label)
		pixels = append(pixels, 200*(1-label)+uint8(i%5), 200*(1-label), 100, 200*label)
	}
	return pixels, labels
}

func (s tiles) Load(ctx context.Context, on session.Request) (*session.Data, error) {
	open := func(n int) *picture.Pictures {
		pixels, labels := s.images(n)
		section := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(pixels)), nil }
		return picture.NewPictures(labels, []string{"left", "right"}, picture.Shape{Height: 1, Width: 4, Channels: 1}, 0, nil, section)
	}
	return session.Pictures{Name: "tiles", Files: []results.DataFile{session.NewDataFile("tiles", []byte("40"))},
		Open: func() (train, test *picture.Pictures, err error) { return open(40), open(20), nil }}.Load(ctx, on)
}

// A program's own pictures train to the bits of the same pictures in memory, name their files, and
// are verified.
func TestOwnPictures(t *testing.T) {
	ctx := context.Background()
	train := func(data session.Source, dir string) []float64 {
		o := session.Options{Data: data, Task: session.NeymanPearson{}, Settings: trainer.Settings{Iterations: 40}}
		s := require.Value(session.New(ctx, o))(t)
		defer s.Close()
		r := require.Value(s.Train(ctx))(t)
		require.NoError(t, s.Save(dir))
		if report, err := verify.Run(ctx, dir, o); err != nil || !report.Verified {
			t.Errorf("%T: %v, %+v", data, err, report)
		}
		return r.Values
	}
	at := func(n int) *picture.Selection {
		x := matrix.NewBytes(n, 4, picture.PixelScale)
		pixels, labels := tiles{}.images(n)
		for class, row := uint8(0), 0; class < 2; class++ {
			for i, y := range labels {
				if y == class {
					copy(x.Data[4*row:], pixels[4*i:4*i+4])
					row++
				}
			}
		}
		return &picture.Selection{Pixels: x, Classes: []int{0, 1}, Names: []string{"left", "right"}, Offsets: []int{0, n / 2, n}}
	}
	dir := filepath.Join(t.TempDir(), "run")
	opened, inMemory := train(tiles{}, dir), train(session.ImagesAtHand{Train: at(40), Test: at(20)}, filepath.Join(t.TempDir(), "run"))
	if !slices.Equal(opened, inMemory) {
		t.Errorf("%v, and from memory %v", opened, inMemory)
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || !strings.Contains(string(config), "only-in-program: [the rows]") || !strings.Contains(string(config), "name: tiles") {
		t.Errorf("%v\n%s", err, config)
	}
}

// Rows with weights need a task that says that it counts them: those of ppal do, with every kind of
// bounds, and a task of nodes or with an objective of the program's own may.
func TestTasksCountWeights(t *testing.T) {
	m := &session.Matrix{Features: &matrix.Dense{Rows: 8, Cols: 1, Data: []float64{1, 2, 3, 4, 5, 6, 7, 9}}, Labels: []int{-1, 1, -1, 1, -1, 1, -1, 1},
		Groups: []constraints.Group{{Name: "a", Rows: []int{0, 1, 4, 5}}, {Name: "b", Rows: []int{2, 3, 6, 7}}}, Weights: []float64{1, 2, 1, 2, 3, 1, 1, 2}}
	open := func(task session.Task) error {
		s, err := session.New(t.Context(), session.Options{Data: session.Matrices{Train: m}, Task: task, Settings: trainer.Settings{Iterations: 2}})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	for _, d := range session.Tasks() {
		if d.Rows == session.PictureRows || d.Name == session.NameRanking { // without weights
			continue
		}
		if err := open(d.New()); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	counting := nodesTask(0.1)
	counting.Weighted = true
	for name, task := range map[string]session.Task{"nodes": nodesTask(0.1), "objective": session.Decisions{Objective: squares}} {
		if err := open(task); err == nil || !strings.Contains(err.Error(), "weight gives the rows weights, and the task") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := open(counting); err != nil {
		t.Error(err)
	}
}
