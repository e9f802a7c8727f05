package models

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/internal/safetensors"
)

// FuzzLoad reads any bytes as a model file, as --init and ppal predict do. A file that is accepted
// has finite weights of the described shapes, and survives another write.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(fixtures, "*.safetensors"))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		data := require.Value(os.ReadFile(path))(f)
		if len(data) < 20000 {
			f.Add(data)
			f.Add(data[:len(data)/2])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, want := range []Architecture{nil, Spec{Inputs: 2, Outputs: 1}} {
			m, err := Load(bytes.NewReader(data), want)
			if err != nil {
				var mismatch *MismatchError
				var format *safetensors.FormatError
				known := slices.ContainsFunc([]error{ErrFile, ErrWeights, ErrSpec, ErrNormalization}, func(e error) bool { return errors.Is(err, e) })
				if !known && !errors.As(err, &mismatch) && !errors.As(err, &format) {
					t.Fatalf("unexpected kind of error: %v", err)
				}
				continue
			}
			for i, p := range m.Architecture.Parameters() {
				w := m.Weights[i]
				if w.Name != p.Name || !slices.Equal(w.Shape, p.Shape) {
					t.Fatalf("tensor %s %v, want %s %v", w.Name, w.Shape, p.Name, p.Shape)
				}
				for _, x := range w.Data {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("%s has the weight %v", w.Name, x)
					}
				}
			}
			if want != nil {
				continue
			}
			var b bytes.Buffer
			require.NoError(t, Save(&b, m, tensor.Float64))
			require.Value(Load(&b, m.Architecture))(t)
		}
	})
}
