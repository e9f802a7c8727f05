package preset_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/internal/require"
)

// Every file names settings of ppal train, and values that these take.
func TestFilesNameSettings(t *testing.T) {
	paths, err := filepath.Glob("*/*.yaml")
	if err != nil || len(paths) < 14 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		data := require.Value(os.ReadFile(path))(t)
		var rules []struct {
			With      map[string]any
			Name      string            // of the notes
			Published []string          // of the notes
			Default   map[string]string `yaml:",inline"`
		}
		if err := yaml.Unmarshal(data, &rules); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, r := range rules {
			for name, value := range r.Default {
				k := config.Find("", name)
				switch {
				case k == nil:
					t.Errorf("%s: no setting %s", path, name)
				case k.Set(value) != nil:
					t.Errorf("%s: %s: %s: %v", path, name, value, k.Set(value))
				}
			}
			for name := range r.With {
				if config.Find("", name) == nil {
					t.Errorf("%s: no setting %s", path, name)
				}
			}
			if r.With == nil && config.Find("", r.Name) == nil {
				t.Errorf("%s: a rule without conditions", path)
			}
		}
	}
}

func TestApply(t *testing.T) {
	var x float64
	run := func(texts ...string) option.Lookup {
		return func(name string) string {
			if i := slices.Index(texts, name); i >= 0 && i%2 == 0 {
				return texts[i+1]
			}
			return ""
		}
	}
	kappa := func() *option.Option {
		o := option.Number("kappa", &x, option.Positive, "Set it").Or("0.2").With(option.If("problem", "mnpc"))
		return preset.Apply([]*option.Option{o})[0]
	}
	if got, want := kappa().DefaultHelp(), "default 0.2; paper, cifar10: 2; paper: 1; cifar10: 0.6"; got != want {
		t.Errorf("kappa: %s, want %s", got, want)
	}
	for _, c := range []struct {
		want string
		run  []string
	}{
		{"0.2", nil}, {"1", []string{"preset", "paper"}}, {"0.6", []string{"dataset", "cifar10"}}, {"2", []string{"preset", "paper", "dataset", "cifar10"}},
	} {
		if got, _ := kappa().Default(run(c.run...)); got != c.want {
			t.Errorf("kappa with %q: %s, want %s", c.run, got, c.want)
		}
	}
	// rules that differ in the problem only are one case
	tau := preset.Apply([]*option.Option{option.Number("tau", &x, option.Positive, "Set it").Or("9")})[0]
	if got, want := tau.DefaultHelp(), "default 9; paper, dp/eo: 0.1; paper, if: 0.01"; got != want {
		t.Errorf("tau: %s, want %s", got, want)
	}
	// a rule that repeats the option's own default says nothing
	primal := preset.Apply([]*option.Option{option.Choice("primal", new(string), "Set it", "gradient", "nesterov")})[0]
	if got, want := primal.DefaultHelp(), "default gradient"; got != want {
		t.Errorf("primal: %s, want %s", got, want)
	}
}

func TestSetDefaults(t *testing.T) {
	var beta float64
	for problem, want := range map[string]float64{"mnpc": 0.2, "if": 0.5, "dp": 0.1} {
		if err := preset.SetDefaults([]*option.Option{option.Number("beta", &beta, option.Positive, "Set it").Or("0.1")}, problem); err != nil || beta != want {
			t.Errorf("%s: %v, %v, want %v", problem, beta, err, want)
		}
	}
}
