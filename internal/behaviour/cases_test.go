package behaviour

import (
	"slices"
	"strings"
)

// run is one row of the table: its name, the flags of ppal train, and its requirements.
type run struct {
	name  string
	flags string
	simd  string // instruction set of the kernels: go, avx2 or avx512; empty: Gorgonia's engine
	vnni  bool   // needs 8-bit products
	data  bool   // needs the published data sets
	file  bool   // reads the shared fixture testdata/rows.csv
	auto  bool   // the program chooses the primal step; the other rows have first-order steps
}

// step returns the flags that keep a run on first-order steps, if its own flags do not choose a
// step.
func (r run) step() []string {
	if r.auto || strings.Contains(r.flags, "--primal") || strings.Contains(r.flags, "--preset paper") || strings.Contains(r.flags, "--x-step inner") {
		return nil
	}
	for _, method := range []string{"gdpa", "ssg", "ipp-ssg", "ipp-conex", "multiplier-model", "penalty", "gda"} {
		if slices.Contains(strings.Fields(r.flags), method) {
			return nil
		}
	}
	return []string{"--primal", "nesterov"}
}

// The flags that most rows share. Each run takes much less than a second.
const (
	pictures = "--rows-per-class 40 --hidden 8 --iterations 25 --record-every 5 "
	tables   = "--iterations 30 --record-every 6 "
	groups   = "--problem if --hidden 8 --iterations 4 --record-every 4 "
)

// runs returns the table's rows: every method, problem, engine, precision, instruction set,
// x-step, regularizer and form of the data.
func runs() []run {
	list := []run{
		{name: "mnpc-ppala-avx512-int8x3", flags: pictures + "--products int8x3", simd: "avx512", vnni: true},
		{name: "mnpc-ppala-avx512-int8x2", flags: pictures + "--products int8x2", simd: "avx512", vnni: true},
		{name: "mnpc-ppala-avx512-float32", flags: pictures + "--products float32", simd: "avx512"},
		{name: "mnpc-ppala-avx512-float64", flags: pictures + "--dtype float64", simd: "avx512"},
		{name: "mnpc-ppala-avx2-float32", flags: pictures + "--products float32", simd: "avx2"},
		{name: "mnpc-ppala-avx2-float64", flags: pictures + "--dtype float64", simd: "avx2"},
		{name: "mnpc-ppala-go-float32", flags: pictures + "--products float32", simd: "go"},
		{name: "mnpc-ppala-go-float64", flags: pictures + "--dtype float64", simd: "go"},
		{name: "mnpc-ppala-gorgonia-float32", flags: pictures + "--engine gorgonia"},
		{name: "mnpc-ppala-gorgonia-float64", flags: pictures + "--engine gorgonia --dtype float64"},
		{name: "mnpc-batches", flags: pictures + "--batch-size 32 --products float32", simd: "avx2"},
		{name: "mnpc-batches-gorgonia", flags: pictures + "--batch-size 32 --engine gorgonia"},
		{name: "mnpc-batches-int8", flags: pictures + "--batch-size 32 --products int8x3", simd: "avx512", vnni: true},
		{name: "mnpc-separate-heads", flags: pictures + "--heads separate --products float32", simd: "avx2"},
		{name: "mnpc-separate-heads-int8", flags: pictures + "--heads separate --products int8x3", simd: "avx512", vnni: true},
		{name: "mnpc-deep-tanh", flags: pictures + "--hidden 8,6 --activation tanh --products float32", simd: "avx2"},
		{name: "mnpc-linear-box", flags: "--rows-per-class 40 --iterations 25 --record-every 5 --model linear --regularizer box --box -0.1,0.1 --products float32", simd: "avx2"},
		{name: "mnpc-relu-l1", flags: pictures + "--activation relu --regularizer l1 --regularizer-weight 1e-3 --products float32", simd: "avx2"},
		{name: "mnpc-group-l1", flags: pictures + "--regularizer group-l1 --regularizer-weight 1e-3 --products float32", simd: "avx2"},
		{name: "mnpc-l2-hinge", flags: pictures + "--phi hinge --regularizer l2 --regularizer-weight 1e-3 --products float32", simd: "avx2"},
		{name: "mnpc-paper", flags: pictures + "--preset paper --products float32", simd: "avx2"},
		{name: "mnpc-adam", flags: pictures + "--primal adam --products float32", simd: "avx2"},
		{name: "mnpc-gradient", flags: pictures + "--primal gradient --eta-scale fixed --eta 0.05 --normalize center --products float32", simd: "avx2"},
		{name: "mnpc-best-output", flags: pictures + "--output best --products float32", simd: "avx2"},
		{name: "mnpc-random-output", flags: pictures + "--output random --seed 5 --products float32", simd: "avx2"},
		{name: "mnpc-near-stationarity", flags: pictures + "--near-stationarity 2 --products float32", simd: "avx2"},
		{name: "dp-ppala", flags: tables + "--problem dp", simd: "avx2"},
		{name: "dp-ppala-avx512", flags: tables + "--problem dp", simd: "avx512"},
		{name: "dp-plada-float64", flags: tables + "--problem dp --method plada --dtype float64", simd: "avx2"},
		{name: "dp-plada-gorgonia", flags: "--iterations 5 --record-every 1 --problem dp --dataset synthetic-compas --method plada --engine gorgonia"},
		{name: "dp-plada-paper", flags: tables + "--problem dp --method plada --preset paper --dataset synthetic-bank", simd: "avx2"},
		{name: "eo-plada", flags: tables + "--problem eo --method plada --dataset synthetic-compas", simd: "avx2"},
		{name: "eo-plada-subgradient", flags: tables + "--problem eo --method plada --x-step subgradient --dataset synthetic-compas", simd: "avx2"},
		{name: "eo-plada-inner", flags: tables + "--problem eo --method plada --x-step inner:3 --dataset synthetic-compas", simd: "avx2"},
		{name: "eo-plada-box", flags: tables + "--problem eo --method plada --mu-step box --delta harmonic --dataset synthetic-compas", simd: "avx2"},
		{name: "eo-max-network", flags: tables + "--problem eo --method plada --eo-form max --model mlp --hidden 8 --dataset synthetic-compas --drop-sensitive", simd: "avx2"},
		{name: "eo-near-stationarity", flags: tables + "--problem eo --method ssg --near-stationarity 2 --dataset synthetic-compas", simd: "avx2"},
		{name: "if-ppala", flags: groups, simd: "avx2"},
		{name: "if-ppala-float64", flags: groups + "--dtype float64", simd: "avx2"},
		{name: "if-expectation", flags: groups + "--if-form expectation", simd: "avx2"},
		{name: "if-multiplier-model", flags: groups + "--method multiplier-model", simd: "avx2"},
		{name: "csv-dp", flags: tables + "--problem dp --dataset csv --label outcome=yes --group sex=F --missing impute", simd: "avx2", file: true},
		{name: "csv-eo-float64", flags: tables + "--problem eo --dataset csv --label outcome=yes --group sex=F --missing impute --dtype float64 --method plada", simd: "avx2", file: true},
		{name: "fashion-mnist", flags: "--dataset fashion-mnist --rows-per-class 100 --hidden 16 --iterations 12 --record-every 1 --products float32", simd: "avx2", data: true},
		{name: "fashion-mnist-int8", flags: "--dataset fashion-mnist --rows-per-class 100 --hidden 16 --iterations 12 --record-every 1 --products int8x3", simd: "avx512", vnni: true, data: true},
		{name: "cifar10", flags: "--dataset cifar10 --rows-per-class 50 --hidden 8 --iterations 15 --record-every 3 --products float32", simd: "avx2", data: true},
		{name: "dp-adult", flags: tables + "--problem dp --dataset adult --method plada", simd: "avx2", data: true},
		{name: "dp-adult-ppala", flags: tables + "--problem dp --dataset adult", simd: "avx512", data: true},
		{name: "dp-bank", flags: tables + "--problem dp --dataset bank", simd: "avx2", data: true},
		{name: "eo-compas", flags: tables + "--problem eo --dataset compas", simd: "avx2", data: true},
		{name: "auto-mnpc", flags: pictures + "--products float32", simd: "avx2", auto: true},
		{name: "auto-mnpc-float64", flags: pictures + "--dtype float64", simd: "avx512", auto: true},
		{name: "auto-mnpc-batches", flags: pictures + "--batch-size 32 --products float32", simd: "avx2", auto: true},
		{name: "auto-mnpc-relu", flags: pictures + "--activation relu --products float32", simd: "avx2", auto: true},
		{name: "auto-dp", flags: tables + "--problem dp", simd: "avx2", auto: true},
		{name: "auto-decisions", flags: tables + "--minimize fnr --subject-to fpr<=0.05 --dataset synthetic-compas", simd: "avx2", auto: true},
		{name: "auto-decisions-network", flags: tables + "--subject-to fpr<=0.1 --model mlp --hidden 8 --activation sigmoid --dataset synthetic-compas --iterations 60", simd: "avx2", auto: true},
		{name: "if-communities", flags: groups + "--dataset communities --if-form expectation", simd: "avx2", data: true},
	}
	for _, method := range strings.Fields("plada gdpa ssg ipp-ssg ipp-conex penalty gda alm unconstrained") {
		list = append(list,
			run{name: "mnpc-" + method, flags: pictures + "--products float32 --method " + method, simd: "avx2"},
			run{name: "dp-" + method, flags: tables + "--problem dp --dataset synthetic-compas --method " + method, simd: "avx2"})
		if method == "plada" || method == "alm" {
			list = append(list, run{name: "mnpc-" + method + "-float64", flags: pictures + "--dtype float64 --method " + method, simd: "avx2"})
		}
	}
	return list
}
