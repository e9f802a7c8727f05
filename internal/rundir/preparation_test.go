package rundir

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// A preparation reads back with the same values.
func TestPreparationRoundTrip(t *testing.T) {
	for name, want := range map[string]results.Preparation{
		"columns": {Features: []string{"age", "job=clerk", "job missing"}, Preparation: tabular.Preparation{
			Layout: tabular.Layout{Header: []string{"age", "job"}}, Absent: []string{"?", ""},
			Encodings: []tabular.Encoding{{Column: "age", Center: 0.1 + 0.2, Scale: 1e-7}, {Column: "job", Categories: []string{"clerk", "no"},
				Levels: []string{"clerk"}, Missing: true}},
		}},
		"numbers": {Features: []string{"2", "5"}, Preparation: tabular.Preparation{Numbers: []int{2, 5}, Indices: 7}},
	} {
		d := Dir(t.TempDir())
		require.NoError(t, d.WritePreparation(want))
		got := require.Value(d.ReadPreparation(Seal{}))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPreparationErrors(t *testing.T) {
	d := Dir(t.TempDir())
	if _, err := d.ReadPreparation(Seal{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]error{
		"encodings: [":                        dataerr.ErrFormat,
		"colums: [a]":                         dataerr.ErrFormat,
		"features: [a]":                       dataerr.ErrColumn,
		"numbers: [2, 1]\nindices: 2":         dataerr.ErrColumn,
		"encodings:\n- {column: a, scale: 0}": dataerr.ErrColumn,
	} {
		require.NoError(t, os.WriteFile(d.Preparation(), []byte(text), 0o644))
		if _, err := d.ReadPreparation(Seal{}); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
