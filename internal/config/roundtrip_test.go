package config

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// programs are settings of the program that a session does not have.
var programs = []string{"preset", "data-dir", "out", "log-format", "quiet", "explain"}

// The config.yaml that a session writes resolves to the settings that made the session's options.
// Together the cases cover every setting.
func TestSessionWritesWhatTheCommandReads(t *testing.T) {
	covered := map[string]bool{}
	for _, name := range programs {
		covered[name] = true
	}
	cases := []string{
		"", "preset=paper", "preset=paper dataset=cifar10 heads=separate rows-per-class=7 classes=3,1,2", "problem=dp", "problem=eo", "problem=if",
		"problem=eo method=plada eo-form=max x-step=subgradient", "problem=dp preset=paper", "problem=dp model=mlp hidden=5,4 activation=tanh",
		"problem=if preset=paper if-form=expectation epsilon=0.1 phi=logistic psi=sigmoid", "problem=if if-form=sampled method=multiplier-model",
		"problem=dp dataset=csv file=a.csv label=y=1 group=race=White categorical=zip,code ignore=id missing=impute separator=; drop-sensitive=true split=60/20/20",
		"problem=dp dataset=csv file=7 label=y separator=tab", "problem=dp dataset=csv file=a.csv label=y>=3 features=a,b dates=expand decimal=comma split-seed=7",
		"problem=dp dataset=csv file=- label=y test-file=b.csv unknown=ignore missing=flag", "problem=dp dataset=csv file=- label=y split-column=part", "file=a.csv label=y weight=w class-weight=a=2,b=0.5", "file=a.csv label=y class-weight=balanced",
		"dataset=fashion-mnist split=90/10/0 split-seed=3", "problem=dp dataset=libsvm file=b.txt group=3 query=qid", "problem=dp dataset=mq2008 fold=3 relevant=each", "dataset=synthetic-mslr", "file=a label=y query=user relevant=2",
		"problem=dp dataset=libsvm file=b.txt group=0 zero-based=true", "file=a.npy table=b key=id label=y", "file=a label=y header=none skip=3 quote=none missing-values=-200,NA,\"\",\"1,5\"",
		"file=a label=y columns=\"age,years\",\"say\"\"it\",y,5\"disk ignore=\"age,years\" features=y,\"y,\" group=\"age,years<45\"",
		"model=linear regularizer=l1 regularizer-weight=1e-4 phi=logistic method=nl-iapial", "regularizer=box box=-1,2 normalize=center",
		"regularizer=group-l1 regularizer-weight=0.3", "regularizer=none kappa=0.1,0.2,0.3",
		"iterations=0", "model=conv dataset=fashion-mnist", "model=conv channels=3,4 hidden=5 activation=tanh pool=average norm=group", "model=conv pool=none stride=3", "model=resnet blocks=2 activation=softplus", "select=best-train", "split=80/20/0 patience=4", "split=80/20/0 patience=4 select=last", "split=80/20/0 patience=4 output=random", "iterations=7 time-limit=1m30s tolerance=1e-5 batch-size=64 seed=18446744073709551615 output=best feasibility-tolerance=1e-2",
		"record-every=3 near-stationarity=2 init=start.safetensors output=random", "device=cuda:2 products=tf32 micro-batch=100",
		"device=cpu simd=avx2 products=int8x2 threads=3 memory-limit=3GB", "memory-limit=none", "memory=2GiB", "engine=gorgonia dtype=float64",
		"method=plada delta=harmonic mu-step=box sigma0=0.5 slack-cap=3 slack-start=zero", "method=plada x-step=inner:4",
		"primal=adam", "primal=lbfgs", "method=alm primal=nesterov", "method=plada alpha=5", "primal=gradient eta-scale=fixed eta=0.01", "momentum=0.9 alpha=3 beta=0.3 tau=0.1 delta-p=0.2 delta-q=0.9",
		"method=gdpa primal=nesterov gdpa-step=auto gdpa-ratio=1.01", "method=gdpa gdpa-step-decay=constant gdpa-penalty=2 gdpa-perturbation=0.2",
		"problem=dp method=ssg ssg-violation-rule=decay ssg-step-rule=constant ssg-step=0.2", "problem=if method=ipp-ssg ipp-ssg-rho=2 ipp-ssg-bound=3",
		"problem=dp method=ipp-conex ipp-conex-restart=true ipp-conex-t0=4",
		"subject-to=gap(tpr,sex*race)<=2% minimize=fnr[Female]", "subject-to=fpr<=5%;recall[\"<=50K\"]>=0.5 bounds-on=surrogate",
		"subject-to=recall[*]>=0.9 dataset=fashion-mnist", "subject-to=fpr<=5% confidence=0.95", "problem=eo bounds-on=decisions confidence=0.9", "minimize=loss subject-to=l1(weights)<=10 dataset=synthetic classes=2,1",
		"file=x.csv picture=path size=32x48 color=rgb label=y normalize=center", "problem=dp bounds-on=decisions", "file=a label=y model=scores device=cpu score=p,q thresholds=by-group subject-to=gap(tpr,s)<=2%", "problem=eo bounds-on=decisions epsilon=0.1,0.2", "bounds-on=decisions kappa=0.1",
	}
	for _, name := range method.Names() {
		if name != "multiplier-model" && name != "nl-iapial" {
			cases = append(cases, "method="+name)
		}
	}
	for _, flags := range cases {
		t.Run(flags, func(t *testing.T) {
			want := require.Value(Resolve(set(strings.Fields(flags)...), nil))(t)
			o := require.Value(want.SessionOptions(""))(t)
			data := require.Value(o.Config(results.Provenance{}))(t)
			file, err := ParseFile("config.yaml", data)
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			got, err := Resolve(nil, file)
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			got.Preset = want.Preset
			if diff := difference(want, got); diff != "" {
				t.Error(diff)
			}
			for name := range file.values {
				covered[name] = true
			}
		})
	}
	for _, k := range Keys() {
		if !covered[k.Name] {
			t.Errorf("a session does not write %s", k.Name)
		}
	}
}

// FuzzRoundTrip checks that every configuration that resolves is written as a file that resolves to
// the same file.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("alpha: 1\nkappa: [0.1, 0.2, 0.3]\n"))
	f.Add([]byte("problem: dp\ndataset: adult\nepsilon: 0.05\nmethod: plada\nthreads: 3\nmemory-limit: 3GB\n"))
	f.Add([]byte("subject-to: ['gap(tpr, sex) <= 2%', 'fpr <= 5%']\nminimize: fnr\ntime-limit: 90s\nbatch-size: 10\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseFile("f.yaml", data)
		if err != nil {
			return
		}
		cfg, err := Resolve(nil, file)
		if err != nil {
			return
		}
		first := require.Value(cfg.YAML(results.Provenance{}))(t)
		again, err := ParseFile("again.yaml", first)
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		same, err := Resolve(nil, again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		if second, err := same.YAML(results.Provenance{}); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v\n%s\n%s", err, first, second)
		}
	})
}

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

// difference compares two configurations without the reason of the method.
func difference(a, b Train) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b tensor.Dtype) bool { return a == b }),
		cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreFields(Method{}, "Reason"))
}

// The contenders of a comparison may differ in the methods' own settings, the batch size and the
// device. They share everything that defines the problem or the budget.
func TestWhyShared(t *testing.T) {
	for _, k := range Keys() {
		free := k.Group == groupDevice && k.Name != "threads" && k.Name != "explain" || k.Group == GroupMethod && k.Owners != nil || k.Name == "batch-size"
		if got := k.WhyShared() == ""; got != free {
			t.Errorf("%s (%s): free %v, want %v", k.Name, k.Group, got, free)
		}
	}
	for _, name := range []string{
		"problem", "dataset", "split", "drop-sensitive", "rows-per-class", "model", "hidden", "kappa", "epsilon", "phi", "regularizer",
		"theta", "regularizer-weight", "box", "preset", "seed", "iterations", "feasibility-tolerance", "init",
	} {
		k := Keys()[slices.IndexFunc(Keys(), func(k *Key) bool { return k.Name == name })]
		if k.WhyShared() == "" {
			t.Errorf("%s may differ between the methods of a comparison", name)
		}
	}
}
