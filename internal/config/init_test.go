package config

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session"
)

// openSession opens a session of a small run with the given settings.
func openSession(t *testing.T, given Values) (*session.Session, error) {
	t.Helper()
	values := Values{"classes": "2,0,3", "rows-per-class": "40", "hidden": "6", "kappa": "0.3", "device": "cpu", "dtype": "float64",
		"iterations": "0"}
	maps.Copy(values, given)
	if values["model"] == "linear" {
		delete(values, "hidden")
	}
	cfg := require.Value(Resolve(values, nil))(t)
	o := require.Value(cfg.SessionOptions(""))(t)
	return session.New(t.Context(), o)
}

// saved trains a small run and returns the file of its weights.
func saved(t *testing.T, given Values) string {
	t.Helper()
	s := require.Value(openSession(t, given))(t)
	require.Value(s.Train(t.Context()))(t)
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.Save(dir))
	return filepath.Join(dir, "model.safetensors")
}

// For a file that a run cannot start from, the error is one line that names the flag and the
// remedy.
func TestInitRefuses(t *testing.T) {
	dir := t.TempDir()
	path, linear := saved(t, nil), saved(t, Values{"model": "linear"})
	for name, tc := range map[string]struct {
		given Values
		want  string
		is    error
	}{
		"missing": {Values{"init": "nope"},
			"--init nope: no such file or directory; name a safetensors file, such as a run's model.safetensors", fs.ErrNotExist},
		"directory": {Values{"init": dir},
			"--init " + dir + ": not a regular file: it is a directory; name a safetensors file, such as a run's model.safetensors", nil},
		"text": {Values{"init": "session.go"}, "--init: session.go: ", nil},
		"wider": {Values{"init": path, "hidden": "7,8"},
			"--init " + path + ": the file's model has hidden [6], the run's [7 8]: give --hidden 6", ErrUsage},
		"separate": {Values{"init": path, "heads": "separate", "activation": "relu"},
			"--init " + path + ": the file's model has activation sigmoid, the run's relu: give --activation sigmoid; " +
				"the file's model has heads shared, the run's separate: give --heads shared", ErrUsage},
		"linear": {Values{"init": linear},
			"--init " + linear + ": the file's model has hidden [], the run's [6]: give --model linear", ErrUsage},
		"network": {Values{"init": path, "model": "linear"},
			"--init " + path + ": the file's model has hidden [6], the run's []: give --model mlp --hidden 6", ErrUsage},
		"classes": {Values{"init": path, "classes": "0,1"},
			"--init " + path + ": the file's model has outputs 3, the run's 2: give as many --classes", ErrUsage},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openSession(t, tc.given)
			err = NameFlags(err)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// If the data or the device do not support the products, the error names the flag.
func TestProductsAreRefusedByFlag(t *testing.T) {
	for want, given := range map[string]Values{
		"--products is int8x3, which needs AVX-512 VNNI or AVX-VNNI; the go kernels have neither here, want auto or float32": {
			"dtype": "float32", "products": "int8x3", "simd": "go"},
		"--products is bf16x3, which is for 8-bit data; the features of synthetic-adult are others, want auto or float32": nil,
	} {
		err := error(&session.OptionError{Option: "products", Problem: strings.TrimPrefix(want, "--products ")})
		if given != nil {
			_, err = openSession(t, given)
		}
		if err = NameFlags(err); !errors.Is(err, ErrUsage) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
