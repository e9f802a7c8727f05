package rundir

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/session/results"
)

func TestModelRoundTrip(t *testing.T) {
	number := 3
	want := results.Model{Schema: modelSchema, Version: "v", Task: "decisions", Dataset: "csv", Kind: "linear", Weights: "model.safetensors",
		Input: results.Input{Format: results.FormatText, Features: 2, Preparation: "preparation.yaml"},
		Decision: results.Decision{Rule: results.RuleSign, Classes: []results.Class{{Name: "y=no", Value: "no"}, {Name: "y=yes", Value: "yes", Number: &number}},
			Label: &tabular.Label{Column: "y", Positive: "yes", Negative: []string{"no"}}, Threshold: 0.25, Probability: &results.Sigmoid{Slope: 2, Intercept: -1}},
		Normalization: "none", Objective: "error", Constraints: []string{"fpr <= 0.05"},
		Attributes: []results.ModelAttribute{{Name: "sex", Values: []string{"Female", "Male"}}},
		Groups:     []results.ModelGroup{{Name: "age<25", Conditions: []string{"age<25"}}, {Name: "the rest", Conditions: []string{}}}, GroupsAttribute: "age<25",
		Reading: &tabular.Reading{Missing: "flag", Columns: []tabular.ColumnReading{{Column: "age", Number: true, Decimal: ","}}},
		LeftOut: map[string][]string{"fpr <= 0.05": {"fpr[race=c]"}}, Rows: "rows.csv"}
	d := Dir(t.TempDir())
	want.Files = map[string]string{}
	for _, path := range []string{d.Model(), d.Preparation()} {
		require.NoError(t, os.WriteFile(path, []byte(path), 0o644))
		want.Files[filepath.Base(path)] = disk.Sum([]byte(path))
	}
	require.NoError(t, d.WriteModel(want))
	got, err := d.ReadModel()
	want.Checksum = got.Checksum
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if text, err := os.ReadFile(d.ModelDescription()); err != nil || !strings.Contains(string(text), `"fpr <= 0.05"`) {
		t.Errorf("%v: not readable:\n%s", err, text)
	}
}

func TestReadModelErrors(t *testing.T) {
	empty, old := Dir(t.TempDir()), Dir(t.TempDir())
	require.NoError(t, os.WriteFile(old.Model(), nil, 0o644))
	check := func(d Dir, says string) {
		t.Helper()
		if _, err := d.ReadModel(); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	check(Dir(filepath.Join(string(empty), "none")), "there is no such directory")
	check(empty, "there is no model.json")
	check(old, "an earlier version of ppal wrote it")
	for content, says := range map[string]string{`{"schema": 3}`: "its schema is 3", `{"schema": 0}`: "its schema is 0",
		`{"schema": 1, "weights": "../model.safetensors"}`: "not in the run's directory", `{"schema": 1, "rows": "a/rows.csv"}`: "not in the run's directory",
		`{"schema": 1, "weights": "/x"}`: "not in the run's directory", `{"schema": 1, "input": {"preparation": ".."}}`: "not in the run's directory",
		`{"schema"`: "unexpected end", `[]`: "cannot unmarshal"} {
		require.NoError(t, os.WriteFile(old.ModelDescription(), []byte(content), 0o644))
		check(old, says)
	}
}

// A model.json of the present schema has its own checksum and those of the files that it names.
func TestModelChecksums(t *testing.T) {
	d := Dir(t.TempDir())
	for what, m := range map[string]results.Model{
		"no checksum of the weights": {Schema: modelSchema, Weights: "model.safetensors", Files: map[string]string{"x": "1"}},
		"no checksum of its own":     {Schema: 1, Weights: "model.safetensors"},
	} {
		text := require.Value(ModelText(m))(t)
		if m.Schema == 1 {
			text = []byte(strings.Replace(string(text), `"schema": 1`, `"schema": 2`, 1))
		}
		require.NoError(t, os.WriteFile(d.ModelDescription(), text, 0o644))
		if _, err := d.ReadModel(); !errors.Is(err, disk.ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	require.NoError(t, os.WriteFile(d.ModelDescription(), []byte(`{"schema": 2}`), 0o644))
	if _, err := d.ReadModel(); !errors.Is(err, disk.ErrChanged) {
		t.Errorf("nothing but the schema: %v", err)
	}
}

func TestRows(t *testing.T) {
	for name, tc := range map[string]struct {
		list []results.Members
		want string
	}{
		"one file": {[]results.Members{{Split: results.Training, Rows: []int{3, 0}}, {Split: results.Test, Rows: []int{1}}}, "row,split\n1,train\n2,test\n4,train\n"},
		"several": {[]results.Members{{Split: results.Training, File: "a,b", Rows: []int{0}}, {Split: results.Validation, File: "a,b", Rows: []int{1}}, {Split: results.Test, File: "c", Rows: []int{0}}},
			"row,file,split\n1,\"a,b\",train\n2,\"a,b\",validation\n1,c,test\n"},
	} {
		d := Dir(t.TempDir())
		file, err := d.WriteRows(tc.list)
		if err != nil || file != "rows.csv" {
			t.Fatalf("%s: %s, %v", name, file, err)
		}
		if text, err := os.ReadFile(filepath.Join(string(d), file)); err != nil || string(text) != tc.want {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		rows, err := d.ReadRows(file)
		if err != nil || len(rows) != 3 || rows[0].Number != 1 || rows[0].Split != results.Training || rows[2].File != tc.list[len(tc.list)-1].File {
			t.Errorf("%s: %v, %v", name, rows, err)
		}
	}
}

// The file of many rows is compressed to at most 4 bytes for each row.
func TestRowsCompressed(t *testing.T) {
	const rows = 200_000
	var train, test []int
	state := uint32(1)
	for i := range rows {
		if state = state*1664525 + 1013904223; state>>24 < 180 {
			train = append(train, i)
		} else {
			test = append(test, i)
		}
	}
	d := Dir(t.TempDir())
	file, err := d.WriteRows([]results.Members{{Split: results.Training, Rows: train}, {Split: results.Test, Rows: test}})
	if err != nil || file != "rows.csv.gz" {
		t.Fatalf("%s, %v", file, err)
	}
	if info, err := os.Stat(filepath.Join(string(d), file)); err != nil || info.Size() > 4*rows {
		t.Errorf("%v, %v", info, err)
	}
	got, err := d.ReadRows(file)
	if err != nil || len(got) != rows {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i, row := range got {
		if row.Number != i+1 {
			t.Fatalf("line %d is row %d", i+1, row.Number)
		}
	}
	for _, i := range train {
		if got[i].Split != results.Training {
			t.Fatalf("row %d: %v", i, got[i])
		}
	}
	require.NoError(t, os.Truncate(filepath.Join(string(d), file), 1000))
	if _, err := d.ReadRows(file); err == nil {
		t.Error("read a file that was cut")
	}
}

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

// The line of a record has the distance to a solution of the proximal problem. If this distance
// does not exist, the line has null and the reason. If no distance was measured, the line has
// neither.
func TestNearStationarityJSON(t *testing.T) {
	for _, test := range []struct {
		near *certify.Stationarity
		want string
	}{
		{nil, ""},
		{&certify.Stationarity{Distance: 0.25}, `"near_stationarity":0.25`},
		{&certify.Stationarity{Distance: math.NaN(), Reason: "infeasible"},
			`"near_stationarity":null,"near_stationarity_reason":"infeasible"`},
	} {
		r := trainer.Record{NearStationarity: test.near}
		if test.near != nil {
			r.NearReason = test.near.Reason
		}
		line := require.Value(encode(&r))(t)
		if got := string(line); strings.Contains(got, "near") != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
		back := require.Value(decode(line))(t)
		if test.near != nil && test.near.Reason == "" && back.NearStationarity.Distance != test.near.Distance || back.NearReason != r.NearReason {
			t.Errorf("read back as %+v", back)
		}
	}
}
