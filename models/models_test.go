package models

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

func TestParameters(t *testing.T) {
	tests := map[string]struct {
		spec Spec
		want []Parameter
	}{
		"linear": {Spec{Inputs: 5, Outputs: 3}, []Parameter{
			{"linear.weight", []int{3, 5}, 5, 0, 0, true, false}, {"linear.bias", []int{3}, 5, 0, 0, false, true}}},
		"two layers": {Spec{Inputs: 784, Hidden: []int{64}, Outputs: 4}, []Parameter{
			{"hidden.weight", []int{64, 784}, 784, 0, 0, true, false}, {"hidden.bias", []int{64}, 784, 0, 0, false, false},
			{"output.weight", []int{4, 64}, 64, 0, 0, false, false}, {"output.bias", []int{4}, 64, 0, 0, false, true}}},
		"deep": {Spec{Inputs: 7, Hidden: []int{6, 5}, Outputs: 2}, []Parameter{
			{"hidden.0.weight", []int{6, 7}, 7, 0, 0, true, false}, {"hidden.0.bias", []int{6}, 7, 0, 0, false, false},
			{"hidden.1.weight", []int{5, 6}, 6, 0, 0, false, false}, {"hidden.1.bias", []int{5}, 6, 0, 0, false, false},
			{"output.weight", []int{2, 5}, 5, 0, 0, false, false}, {"output.bias", []int{2}, 5, 0, 0, false, true}}},
		"separate": {Spec{Inputs: 7, Hidden: []int{6}, Outputs: 2, Heads: Separate}, []Parameter{
			{"head.0.hidden.weight", []int{6, 7}, 7, 0, 0, true, false}, {"head.0.hidden.bias", []int{6}, 7, 0, 0, false, false},
			{"head.0.output.weight", []int{1, 6}, 6, 0, 0, false, false}, {"head.0.output.bias", []int{1}, 6, 0, 0, false, true},
			{"head.1.hidden.weight", []int{6, 7}, 7, 0, 0, true, false}, {"head.1.hidden.bias", []int{6}, 7, 0, 0, false, false},
			{"head.1.output.weight", []int{1, 6}, 6, 0, 0, false, false}, {"head.1.output.bias", []int{1}, 6, 0, 0, false, true}}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, test.spec.Parameters()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, spec := range specs() {
		if err := spec.Validate(); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	for _, test := range []struct {
		spec   Spec
		detail string
	}{
		{Spec{}, "0 inputs"},
		{Spec{Inputs: 1}, "0 outputs"},
		{Spec{Inputs: 1 << 40, Outputs: 1}, "1099511627776 inputs"},
		{Spec{Inputs: 1, Outputs: 1, Hidden: []int{4, -1}}, "-1 units in hidden layer 1"},
		{Spec{Inputs: 1, Outputs: 1, Activation: "gelu"}, `unknown activation "gelu"`},
		{Spec{Inputs: 1, Outputs: 1, Heads: "twin"}, `unknown heads "twin"`},
		{Spec{Inputs: 1, Outputs: 2, Heads: Separate}, "separate heads need a hidden layer"},
		{Spec{Inputs: 784, Outputs: 4, Hidden: []int{math.MaxInt32}}, "more than 33554432 parameters: use fewer units"},
		{Spec{Inputs: 784, Outputs: 4, Hidden: []int{100_000, 100_000}}, "more than 33554432 parameters"},
		{Spec{Inputs: 784, Outputs: 4, Hidden: []int{3_000_000}}, "more than 33554432 parameters"},
		{Spec{Inputs: math.MaxInt32, Outputs: math.MaxInt32, Hidden: []int{math.MaxInt32, math.MaxInt32}}, "more than 33554432 parameters"},
		{Spec{Inputs: 1, Outputs: math.MaxInt32, Hidden: []int{1}, Heads: Separate}, "more than 33554432 parameters"},
		{Spec{Inputs: 784, Outputs: 4, Hidden: []int{50_000}, Heads: Separate}, "more than 33554432 parameters"},
		{Spec{Inputs: MaxParameters, Outputs: 1}, "more than 33554432 parameters"},
		{Spec{Inputs: 1, Outputs: MaxTensors/4 + 1, Hidden: []int{1}, Heads: Separate}, "65540 tensors, expected at most 65536"},
		{Spec{Inputs: 1, Outputs: 1, Hidden: slices.Repeat([]int{1}, MaxTensors/2)}, "65538 tensors"},
	} {
		if err := test.spec.Validate(); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), test.detail) {
			t.Errorf("%+v: got %v, want %q", test.spec, err, test.detail)
		}
		if _, err := Init(test.spec, generator(1)); !errors.Is(err, ErrSpec) {
			t.Errorf("Init(%+v): %v", test.spec, err)
		}
	}
}

// The largest allowed model, exactly.
func TestMaxParameters(t *testing.T) {
	for _, spec := range []Spec{
		{Inputs: MaxParameters - 1, Outputs: 1},
		{Inputs: 1, Outputs: MaxParameters / 2},
		{Inputs: MaxParameters/2 - 3, Hidden: []int{1}, Outputs: 2, Heads: Separate},
		{Inputs: 1, Hidden: []int{1}, Outputs: MaxTensors / 4, Heads: Separate},
	} {
		if err := spec.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestSpecEqual(t *testing.T) {
	a := Spec{Inputs: 2, Hidden: []int{3}, Outputs: 2}
	if b := (Spec{2, []int{3}, 2, Sigmoid, Shared}); !Equal(a, b) || !Equal(b, a) {
		t.Error("the defaults differ from what they mean")
	}
	for _, b := range []Spec{{3, []int{3}, 2, "", ""}, {2, []int{4}, 2, "", ""}, {2, nil, 2, "", ""},
		{2, []int{3}, 1, "", ""}, {2, []int{3}, 2, Tanh, ""}, {2, []int{3}, 2, "", Separate}} {
		if Equal(a, b) {
			t.Errorf("%+v equals %+v", a, b)
		}
	}
}

func TestWeightsCheck(t *testing.T) {
	spec := Spec{Inputs: 2, Hidden: []int{3}, Outputs: 2}
	for _, test := range []struct {
		change func(w Weights) Weights
		detail string
	}{
		{func(w Weights) Weights { return w[:3] }, `"output.bias" of shape [2] is missing`},
		{func(w Weights) Weights { return append(w, w[0]) }, `"hidden.weight" is not a tensor of the model`},
		{func(w Weights) Weights { w[0], w[1] = w[1], w[0]; return w }, `tensor 0 is "hidden.bias", expected "hidden.weight"`},
		{func(w Weights) Weights { w[0].Shape = []int{2, 3}; return w }, "hidden.weight has shape [2 3], expected [3 2]"},
		{func(w Weights) Weights { w[1].Data = nil; return w }, "hidden.bias has 0 values, shape [3] needs 3"},
		{func(w Weights) Weights { w[2].Data[4] = math.NaN(); return w }, "output.weight is NaN at 4"},
		{func(w Weights) Weights { w[3].Data[0] = math.Inf(-1); return w }, "output.bias is -Inf at 0"},
	} {
		weights := require.Value(Init(spec, generator(1)))(t)
		if err := test.change(weights).Check(spec); !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), test.detail) {
			t.Errorf("got %v, want %q", err, test.detail)
		}
	}
}

// Every layer's values are uniform in +-1/sqrt(fan_in): bounds, mean, variance.
func TestInitIsPyTorchsDefault(t *testing.T) {
	spec := Spec{Inputs: 400, Hidden: []int{100}, Outputs: 50}
	weights := require.Value(Init(spec, generator(1)))(t)
	require.NoError(t, weights.Check(spec))
	for i, bound := range []float64{0.05, 0.05, 0.1, 0.1} {
		var sum, squares, largest float64
		for _, v := range weights[i].Data {
			sum += v
			squares += v * v
			largest = max(largest, math.Abs(v))
		}
		n := float64(len(weights[i].Data))
		if largest > bound || largest < bound*(1-20/n) {
			t.Errorf("%s: largest %v, bound %v", weights[i].Name, largest, bound)
		}
		if deviation := bound / math.Sqrt(3*n); math.Abs(sum/n) > 4*deviation {
			t.Errorf("%s: mean %v", weights[i].Name, sum/n)
		}
		if ratio := squares / n / (bound * bound / 3); math.Abs(ratio-1) > 4/math.Sqrt(n) {
			t.Errorf("%s: variance is %v of the uniform distribution's", weights[i].Name, ratio)
		}
	}
}

// A seed always gives the same weights.
func TestInitDraws(t *testing.T) {
	weights := require.Value(Init(Spec{Inputs: 4, Hidden: []int{1}, Outputs: 1}, generator(42)))(t)
	var got []float64
	for _, w := range weights {
		got = append(got, w.Data...)
	}
	rng := rand.New(rand.NewPCG(42, 0))
	var want []float64
	for _, bound := range []float64{0.5, 0.5, 0.5, 0.5, 0.5, 1, 1} {
		want = append(want, (2*rng.Float64()-1)*bound)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFoldKeepsScoresAndUnfolds(t *testing.T) {
	for _, spec := range specs() {
		rng := generator(2)
		weights := require.Value(Init(spec, rng))(t)
		center := normals(rng, spec.Inputs, 2)
		rows := normals(rng, 6*spec.Inputs, 3)
		for _, n := range []Normalization{
			{},
			{Kind: NormalizeCenter, Center: center, Deviation: 1},
			{Kind: NormalizeStandardize, Center: center, Deviation: 0.37},
		} {
			t.Run(fmt.Sprintf("%s/%s", spec.testName(), n.Kind), func(t *testing.T) {
				before := weights.Clone()
				folded := require.Value(n.Fold(spec, weights))(t)
				if diff := cmp.Diff(before, weights); diff != "" {
					t.Errorf("Fold changed its argument:\n%s", diff)
				}
				normalized := append([]float64(nil), rows...)
				if n.Kind != "" {
					for i := range normalized {
						normalized[i] = (normalized[i] - center[i%spec.Inputs]) / n.scale()
					}
				}
				want := require.Value(Predict(spec, weights, normalized))(t)
				got := require.Value(Predict(spec, folded, rows))(t)
				if e := distance(got, want, 1e-2); e > 1e-13 {
					t.Errorf("scores differ by %.2g", e)
				}
				back := require.Value(n.Unfold(spec, folded))(t)
				for i := range back {
					if e := distance(back[i].Data, weights[i].Data, 1e-2); e > 1e-14 {
						t.Errorf("%s comes back off by %.2g", back[i].Name, e)
					}
				}
			})
		}
	}
}

func TestNormalizationRefuses(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 1}
	weights, _ := Init(spec, generator(1))
	c := []float64{1, 2}
	for _, test := range []struct {
		n      Normalization
		detail string
	}{
		{Normalization{Kind: "zca"}, `"zca"`},
		{Normalization{Center: c}, "2 centers"},
		{Normalization{Kind: NormalizeCenter, Center: c[:1]}, "1 centers"},
		{Normalization{Kind: NormalizeCenter, Center: c, Deviation: 2}, "deviation 2"},
		{Normalization{Kind: NormalizeStandardize, Center: c}, "deviation 0"},
		{Normalization{Kind: NormalizeStandardize, Center: c, Deviation: -1}, "deviation -1"},
		{Normalization{Kind: NormalizeStandardize, Center: c, Deviation: math.NaN()}, "deviation NaN"},
		{Normalization{Kind: NormalizeStandardize, Center: c, Deviation: math.Inf(1)}, "deviation +Inf"},
		{Normalization{Kind: NormalizeCenter, Center: []float64{0, math.NaN()}}, "feature 1 is NaN"},
	} {
		if _, err := test.n.Fold(spec, weights); !errors.Is(err, ErrNormalization) || !strings.Contains(err.Error(), test.detail) {
			t.Errorf("%+v: got %v, want %q", test.n, err, test.detail)
		}
	}
	// Dividing by a tiny deviation overflows: an error, never an infinite weight.
	n := Normalization{Kind: NormalizeStandardize, Center: c, Deviation: 1e-320}
	if _, err := n.Fold(spec, weights); !errors.Is(err, ErrWeights) {
		t.Errorf("overflow: %v", err)
	}
}

// Two layers by hand, for each activation.
func TestPredictByHand(t *testing.T) {
	weights := Weights{
		{"hidden.weight", []int{2, 1}, []float64{1, -2}}, {"hidden.bias", []int{2}, []float64{0.5, 0}},
		{"output.weight", []int{1, 2}, []float64{3, 5}}, {"output.bias", []int{1}, []float64{-1}},
	}
	sigma := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	for activation, f := range map[Activation]func(z float64) float64{
		Sigmoid: sigma, Tanh: math.Tanh, ReLU: func(z float64) float64 { return max(z, 0) },
	} {
		spec := Spec{Inputs: 1, Hidden: []int{2}, Outputs: 1, Activation: activation}
		got := require.Value(Predict(spec, weights, []float64{0.25, -1}))(t)
		for i, x := range []float64{0.25, -1} {
			if want := 3*f(x+0.5) + 5*f(-2*x) - 1; math.Abs(got[i]-want) > 1e-15 {
				t.Errorf("%s(%v) = %v, want %v", activation, x, got[i], want)
			}
		}
	}
}

func TestPredictBlocks(t *testing.T) {
	for _, spec := range []Spec{{3, []int{5}, 2, ReLU, Separate}, {3, []int{5, 7}, 2, Tanh, Shared}} {
		rng := generator(4)
		weights, _ := Init(spec, rng)
		rows := normals(rng, 3*(2*predictBlock+3), 1)
		all := require.Value(Predict(spec, weights, rows))(t)
		for i := 0; i < len(rows); i += 3 {
			one := require.Value(Predict(spec, weights, rows[i:i+3]))(t)
			if e := distance(all[2*(i/3):2*(i/3)+2], one, 1); e > 1e-14 {
				t.Fatalf("row %d alone differs by %.2g", i/3, e)
			}
		}
		if none, err := Predict(spec, weights, nil); err != nil || len(none) != 0 {
			t.Errorf("no rows: %v, %v", none, err)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 1}
	weights, _ := Init(spec, generator(1))
	if _, err := Predict(spec, weights, []float64{1, 2, 3}); err == nil || !strings.Contains(err.Error(), "3 values") {
		t.Errorf("half a row: %v", err)
	}
	if _, err := Predict(spec, weights[:1], []float64{1, 2}); !errors.Is(err, ErrWeights) {
		t.Errorf("missing tensor: %v", err)
	}
	_, err := Predict(spec, weights, []float64{1, 2, math.NaN(), 0})
	if err == nil || !strings.Contains(err.Error(), "score 0 of row 1 is NaN") {
		t.Errorf("NaN: %v", err)
	}
}

func TestSigmoidExtremes(t *testing.T) {
	for z, want := range map[float64]float64{0: 0.5, 800: 1, -800: 0, -700: math.Exp(-700), math.Inf(1): 1, math.Inf(-1): 0} {
		if got := sigmoid(z); math.Abs(got-want) > 1e-15*want {
			t.Errorf("sigmoid(%v) = %v, want %v", z, got, want)
		}
	}
}

// BenchmarkPredict uses rows with the size of an image classifier's.
func BenchmarkPredict(b *testing.B) {
	spec := Spec{Inputs: 784, Hidden: []int{256}, Outputs: 4}
	rng := generator(1)
	weights, _ := Init(spec, rng)
	rows := normals(rng, 6000*784, 1)
	for b.Loop() {
		require.Value(Predict(spec, weights, rows))(b)
	}
}

// The stacked vector is the concatenation of the nodes' values, and unstacking returns the
// weights.
func TestStackIsTheNodesMemory(t *testing.T) {
	for _, spec := range []Spec{
		{Inputs: 3, Outputs: 2},
		{Inputs: 3, Hidden: []int{4, 5}, Outputs: 2},
		{Inputs: 3, Hidden: []int{4}, Outputs: 2, Heads: Separate},
	} {
		weights := require.Value(Init(spec, rand.New(rand.NewPCG(1, 2))))(t)
		net := require.Value(New(gorgonia.NewGraph(), spec, tensor.Float64, weights))(t)
		var want []float64
		for _, n := range net.Parameters() {
			want = append(want, n.Value().Data().([]float64)...)
		}
		x, err := Stack(spec, weights)
		if err != nil || !cmp.Equal(x, want) {
			t.Errorf("%+v: Stack = %v, %v, want %v", spec, x, err, want)
		}
		back, err := Unstack(spec, x)
		if err != nil || !cmp.Equal(back, weights) {
			t.Errorf("%+v: Unstack differs: %v %v", spec, err, cmp.Diff(back, weights))
		}
		for _, wrong := range [][]float64{x[1:], append(x, 0)} {
			if _, err := Unstack(spec, wrong); !errors.Is(err, ErrWeights) {
				t.Errorf("%+v: Unstack of %d numbers: %v, want ErrWeights", spec, len(wrong), err)
			}
		}
	}
}
