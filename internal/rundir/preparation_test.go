package rundir

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
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
		if err := d.WritePreparation(want); err != nil {
			t.Fatal(err)
		}
		got, err := d.ReadPreparation(Seal{})
		if err != nil {
			t.Fatal(err)
		}
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
		if err := os.WriteFile(d.Preparation(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReadPreparation(Seal{}); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
