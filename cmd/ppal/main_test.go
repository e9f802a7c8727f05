package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppal/internal/cases"
	"ppal/internal/racing"
	"ppal/trainer/session"
)

// outcome is the result of a command line.
type outcome struct {
	status         int
	stdout, stderr string
}

// command runs the program on the arguments. A stub replaces training; prepare may change the stub.
func command(ctx context.Context, prepare func(s *stub), args ...string) outcome {
	return commandOn(ctx, func(a *app) {
		a.open = func(_ context.Context, o session.Options) (*session.Session, error) { return openStub(o, prepare) }
	}, args...)
}

// commandOn runs the program on the arguments. prepare may change the app before it runs.
func commandOn(ctx context.Context, prepare func(a *app), args ...string) outcome {
	var stdout, stderr bytes.Buffer
	a := &app{
		stdout: &stdout, stderr: &stderr, getenv: func(string) string { return "" },
		shrink: 100,
		now:    func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
		open:   func(_ context.Context, o session.Options) (*session.Session, error) { return openStub(o, nil) },
		gpus:   machineGPUs(),
	}
	prepare(a)
	return outcome{a.run(ctx, args), stdout.String(), stderr.String()}
}

// settled replaces the text that differs between runs.
func settled(text string) string {
	for pattern, with := range map[string]string{
		`time=\S+`: "time=T",
		`[0-9.]+ s: reading [0-9.]+ s, training [0-9.]+ s, rounds [0-9.]+ s, certificates [0-9.]+ s,`: "S s: reading S s, training S s, rounds S s, certificates S s,",
		`records [0-9.]+ s, measures [0-9.]+ s, plots [0-9.]+ s`:                                      "records S s, measures S s, plots S s",
		`seconds=\S+`:        "seconds=S",
		`\d+ MB at most`:     "N MB at most",
		`version: .*`:        "version: V",
		`(?m)^( *)go1\S+ .*`: "${1}go",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "train", "predict", "evaluate", "verify", "export", "report", "methods", "compare", "sweep", "reproduce", "bench", "data", "data list", "data fetch", "data check", "devices", "watch", "version"} {
		t.Run(args, func(t *testing.T) {
			got := command(t.Context(), nil, append(strings.Fields(args), "--help")...)
			if got.status != exitDone || got.stderr != "" {
				t.Fatalf("status %d, %s", got.status, got.stderr)
			}
			cases.Golden(t, "testdata/help-"+strings.ReplaceAll(args+".txt", " ", "-"), got.stdout)
		})
	}
}

const allDatasets = "synthetic, fashion-mnist, cifar10, adult, bank, compas, communities, csv, libsvm, " +
	"synthetic-adult, synthetic-bank, synthetic-compas, synthetic-communities"

// Bad input gives one line on stderr and a status.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	unknown := file("unknown.yaml", "alpha: 1\nlearning-rate: 1\n")
	truncated := file("fashion-mnist", "")
	ragged := file("ragged.csv", "x,y\n1,0\n2\n3,1\n")
	for _, tc := range []struct {
		args   string
		status int
		want   string
	}{
		{"trian", exitUsage, `ppal: unknown command "trian" for "ppal" Did you mean this? train; see ppal --help`},
		{"data load", exitUsage, `ppal: unknown command "load" for "ppal data"; see ppal data --help`},
		{"data check", exitUsage, "ppal: data check: name a data set (ppal data list), or give --file FILE"},
		{"data check none", exitUsage, `ppal: datasets: unknown dataset "none"; choose one of ` + allDatasets},
		{"data fetch none", exitUsage, `ppal: datasets: unknown dataset "none"; choose one of ` + allDatasets},
		{"data fetch csv", exitUsage, "ppal: datasets: invalid option: csv is your own file: there is nothing to download"},
		{"data check csv", exitUsage, "ppal: --file: missing; --dataset csv needs it"},
		{"data check synthetic --group a", exitUsage, "ppal: invalid option: --group applies to tables, synthetic is a set of images"},
		{"data check synthetic-compas --label a", exitUsage, "ppal: --label a: used only with --dataset csv (now synthetic-compas)"},
		{"data check synthetic-compas --split 50/50", exitUsage,
			`ppal: --split 50/50: must be percentages that add up to 100, the first above 0, as in 70/15/15`},
		{"data check synthetic-compas --group age<x", exitUsage, `ppal: datasets: invalid group "age<x": "x" is not a finite number`},
		{"data check synthetic-compas --ignore id", exitUsage,
			`ppal: datasets: ignored: invalid column: no column "id"; the columns are sex, age, age_cat, race, juv_fel_count, juv_misd_count, ` +
				"juv_other_count, priors_count, c_charge_degree"},
		{"data check --label y --file " + ragged, exitUsage,
			"ppal: datasets: " + ragged + ": line 3: wrong format: 1 fields, want 2"},
		{"bench --cases nothing", exitUsage, `ppal: --cases has no case "nothing", want some of mnpc-fashion-mnist, mnpc-fashion-mnist-float32, ` +
			"mnpc-fashion-mnist-int8x2, mnpc-fashion-mnist-separate, mnpc-cifar10, dp-adult, dp-bank, if-communities, if-communities-1"},
		{"bench --cases mnpc-fashion-mnist-int8x2 --simd go", exitUsage, "ppal: --cases names mnpc-fashion-mnist-int8x2, which cannot run: " +
			"int8x2 products need AVX-512 VNNI or AVX-VNNI; the go kernels have neither here: choose float32"},
		{"train --device cpu --products tf32", exitUsage,
			"ppal: --products tf32: the CPU device does not support it (supported: auto, float32, int8, int8x3, int8x2, bf16x3, bf16x2)"},
		{"train --products float32 --dtype float64", exitUsage, "ppal: --products float32: with --dtype float64 products are in float64; use auto"},
		{"train --products int8x3 --engine gorgonia", exitUsage, "ppal: --products int8x3: the engine gorgonia has its own products; use auto"},
		{"bench --seconds 0", exitUsage, "ppal: --seconds 0: must be a positive number"},
		{"bench --seconds NaN", exitUsage, "ppal: --seconds NaN: must be a positive number"},
		{"bench --simd sse", exitUsage, "ppal: --simd sse: unknown; choose auto, amx, avx512, avx2 or go"},
		{"bench --memory --growth", exitUsage, "ppal: if any flags in the group [memory growth] are set none of the others can be; " +
			"[growth memory] were all set; see ppal bench --help"},
		{"train now", exitUsage, `ppal: unexpected argument "now"; see ppal train --help`},
		{"train --quiet false", exitUsage,
			`ppal: unexpected argument "false"; write the value of a boolean flag after =, as in --quiet=false; see ppal train --help`},
		{"train --help=3", exitUsage, "ppal: --help 3: must be true or false; see ppal train --help"},
		{"--help=3", exitUsage, "ppal: --help 3: must be true or false; see ppal --help"},
		{"data fetch fashion-mnist --mirror ftp://x --data-dir " + dir, exitUsage,
			`ppal: datasets: invalid mirror "ftp://x"; want an http or https URL with a host`},
		{"train --resume runs/1", exitUsage, "ppal: --resume runs/1: there is no runs/1/config.yaml, so the directory is not a run; name the directory of a run"},
		{"train --learning-rate 1", exitUsage, "ppal: unknown setting --learning-rate; did you mean --eta? (see ppal train --help)"},
		{"train --target y", exitUsage, "ppal: unknown setting --target; did you mean --label? (see ppal train --help)"},
		{"train acs.csv", exitUsage, `ppal: unexpected argument "acs.csv"; did you mean --file acs.csv?; see ppal train --help`},
		{"train run.yaml", exitUsage, `ppal: unexpected argument "run.yaml"; did you mean --config run.yaml?; see ppal train --help`},
		{"train acs", exitUsage, `ppal: unexpected argument "acs"; see ppal train --help`},
		{"predict RUN new.csv", exitUsage, "ppal: give the directory of one run, not 2 arguments; did you mean --input new.csv?; see ppal predict --help"},
		{"train --alhpa 1", exitUsage, "ppal: unknown setting --alhpa; did you mean --alpha? (see ppal train --help)"},
		{"train --set gdpa.step=1", exitUsage, "ppal: --gdpa-step 1: used only with --method gdpa (now alm)"},
		{"train --set plada.alpha=1", exitUsage, "ppal: --set plada.alpha=1: the run's method is ppala; give --method plada"},
		{"train --set gpda.step=1", exitUsage, "ppal: --set gpda.step=1: unknown method gpda; did you mean gdpa? (see ppal methods)"},
		{"train --set alpha=1", exitUsage, "ppal: --set alpha=1: must be METHOD.SETTING=VALUE, as in plada.eta=0.1"},
		{"train --set ppala.alpha", exitUsage, "ppal: --set ppala.alpha: must be METHOD.SETTING=VALUE, as in plada.eta=0.1"},
		{"methods gpda", exitUsage, "ppal: unknown method gpda; did you mean gdpa? (see ppal methods)"},
		{"train --method nl-iapial", exitUsage, "ppal: --method nl-iapial: needs smooth convex constraints; use --problem mnpc --model linear --phi logistic," +
			" or another method"},
		{"train --alpha", exitUsage, "ppal: flag needs an argument: --alpha; see ppal train --help"},
		{"train --alpha NaN", exitUsage, "ppal: --alpha NaN: must be a positive number"},
		{"train --kappa=-1", exitUsage, "ppal: --kappa -1: must be at least 0"},
		{"train --gdpa-step 1", exitUsage, "ppal: --gdpa-step 1: used only with --method gdpa (now alm)"},
		{"train --problem ranking", exitUsage, "ppal: --problem ranking: not in this version; choose mnpc, dp, eo, if, rates or class-rates"},
		{"reproduce", exitUsage, "ppal: want the name of one experiment (see ppal reproduce --list); see ppal reproduce --help"},
		{"reproduce ranking-mslr", exitUsage, "ppal: reproduce: ranking-mslr: not available yet: ranking problems are not in this version"},
		{"train --config " + unknown, exitUsage,
			"ppal: " + unknown + ":2: unknown setting learning-rate; did you mean eta? (the keys are the flags of ppal train --help-all)"},
		{"train --config " + dir + "/none.yaml", exitUsage,
			"ppal: --config " + dir + "/none.yaml: no such file or directory; name a YAML file with keys as in `ppal train --help`"},
		{"train --quiet --out " + dir, exitUsage, "ppal: rundir: " + dir + ": not empty: give --out a new directory"},
		{"train --quiet --out " + truncated, exitFailed, "ppal: rundir: open " + truncated + ": not a directory: give --out another directory"},
		{"data check fashion-mnist --data-dir " + dir + "/none", exitFailed, ""},
		{"help trian", exitUsage, `ppal: unknown command "trian"; see ppal help --help`},
		{"completion sh", exitUsage, `ppal: unknown command "sh" for "ppal completion"; see ppal completion --help`},
		{"compare --seeds 0", exitUsage, "ppal: --seeds 0: must be at least 1"},
		{"reproduce dp-adult --parallel -1", exitUsage, "ppal: --parallel -1: must be at least 0"},
		{"compare --set ppala.bogus=1", exitUsage, "ppal: --set ppala.bogus=1: unknown setting bogus (see ppal methods ppala)"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			got := command(t.Context(), nil, strings.Fields(tc.args)...)
			if got.status != tc.status {
				t.Errorf("status %d, want %d", got.status, tc.status)
			}
			if strings.Count(got.stderr, "\n") != 1 || tc.want != "" && got.stderr != tc.want+"\n" {
				t.Errorf("got  %swant %s", got.stderr, tc.want)
			}
		})
	}
}

// full is a writer without free space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("write report.txt: %w", syscall.ENOSPC) }

// Failed printing is an error, also for help texts and for commands that do not check the error
// themselves.
func TestFullDisk(t *testing.T) {
	for _, args := range []string{"--help", "train --help", "version", "devices", "data list", "bench --list", "completion bash"} {
		got := commandOn(t.Context(), func(a *app) { a.stdout = full{} }, strings.Fields(args)...)
		if got.status != exitFailed || got.stderr != "ppal: write report.txt: no space left on device; free some space there, or use another directory\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestVersion(t *testing.T) {
	got := command(t.Context(), nil, "version")
	if got.status != exitDone || !strings.HasPrefix(got.stdout, "ppal ") || !strings.Contains(got.stdout, "gorgonia.org/tensor ") {
		t.Errorf("%+v", got)
	}
}

func TestDevices(t *testing.T) {
	racing.Skip(t, "it measures speeds; the tests of internal/cpu run these goroutines")
	got := command(t.Context(), nil, "devices")
	plan := regexp.MustCompile(`plan +[a-z0-9]+ kernels, [0-9]+ threads: [0-9]+ GFLOP/s in float32`)
	if got.status != exitDone || !plan.MatchString(got.stdout) || !strings.Contains(got.stdout, "\ngpu      cuda: no GPU available: ") {
		t.Errorf("%+v", got)
	}
}

func TestCompletion(t *testing.T) {
	got := command(t.Context(), nil, "__complete", "train", "--method", "")
	if got.status != exitDone || !strings.HasPrefix(got.stdout, "auto\nppala\nplada\n") {
		t.Errorf("%+v", got)
	}
	if got := command(t.Context(), nil, "completion", "bash"); got.status != exitDone || len(got.stdout) < 1000 {
		t.Errorf("%+v", got)
	}
}

func TestDataCommands(t *testing.T) {
	racing.Skip(t, "the tests of datasets run the same goroutines")
	dir := t.TempDir()
	got := command(t.Context(), nil, "data", "list", "--data-dir", dir)
	if got.status != exitDone || !strings.Contains(got.stdout, "fashion-mnist") || !strings.Contains(got.stdout, dir) {
		t.Errorf("%+v", got)
	}
	got = command(t.Context(), nil, "data", "fetch", "synthetic")
	if got.status != exitDone || got.stdout != "synthetic is built in; there is nothing to download\n" {
		t.Errorf("%+v", got)
	}
	got = command(t.Context(), nil, "data", "check", "synthetic")
	if got.status != exitDone || !strings.Contains(got.stdout, "training rows") {
		t.Errorf("%+v", got)
	}
}
