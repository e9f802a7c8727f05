package cmd

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/internal/config"
	"ppal/internal/require"
	"ppal/trainer/method"
)

// The list of the methods and their descriptions equal golden files, which people read.
func TestMethods(t *testing.T) {
	got := command(t.Context(), nil, "methods")
	if got.status != exitDone {
		t.Fatal(got.stderr)
	}
	require.Golden(t, "testdata/methods.txt", got.stdout)
	var all strings.Builder
	for _, name := range method.Names() {
		got := command(t.Context(), nil, "methods", name)
		if got.status != exitDone || got.stderr != "" {
			t.Fatal(got.stderr)
		}
		all.WriteString(got.stdout + "\n")
	}
	require.Golden(t, "testdata/methods-each.txt", all.String())
}

// find returns a command of the program.
func find(t *testing.T, name string) *cobra.Command {
	t.Helper()
	a := &app{getenv: func(string) string { return "" }}
	c, _, err := a.rootCommand(nil).Find([]string{name})
	require.NoError(t, err)
	return c
}

// documented lists the flags of train that are documented outside the repository. Other programs
// use these flags: never remove a flag from this list.
var documented = strings.Fields(`problem dataset data-dir file label group drop-sensitive split rows-per-class normalize
	model hidden heads activation
	classes kappa phi epsilon eo-form if-form regularizer theta regularizer-weight box
	method preset alpha beta tau delta delta-p delta-q delta0 sigma0 mu-step x-step slack-cap slack-start
	gdpa-step gdpa-step-decay gdpa-penalty gdpa-perturbation gdpa-ratio
	eta primal momentum eta-scale
	iterations time-limit tolerance batch-size seed output feasibility-tolerance out record-every init log-format quiet explain config
	device engine dtype threads micro-batch simd products
	missing ignore categorical separator psi near-stationarity
	penalty-coefficient penalty-growth penalty-period gda-dual-step alm-penalty alm-inner
	ssg-tolerance ssg-step ssg-step-rule ssg-violation-rule ssg-violation-step
	ipp-ssg-tolerance ipp-ssg-bound ipp-ssg-rho ipp-ssg-inner
	ipp-conex-t0 ipp-conex-bound ipp-conex-rho ipp-conex-inner ipp-conex-restart
	multiplier-model-step multiplier-model-network-step multiplier-model-units`)

func TestDocumentedFlags(t *testing.T) {
	flags := find(t, "train").Flags()
	for _, name := range documented {
		if flags.Lookup(name) == nil {
			t.Errorf("train lacks --%s", name)
		}
	}
}

// The short help lists at most 40 flags, all of them in a group. It does not list the settings of
// single methods.
func TestShortHelp(t *testing.T) {
	const most = 40
	count := 0
	find(t, "train").Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[rareAnnotation] != nil {
			return
		}
		count++
		for _, name := range method.Names() {
			if strings.HasPrefix(f.Name, name+"-") {
				t.Errorf("the short help lists --%s", f.Name)
			}
		}
	})
	count++ // --help, which cobra adds
	if flags := find(t, "train").Flags(); flags.Lookup("help") != nil {
		count--
	}
	if count > most {
		t.Errorf("the short help lists %d flags, want at most %d", count, most)
	}
	help := command(t.Context(), nil, "train", "--help").stdout
	if n := strings.Count(help, "\n      --") + strings.Count(help, "\n  -"); n != count {
		t.Errorf("the short help lists %d flags, want %d", n, count)
	}
}

// --help-all lists every setting.
func TestHelpAll(t *testing.T) {
	for _, name := range []string{"train", "compare"} {
		got := command(t.Context(), nil, name, "--help-all")
		if got.status != exitDone || got.stderr != "" {
			t.Fatalf("status %d, %s", got.status, got.stderr)
		}
		require.Golden(t, "testdata/help-all-"+name+".txt", got.stdout)
	}
	for name, make := range new(app).commands() { // no flag has a heading that the help leaves out
		flags := make().Flags()
		if flags.Lookup("help-all") == nil {
			continue
		}
		text := command(t.Context(), nil, name, "--help-all").stdout
		flags.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(text, "--"+f.Name+" ") {
				t.Errorf("%s --help-all lacks --%s", name, f.Name)
			}
		})
	}
	all := command(t.Context(), nil, "train", "--help-all").stdout
	for _, k := range config.Keys() {
		if !strings.Contains(all, "\n      --"+k.Name+" ") {
			t.Errorf("--help-all lacks --%s", k.Name)
		}
	}
}

// A method's setting has the same effect by --set and by its own flag.
func TestTrainSets(t *testing.T) {
	for _, args := range []string{"--set gdpa.step=0.02", "--set gdpa.gdpa-step=0.02", "--gdpa-step 0.02"} {
		var step float64
		got := command(t.Context(), func(s *stub) { step = s.method.(*method.GDPA).Step },
			append([]string{"train", "--quiet", "--method", "gdpa", "--iterations", "2", "--out", t.TempDir() + "/run"}, strings.Fields(args)...)...)
		if got.status != exitDone || step != 0.02 {
			t.Errorf("%s: status %d, the step is %v: %s", args, got.status, step, got.stderr)
		}
	}
}

func TestSetCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"methods ":            "alm\nplada\nppala\nunconstrained\n",
		"train --set ":        "alm.\nplada.\n",
		"train --set gdpa.":   "gdpa.primal=\ngdpa.momentum=\ngdpa.step=\n",
		"compare --set ssg.":  "ssg.tolerance=\n",
		"train --activation ": "sigmoid\nrelu\ntanh\n",
		"compare --products ": "auto\nfloat32\nint8\nint8x3\n",
	} {
		words := strings.Split(args, " ")
		got := command(t.Context(), nil, append([]string{"__complete"}, words...)...)
		if got.status != exitDone || !strings.HasPrefix(got.stdout, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// The manual page has every command and every setting, only known requests, and no warning of
// groff, where groff is installed.
func TestManual(t *testing.T) {
	got := with("", "man")
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	for name, command := range new(app).commands() {
		if !command().Hidden && !strings.Contains(got.stdout, "\n.SS ppal "+roff(name)) {
			t.Errorf("no command %s", name)
		}
	}
	for _, k := range config.Keys() {
		if !strings.Contains(got.stdout, `\fB\-\-`+roff(k.Name)+`\fR`) {
			t.Errorf("no flag --%s", k.Name)
		}
	}
	request := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|nf|fi)( |$)`)
	for line := range strings.Lines(got.stdout) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && (line[0] == '.' || line[0] == '\'') && !request.MatchString(line) {
			t.Errorf("unknown request %q", line)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return
	}
	lint := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww")
	lint.Stdin = strings.NewReader(got.stdout)
	var problems strings.Builder
	if lint.Stderr = &problems; lint.Run() != nil || problems.Len() > 0 {
		t.Errorf("groff: %s", problems.String())
	}
}

// A command's name as the first argument gives a command line with this command only. Other
// arguments give all commands.
func TestRootCommand(t *testing.T) {
	a := &app{getenv: func(string) string { return "" }}
	names := func(args ...string) (list []string) {
		for _, c := range a.rootCommand(args).Commands() {
			list = append(list, c.Name())
		}
		return list
	}
	own := []string{"completion", "help"}
	for name := range a.commands() {
		want := slices.Sorted(slices.Values(append([]string{name}, own...)))
		if got := names(name, "--help"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"help", "train"}, {"--version"}, {"trian"}, {"__complete", "train", "--"}} {
		if got, want := len(names(args...)), len(a.commands())+len(own); got != want {
			t.Errorf("%q: %d commands, want %d", args, got, want)
		}
	}
}

// A repeated flag with a list of names adds to the list: the program never drops what a user named.
// Numbers, such as the widths of the layers, are one value.
func TestListsAddUp(t *testing.T) {
	a := &app{getenv: func(string) string { return "" }}
	lists, numbers := 0, regexp.MustCompile(`^([A-Z]|LO)\b`)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			placeholder, usage := pflag.UnquoteUsage(f)
			names := strings.ContainsAny(placeholder, ",") || strings.Contains(placeholder, "...")
			if (!names || numbers.MatchString(placeholder)) && !strings.Contains(usage, "may be repeated") {
				return
			}
			lists++
			if err := errors.Join(f.Value.Set("m1.a=1"), f.Value.Set("m2.b=2")); err != nil {
				t.Errorf("%s --%s: %v", c.CommandPath(), f.Name, err)
			} else if got := f.Value.String(); !strings.Contains(got, "m1.a=1") || !strings.Contains(got, "m2.b=2") {
				t.Errorf("%s --%s twice: %q", c.CommandPath(), f.Name, got)
			}
		})
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	if check(a.rootCommand(nil)); lists < 20 {
		t.Errorf("%d flags with a list", lists)
	}
}

// No command takes an empty argument, or an empty name of a file, for one that is not given.
func TestEmptyNames(t *testing.T) {
	checked := 0
	for name, make := range (&app{}).commands() {
		var check func(c *cobra.Command, path ...string)
		check = func(c *cobra.Command, path ...string) {
			for _, sub := range c.Commands() {
				check(sub, append(slices.Clone(path), sub.Name())...)
			}
			if !c.Runnable() {
				return
			}
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				kind, _ := pflag.UnquoteUsage(f)
				if !namesFile.MatchString(kind) {
					return
				}
				checked++
				var said string
				for _, others := range [][]string{nil, {"x"}, {"x", "y"}} {
					got := command(t.Context(), nil, slices.Concat(path, others, []string{"--" + f.Name, ""})...)
					if said += got.stderr; got.status != exitUsage {
						t.Errorf("%v --%s: status %d", path, f.Name, got.status)
					}
				}
				if !strings.Contains(said, "--"+f.Name+" is empty; is a variable of the shell not set?") {
					t.Errorf("%v --%s: %s", path, f.Name, said)
				}
			})
		}
		check(make(), name)
	}
	if checked < 20 {
		t.Errorf("%d flags", checked)
	}
	if got := command(t.Context(), nil, "report", ""); got.status != exitUsage || !strings.Contains(got.stderr, "an argument is empty") {
		t.Errorf("report \"\": status %d, %s", got.status, got.stderr)
	}
}

// The help of every command that trains states the exit statuses. testdata/commands.txt has the
// status of every kind of wrong input.
func TestHelpStatesExitStatuses(t *testing.T) {
	if got := command(t.Context(), nil, "data", "check", "--help"); strings.Contains(got.stdout, "--problem") || strings.Contains(got.stdout, "--dataset") {
		t.Errorf("data check --help names flags that it does not have:\n%s", got.stdout)
	}
	for _, args := range [][]string{{"--help"}, {"train", "--help"}} {
		if got := command(t.Context(), nil, args...); !strings.Contains(got.stdout, exitText) {
			t.Errorf("%v does not state the exit statuses", args)
		}
	}
}

// A missing file is named in plain words by every command that reads one.
func TestMissingFile(t *testing.T) {
	none := filepath.Join(t.TempDir(), "c9:")
	for _, args := range [][]string{
		{"diff", none, none}, {"verify", none}, {"watch", none}, {"predict", none}, {"report", none}, {"evaluate", none},
		{"evaluate", "--predictions", none, "--label", "y", "--decision", "d"}, {"train", "--config", none}, {"train", "--resume", none},
		{"predict", none, "--input", none},
	} {
		got := command(t.Context(), nil, args...)
		if calls := regexp.MustCompile(`\b(stat|lstat|open) `); got.status != exitUsage || calls.MatchString(got.stderr) || !strings.Contains(got.stderr, none) {
			t.Errorf("%q: %d %s", args, got.status, got.stderr)
		}
	}
}
