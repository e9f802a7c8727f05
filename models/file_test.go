package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/internal/safetensors"
)

// fixtures is the folder of the model files that PyTorch and this package wrote.
const fixtures = "../testdata/models"

// goldenCase is one model of pytorch.json or ppal.json in testdata/models.
type goldenCase struct {
	Model  json.RawMessage `json:"model"`
	Rows   [][]float64     `json:"rows"`
	Scores [][]float64     `json:"scores"`
}

// architecture returns the case's model: a ResNet if it names blocks, a Conv if it names channels.
func (c goldenCase) architecture(t *testing.T) Architecture {
	t.Helper()
	kind := ""
	switch {
	case bytes.Contains(c.Model, []byte(`"blocks"`)):
		kind = KindResNet
	case bytes.Contains(c.Model, []byte(`"channels"`)):
		kind = KindConv
	}
	return require.Value(decodeArchitecture(kind, string(c.Model)))(t)
}

func readGolden(t *testing.T, name string) map[string]goldenCase {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(fixtures, name)))(t)
	var cases map[string]goldenCase
	require.NoError(t, json.Unmarshal(text, &cases))
	return cases
}

func flat(rows [][]float64) []float64 {
	var all []float64
	for _, r := range rows {
		all = append(all, r...)
	}
	return all
}

// Files that PyTorch wrote (testdata/models/pytorch.py make) give PyTorch's scores.
func TestLoadPyTorch(t *testing.T) {
	for name, c := range readGolden(t, "pytorch.json") {
		t.Run(name, func(t *testing.T) {
			m := require.Value(LoadFile(fixtures+"/pytorch_"+name+".safetensors", c.architecture(t)))(t)
			got := require.Value(Predict(m.Architecture, m.Weights, flat(c.Rows)))(t)
			if diff := cmp.Diff(flat(c.Scores), got, cmpopts.EquateApprox(0, 1e-14)); diff != "" {
				t.Errorf("scores (-PyTorch +got):\n%s", diff)
			}
		})
	}
}

// Our files equal, byte for byte, the files that PyTorch loaded with the same scores
// (testdata/models/pytorch.py check).
func TestGoldenFiles(t *testing.T) {
	written := map[string]goldenCase{}
	for name, c := range readGolden(t, "pytorch.json") {
		rng, a := generator(uint64(len(name))), c.architecture(t)
		inputs, outputs := a.Dims()
		weights := require.Value(Init(a, rng))(t)
		m := Model{Architecture: a, Weights: weights}
		dtype := tensor.Float64
		if name == "two_layer" {
			dtype = tensor.Float32
			m.Normalization = Normalization{Kind: NormalizeStandardize, Center: normals(rng, inputs, 1), Deviation: 0.3}
		}
		var b bytes.Buffer
		require.NoError(t, Save(&b, m, dtype))
		path := fixtures + "/ppal_" + name + ".safetensors"
		require.Golden(t, path, b.Bytes())
		loaded := require.Value(LoadFile(path, nil))(t)
		scores := require.Value(Predict(loaded.Architecture, loaded.Weights, flat(c.Rows)))(t)
		c.Scores = nil
		for len(scores) > 0 {
			c.Scores = append(c.Scores, scores[:outputs])
			scores = scores[outputs:]
		}
		written[name] = c
	}
	if require.Update() {
		text := require.Value(json.MarshalIndent(written, "", " "))(t)
		require.NoError(t, os.WriteFile(fixtures+"/ppal.json", append(text, '\n'), 0o644))
	}
	if diff := cmp.Diff(readGolden(t, "ppal.json"), written, cmpopts.EquateApprox(0, 1e-14)); diff != "" {
		t.Errorf("scores (-golden +got):\n%s", diff)
	}
}

func TestSaveLoad(t *testing.T) {
	for _, spec := range specs() {
		weights := require.Value(Init(spec, generator(8)))(t)
		center := normals(generator(9), spec.Inputs, 1.0/3)
		for _, n := range []Normalization{
			{Kind: NormalizeNone},
			{Kind: NormalizeCenter, Center: center},
			{Kind: NormalizeStandardize, Center: center, Deviation: 1.0 / 7},
		} {
			m := Model{Architecture: spec.WithDefaults(), Weights: weights, Normalization: n}
			path := filepath.Join(t.TempDir(), "model.safetensors")
			require.NoError(t, SaveFile(path, m, tensor.Float64))
			got, err := LoadFile(path, &spec)
			require.NoError(t, err)
			if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-saved +loaded):\n%s", spec.testName(), diff)
			}
			// Single precision rounds once.
			var b bytes.Buffer
			require.NoError(t, Save(&b, m, tensor.Float32))
			if got, err = Load(&b, nil); err != nil {
				t.Fatal(err)
			}
			for i, w := range got.Weights {
				for k, v := range w.Data {
					if v != float64(float32(weights[i].Data[k])) {
						t.Fatalf("%s: %v is stored as %v", w.Name, weights[i].Data[k], v)
					}
				}
			}
		}
	}
}

func TestSaveRefuses(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 1}
	weights, _ := Init(spec, generator(1))
	nan := weights.Clone()
	nan[1].Data[0] = math.NaN()
	huge := weights.Clone()
	huge[0].Data[1] = -1e39
	for _, test := range []struct {
		model  Model
		dtype  tensor.Dtype
		err    error
		detail string
	}{
		{Model{Architecture: spec, Weights: nan}, tensor.Float64, ErrWeights, "linear.bias is NaN at 0"},
		{Model{Architecture: spec, Weights: huge}, tensor.Float32, ErrWeights, "linear.weight is -1e+39 at 1"},
		{Model{Architecture: spec, Weights: weights, Normalization: Normalization{Kind: "zca"}}, tensor.Float64, ErrNormalization, `"zca"`},
		{Model{Architecture: spec, Weights: weights}, tensor.Int, nil, "dtype int"},
		{Model{Weights: weights}, tensor.Float64, ErrSpec, "there is no architecture"},
	} {
		var b bytes.Buffer
		err := Save(&b, test.model, test.dtype)
		if err == nil || test.err != nil && !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.detail) {
			t.Errorf("got %v, want %q", err, test.detail)
		}
		if b.Len() > 0 {
			t.Errorf("%q: %d bytes were written all the same", test.detail, b.Len())
		}
	}
	err := SaveFile(filepath.Join(t.TempDir(), "no", "such"), Model{Architecture: spec, Weights: weights}, tensor.Float64)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	want := Spec{Inputs: 2, Hidden: []int{3}, Outputs: 2}
	f64 := func(name string, shape ...int) safetensors.Tensor {
		return safetensors.New(name, safetensors.F64, shape, make([]float64, size(shape)))
	}
	describe := func(model string) map[string]string { return map[string]string{"model": model} }
	good := []safetensors.Tensor{f64("hidden.weight", 3, 2), f64("hidden.bias", 3), f64("output.weight", 2, 3), f64("output.bias", 2)}
	infinite := safetensors.New("output.bias", safetensors.F32, []int{2}, []float64{0, math.Inf(1)})
	for _, test := range []struct {
		name     string
		tensors  []safetensors.Tensor
		metadata map[string]string
		want     Architecture
		err      error
		detail   string
	}{
		{"no description", good, nil, nil, ErrFile, `no "model"`},
		{"bad description", good, map[string]string{"model": `{"inputs":2,"depth":3}`}, nil, ErrFile, "depth"},
		{"two descriptions", good, map[string]string{"model": `{}{}`}, nil, ErrFile, "follows"},
		{"description of no model", good, map[string]string{"model": `{"inputs":0}`}, nil, ErrSpec, "0 inputs"},
		{"many heads", good, describe(`{"inputs":1,"hidden":[1],"outputs":2000000,"heads":"separate"}`), nil, ErrSpec, "8000000 tensors, expected at most 65536"},
		{"endless heads", good, describe(`{"inputs":1,"hidden":[1],"outputs":2000000000,"heads":"separate"}`), nil, ErrSpec, "parameters"},
		{"other width", good, describe(`{"inputs":2,"hidden":[4],"outputs":2}`), want, ErrFile,
			"not the expected model file: its model has hidden [4], expected [3]"},
		{"other model", good, describe(`{"inputs":3,"outputs":4,"activation":"relu"}`), want, ErrFile,
			"its model has inputs 3, expected 2; hidden [], expected [3]; outputs 4, expected 2; activation relu, expected sigmoid"},
		{"other heads", good, describe(`{"inputs":2,"hidden":[3],"outputs":2,"heads":"separate"}`), want, ErrFile,
			"heads separate, expected shared"},
		{"want of no model", good, nil, Spec{}, ErrSpec, "0 inputs"},
		{"missing", good[:3], nil, want, ErrFile, `"output.bias" of shape [2] is missing`},
		{"extra", append([]safetensors.Tensor{f64("more", 1)}, good...), nil, want, ErrFile, `"more" of shape [1]`},
		{"shape", append([]safetensors.Tensor{f64("hidden.weight", 2, 3)}, good[1:]...), nil, want, ErrWeights,
			"hidden.weight has shape [2 3], expected [3 2]"},
		{"infinite", append([]safetensors.Tensor{infinite}, good[:3]...), nil, want, ErrWeights, "output.bias is +Inf at 1"},
		{"normalization", good, map[string]string{"normalization": `{"kind":"center","center":[1]}`}, want, ErrNormalization, "1 centers"},
		{"normalization not JSON", good, map[string]string{"normalization": `{`}, want, ErrFile, "normalization"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, safetensors.Write(&b, safetensors.File{Metadata: test.metadata, Tensors: test.tensors}))
			_, err := Load(&b, test.want)
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.detail) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q on one line", err, test.detail)
			}
		})
	}
	var format *safetensors.FormatError
	if _, err := Load(strings.NewReader("text"), nil); !errors.As(err, &format) {
		t.Errorf("no safetensors file: %v", err)
	}
	if _, err := LoadFile(fixtures+"/none", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := LoadFile(fixtures+"/pytorch.py", nil); err == nil || !strings.HasPrefix(err.Error(), fixtures+"/pytorch.py: ") {
		t.Errorf("the path is missing: %v", err)
	}
}
