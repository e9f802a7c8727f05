package config

import (
	"bytes"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/method"
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
