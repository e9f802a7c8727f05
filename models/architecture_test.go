package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/models"
)

// quadratic is an architecture without first layers: f = (x V)^2 U + b. Change changes its list of
// parameters.
type quadratic struct {
	Rank    int `json:"rank"`
	Inputs  int `json:"inputs"`
	Outputs int `json:"outputs"`
	change  func([]models.Parameter) []models.Parameter
}

func (q quadratic) Kind() string                { return "test-quadratic" }
func (q quadratic) Dims() (inputs, outputs int) { return q.Inputs, q.Outputs }

func (q quadratic) Sized(inputs, outputs int) (models.Architecture, error) {
	q.Inputs, q.Outputs = inputs, outputs
	return q, nil
}

func (q quadratic) Parameters() []models.Parameter {
	list := []models.Parameter{
		{Name: "factors", Shape: []int{q.Rank, q.Inputs}, FanIn: q.Inputs},
		{Name: "squares", Shape: []int{q.Outputs, q.Rank}, FanIn: q.Rank},
		{Name: "bias", Shape: []int{q.Outputs}, ScoreBias: true},
	}
	if q.change != nil {
		list = q.change(list)
	}
	return list
}

func (q quadratic) Scores(x *gorgonia.Node, p gorgonia.Nodes) (*gorgonia.Node, error) {
	z := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, p[0]))))
	return models.AddBias(gorgonia.Must(gorgonia.Mul(z, p[1])), p[2])
}

func init() { models.Register[quadratic]("test-quadratic") }

// filters is an architecture whose first parameter has three dimensions, which keep their order.
type filters struct{ quadratic }

func (filters) Kind() string { return "test-filters" }

func (f filters) Parameters() []models.Parameter {
	return []models.Parameter{{Name: "filters", Shape: []int{2, 3, 4}, FanIn: 12}}
}

func (f filters) Sized(inputs, outputs int) (models.Architecture, error) { return f, nil }

// The scores of a model of another kind, in rows beyond one block, after a file, with the
// normalization
// as a layer of its own.
func TestArchitectureOfAnotherKind(t *testing.T) {
	const n, d = 300, 3
	rng := rand.New(rand.NewPCG(4, 4))
	a := quadratic{Rank: 2, Inputs: d, Outputs: 2}
	w := require.Value(models.Init(a, rng))(t)
	w[2].Data[1] = 0.25 // biases begin at 0
	norm := models.Normalization{Kind: models.NormalizeStandardize, Center: []float64{1, -2, 0.5}, Deviation: 3}
	folded, err := norm.Fold(a, w)
	if err != nil || !slices.Equal(folded[0].Data, w[0].Data) {
		t.Fatalf("the weights change: %v, %v", folded, err)
	}
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	var file bytes.Buffer
	require.NoError(t, models.Save(&file, models.Model{Architecture: a, Weights: folded, Normalization: norm}, tensor.Float64))
	m, err := models.Load(&file, nil)
	if err != nil || !models.Equal(m.Architecture, a) {
		t.Fatalf("%+v, %v", m.Architecture, err)
	}
	scores := require.Value(m.Predict(rows))(t)
	for i := range n {
		for c := range 2 {
			want := w[2].Data[c]
			for k := range 2 {
				sum := 0.0
				for j := range d {
					sum += (rows[i*d+j] - norm.Center[j]) / norm.Deviation * w[0].Data[k*d+j]
				}
				want += sum * sum * w[1].Data[c*2+k]
			}
			if got := scores[i*2+c]; math.Abs(got-want) > 1e-12 {
				t.Fatalf("score %d of row %d is %v, want %v", c, i, got, want)
			}
		}
	}
	x := require.Value(models.Stack(a, w))(t)
	if err := models.AddToScores(a, x, []float64{1, 2}); err != nil || x[len(x)-2] != 1 || x[len(x)-1] != 2.25 {
		t.Errorf("offsets: %v, %v", x, err)
	}
	if models.IsLinear(a) || models.BeginsWithLayer(a) || models.FirstUnits(a) != 0 {
		t.Errorf("linear %v, begins with a layer %v, %d units", models.IsLinear(a), models.BeginsWithLayer(a), models.FirstUnits(a))
	}
	if _, err := m.ONNX(nil, "x"); !errors.Is(err, models.ErrSpec) || !strings.Contains(err.Error(), "test-quadratic") {
		t.Errorf("ONNX: %v", err)
	}
}

// The graph subtracts the center and multiplies by the scale where no first layer takes them.
func TestNormalizedRowsInTheGraph(t *testing.T) {
	a := quadratic{Rank: 1, Inputs: 2, Outputs: 1}
	w := models.Weights{{Name: "factors", Shape: []int{1, 2}, Data: []float64{1, 10}}, {Name: "squares", Shape: []int{1, 1}, Data: []float64{1}},
		{Name: "bias", Shape: []int{1}, Data: []float64{5}}}
	g := gorgonia.NewGraph()
	net := require.Value(models.New(g, a, tensor.Float64, w))(t)
	node := func(name string, rows, cols int, values ...float64) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(values))))
	}
	scores := require.Value(net.ScaledScores(node("x", 2, 2, 1, 2, 3, 4), node("center", 1, 2, 1, 1), node("scale", 2, 1, 2, 3)))(t)
	require.NoError(t, gorgonia.NewTapeMachine(g).RunAll())
	if got := fmt.Sprint(scores.Value().Data()); got != "[905 8841]" { // ((0 2, 1 3) (1, 10))^2 + 5, ((2 2, 3 3) (1, 10))^2 + 5
		t.Errorf("scores %s", got)
	}
	back, err := net.Weights()
	if err != nil || fmt.Sprint(back) != fmt.Sprint(w) {
		t.Errorf("weights %v, %v", back, err)
	}
}

// Parameters of three dimensions keep the order of their values.
func TestStackOfThreeDimensions(t *testing.T) {
	a := filters{quadratic{Inputs: 1, Outputs: 1}}
	w := require.Value(models.Init(a, rand.New(rand.NewPCG(1, 1))))(t)
	x, err := models.Stack(a, w)
	if err != nil || !slices.Equal(x, w[0].Data) {
		t.Errorf("%v, %v, want %v", x, err, w[0].Data)
	}
	back, err := models.Unstack(a, x)
	if err != nil || !slices.Equal(back[0].Data, x) || !slices.Equal(back[0].Shape, []int{2, 3, 4}) {
		t.Errorf("%v, %v", back, err)
	}
	net, err := models.New(gorgonia.NewGraph(), a, tensor.Float32, w)
	if err != nil || !net.Parameters()[0].Shape().Eq(tensor.Shape{2, 3, 4}) {
		t.Errorf("%v, %v", net, err)
	}
	if err := models.AddToScores(a, x, []float64{1}); !errors.Is(err, models.ErrSpec) {
		t.Errorf("a model without biases of scores: %v", err)
	}
}

// Lists of parameters that the package refuses.
func TestParametersOfAnArchitecture(t *testing.T) {
	for name, change := range map[string]func(p []models.Parameter) []models.Parameter{
		"0 parameters":              func([]models.Parameter) []models.Parameter { return nil },
		"names must differ":         func(p []models.Parameter) []models.Parameter { p[1].Name = "factors"; return p },
		"a shape needs a dimension": func(p []models.Parameter) []models.Parameter { p[1].Shape = nil; return p },
		"has shape [2 0]":           func(p []models.Parameter) []models.Parameter { p[1].Shape = []int{2, 0}; return p },
		"has shape [33554432 2]":    func(p []models.Parameter) []models.Parameter { p[1].Shape = []int{1 << 25, 2}; return p },
		"more than 33554432":        func(p []models.Parameter) []models.Parameter { p[1].Shape = []int{1 << 25}; return p },
		"its bias [h] follows":      func(p []models.Parameter) []models.Parameter { p[0].FirstLayer = true; return p },
		"4 biases of scores for 1":  func(p []models.Parameter) []models.Parameter { p[1].Shape, p[1].ScoreBias = []int{3}, true; return p },
		"65537 parameters":          func(p []models.Parameter) []models.Parameter { return slices.Repeat(p[:1], models.MaxTensors+1) },
	} {
		a := quadratic{Rank: 2, Inputs: 3, Outputs: 1, change: change}
		if _, err := models.Sized(a, 3, 1); !errors.Is(err, models.ErrSpec) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A file of an unknown kind is refused with the kind and what to do, and a kind is registered once.
func TestKinds(t *testing.T) {
	a := filters{quadratic{Rank: 1, Inputs: 1, Outputs: 1}}
	w := require.Value(models.Init(a, rand.New(rand.NewPCG(1, 1))))(t)
	var file bytes.Buffer
	require.NoError(t, models.Save(&file, models.Model{Architecture: a, Weights: w}, tensor.Float64))
	content := file.Bytes()
	if _, err := models.Load(bytes.NewReader(content), nil); !errors.Is(err, models.ErrFile) || !strings.Contains(err.Error(), `kind "test-filters"`) ||
		!strings.Contains(err.Error(), "linear, network, conv, resnet, scores, test-quadratic") {
		t.Errorf("unknown kind: %v", err)
	}
	other := quadratic{Rank: 2, Inputs: 3, Outputs: 1}
	for _, e := range []struct{ file, want models.Architecture }{{quadratic{Rank: 3, Inputs: 3, Outputs: 1}, other}, {models.Spec{Inputs: 3, Outputs: 1}, other}} {
		mismatch := &models.MismatchError{File: e.file, Want: e.want}
		want := "its model has rank 3, expected 2"
		if e.file.Kind() != e.want.Kind() {
			want = "its model has kind linear, expected test-quadratic"
		}
		if models.Equal(e.file, e.want) || !strings.HasSuffix(mismatch.Error(), want) {
			t.Errorf("%v, want %s", mismatch, want)
		}
	}
	for _, kind := range []string{"", models.KindLinear, models.KindNetwork, "test-quadratic"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Register accepts %q", kind)
				}
			}()
			models.Register[quadratic](kind)
		}()
	}
}

// TestAddToScores adds offsets to the scores of every kind of model.
func TestAddToScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, spec := range []models.Spec{
		{Inputs: 4, Outputs: 1},
		{Inputs: 4, Outputs: 3},
		{Inputs: 4, Outputs: 2, Hidden: []int{5, 3}, Activation: models.Tanh},
		{Inputs: 4, Outputs: 3, Hidden: []int{5}, Heads: models.Separate},
	} {
		weights := require.Value(models.Init(spec, rng))(t)
		rows := make([]float64, 4*6)
		for i := range rows {
			rows[i] = rng.NormFloat64()
		}
		before := require.Value(models.Predict(spec, weights, rows))(t)
		x := require.Value(models.Stack(spec, weights))(t)
		offsets := []float64{0.5, -2, 3}[:spec.Outputs]
		require.NoError(t, models.AddToScores(spec, x, offsets))
		moved := require.Value(models.Unstack(spec, x))(t)
		after := require.Value(models.Predict(spec, moved, rows))(t)
		for i := range after {
			if want := before[i] + offsets[i%spec.Outputs]; math.Abs(after[i]-want) > 1e-12 {
				t.Errorf("%+v: score %d is %v, want %v", spec, i, after[i], want)
			}
		}
		if err := models.AddToScores(spec, x, make([]float64, 7)); !errors.Is(err, models.ErrWeights) {
			t.Errorf("%+v: seven offsets: %v", spec, err)
		}
		if err := models.AddToScores(spec, x[:3], offsets); !errors.Is(err, models.ErrWeights) {
			t.Errorf("%+v: a vector of three weights: %v", spec, err)
		}
	}
}
