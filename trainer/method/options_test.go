package method_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
)

// set sets the options to the given values. If fill is true, the other options get the defaults of
// a run without a preset and a problem.
func set(t *testing.T, m trainer.Method, given map[string]string, fill bool) {
	t.Helper()
	options := option.Of(m)
	var lookup option.Lookup
	lookup = func(name string) string {
		i := slices.IndexFunc(options, func(o *option.Option) bool { return o.Name == name })
		if i < 0 {
			return ""
		}
		if _, unmet := options[i].Unmet(lookup); unmet {
			return ""
		}
		return options[i].Text()
	}
	for _, o := range options {
		if text, ok := given[o.Name]; ok {
			if err := o.Set(text); err != nil {
				t.Fatalf("%s %s: %v", o.Name, text, err)
			}
		}
	}
	if !fill {
		return
	}
	for _, o := range options {
		if _, ok := given[o.Name]; ok {
			continue
		}
		if _, unmet := o.Unmet(lookup); unmet {
			continue
		}
		text, ok := o.Default(lookup)
		if !ok {
			t.Fatalf("%s has no default", o.Name)
		}
		if err := o.Set(text); err != nil {
			t.Fatalf("the default of %s, %s, %v", o.Name, text, err)
		}
		if got := o.Text(); got != text {
			t.Errorf("%s: the default %s reads back as %s", o.Name, text, got)
		}
	}
}

// iterates trains for a few iterations on the hand-made problem and returns the records.
func iterates(t *testing.T, m trainer.Method) string {
	t.Helper()
	var texts strings.Builder
	p := handProblem(t, testkit.HandFunctions())
	record := recorderFunc(func(r *trainer.Record) error {
		fmt.Fprintf(&texts, "%d %.11g %.11g %.11g\n", r.Iteration, r.Objective, r.Constraints, r.Multipliers)
		return nil
	})
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 120, RecordEvery: 1, Recorder: record}))(t)
	return texts.String()
}

type recorderFunc func(r *trainer.Record) error

func (f recorderFunc) Record(r *trainer.Record) error { return f(r) }

// The zero value of a method trains with the defaults of its options, for every primal step.
func TestZeroValueHasTheDefaults(t *testing.T) {
	for _, d := range method.All() {
		if d.Name == "multiplier-model" {
			continue // TestMultiplierModelZeroValueHasTheDefaults tests this method, which needs drawn groups
		}
		variants := []map[string]string{nil}
		switch d.Name {
		case "gdpa":
			variants = append(variants, map[string]string{"primal": "nesterov"}, map[string]string{"primal": "adam"})
		case "ppala", "plada", "gda", "nupi", "alm", "penalty", "unconstrained":
			variants = append(variants, map[string]string{"primal": "nesterov"}, map[string]string{"primal": "gradient"}, map[string]string{"primal": "adam"},
				map[string]string{"primal": "gradient", "eta-scale": "fixed", "eta": "0.01"})
		}
		if d.Name == "ppala" || d.Name == "plada" {
			variants = append(variants, map[string]string{"primal": "nesterov", "delta": "harmonic"}, map[string]string{"primal": "nesterov", "alpha": "3"})
		}
		if d.Name == "plada" {
			variants = append(variants, map[string]string{"x-step": "inner:10", "primal": "gradient"})
		}
		if d.Name == "ssg" {
			variants = append(variants, map[string]string{"ssg-violation-rule": "polyak"})
		}
		for _, given := range variants {
			t.Run(fmt.Sprint(d.Name, given), func(t *testing.T) {
				zero, full := d.New(), d.New()
				set(t, zero, given, false)
				set(t, full, given, true)
				if a, b := iterates(t, zero), iterates(t, full); a != b {
					t.Errorf("the zero value differs from the defaults:\n%s\n%s", a[:min(len(a), 400)], b[:min(len(b), 400)])
				}
			})
		}
	}
}

// Every method has a description under its own name. Each option is complete and is listed once.
func TestDescriptions(t *testing.T) {
	for _, d := range method.All() {
		m := d.New()
		if m.Name() != d.Name || d.Summary == "" || d.About == "" || d.Source == "" {
			t.Errorf("%s: %+v", m.Name(), d)
		}
		names := map[string]bool{}
		for _, o := range option.Of(m) {
			if names[o.Name] || o.Help == "" || o.Placeholder() == "" && !o.Switch() {
				t.Errorf("%s: the option %s is incomplete or stands twice", d.Name, o.Name)
			}
			names[o.Name] = true
			if strings.HasSuffix(o.Help, ".") || strings.ToLower(o.Help[:1]) != o.Help[:1] {
				t.Errorf("%s: the help of %s: %s", d.Name, o.Name, o.Help)
			}
		}
	}
	if _, err := method.Lookup("none"); err == nil {
		t.Error("a method that does not exist")
	}
}
