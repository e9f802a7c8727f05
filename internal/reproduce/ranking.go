package reproduce

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/study"
)

// onMQ2008 is the name of the comparison of linear scores on MQ2008.
const onMQ2008 = "mq2008"

// The settings of the ranking experiment. A stand-in's query has about 48 documents.
const (
	rankedEpochs      = 10
	automaticBatch    = 1536 // documents of about 32 queries
	automaticPatience = 3    // epochs without an improvement after which a run ends
	rankedGap         = "gap(cross_pair_error, quality)"
)

// ranking returns the figure of ranking fairness, "Highly stochastic setting": the error of pairs
// of documents, and the gaps between two groups' errors, per epoch. The paper does not give the
// model, the bound, the surrogates and the steps: they are those of the public code of Narasimhan
// et al. One query a step, with the bound on that query's gap; and batches of 32 queries with a
// bound on the gap over all queries, which counts pairs, and whose runs end by the validation
// queries.
func ranking() Figure {
	published := config.Values{"subject-to": rankedGap + " <= 0.25", "minimize": "pair_loss", "bounds-on": "surrogate", "batch-size": "1", "model": "mlp", "hidden": "128"}
	automatic := config.Values{"subject-to": rankedGap + " <= 0.02", "batch-size": fmt.Sprint(automaticBatch), "model": "mlp", "hidden": "128",
		"patience": fmt.Sprint(automaticPatience)}
	linear := config.Values{"dataset": onMQ2008, "subject-to": rankedGap + " <= 0.02"}
	on := func(base config.Values, name string, own config.Values) study.Contender {
		return study.Contender{Name: name, Values: merged(base, config.Values{"method": name}, own)}
	}
	paper := on(published, "plada", config.Values{"preset": "paper", "beta": "0.5", "eta": "0.1", "tau": "0.01"})
	paper.Name = "plada-paper"
	adagrad := config.Values{"multiplier-model-factor": "2", "multiplier-model-step": "0.05", "multiplier-model-network-step": "0.05"}
	common := on(published, "multiplier-model", merged(adagrad, config.Values{"multiplier-model-activation": "none"}))
	common.Name = "common-multipliers"
	f := Figure{
		Name: "ranking-mslr", Title: "ranking fairness on MSLR-WEB10K", Source: `"Additional Experiments"`,
		base: config.Values{"dataset": "synthetic-mslr"},
		measures: []string{"train_pair_error", "test_pair_error", "train_query_gap_p90", "test_query_gap_p90", "test_query_gap_mean", "test_query_gap_max",
			"train_" + rankedGap, "test_" + rankedGap, "test_ndcg@10"},
		overview: []string{"train_pair_error", "test_pair_error", "train_query_gap_p90", "test_query_gap_p90"},
		published: []study.Contender{
			on(published, "plada", nil), paper,
			on(published, "multiplier-model", merged(adagrad, config.Values{"multiplier-model-units": "64", "multiplier-model-activation": "tanh"})), common,
			on(published, "unconstrained", config.Values{"preset": "paper", "eta": "0.1"}),
		},
		automatic: []study.Contender{on(automatic, "plada", nil), on(automatic, "ppala", nil), on(automatic, "gda", nil), on(automatic, "unconstrained", nil)},
		budgets:   rankedBudgets(1000, 1000*48),
		further: []comparison{{onMQ2008, []study.Contender{on(linear, "alm", config.Values{"primal": "lbfgs"}), on(linear, "plada", nil),
			on(linear, "ppala", nil), on(linear, "gda", nil), on(linear, "unconstrained", nil)}, study.Budget{Kind: study.Iterations, Amount: 300}, true}},
		records: rankedEpochs, onFiles: rankedData,
	}
	for _, contender := range []string{"plada", paper.Name} {
		model := []string{"multiplier-model"}
		for _, n := range []number{tailMeasure("test_pair_error"), chosenMeasure("test_pair_error"),
			tailMeasure("test_query_gap_p90"), chosenMeasure("test_query_gap_p90"), tailMeasure("train_query_gap_p90")} {
			f.claims = append(f.claims, claim{contender + " beats the multiplier model in " + n.name, ahead(contender, model, n)})
		}
	}
	return f
}

// rankedBudgets returns the iterations of the epochs over the training rows.
func rankedBudgets(queries, documents int) [2]study.Budget {
	return [2]study.Budget{{Kind: study.Iterations, Amount: float64(rankedEpochs * queries)},
		{Kind: study.Iterations, Amount: float64(rankedEpochs * ((documents + automaticBatch - 1) / automaticBatch))}}
}

// rankedData chooses the data: MSLR if the data directory has it, else its stand-in, and MQ2008 if
// the directory has it.
func rankedData(f *Figure, dataDir string) error {
	if missing := missingFile(dataDir, "mslr"); missing == "" {
		f.base = merged(f.base, config.Values{"dataset": "mslr-filtered"})
	} else {
		f.Data = append(f.Data, fmt.Sprintf("MSLR-WEB10K is missing, and its stand-in takes its place: the data directory has no %s (see ppal data fetch mslr).", missing))
	}
	if missing := missingFile(dataDir, onMQ2008); missing != "" {
		f.further = nil
		f.Data = append(f.Data, fmt.Sprintf("MQ2008 is missing and left out: the data directory has no %s (see ppal data fetch mq2008).", missing))
	}
	sets := []string{f.base["dataset"]}
	if f.further != nil {
		sets = append(sets, onMQ2008)
	}
	for k, name := range sets {
		line, queries, documents, err := countedPairs(dataDir, name)
		if err != nil {
			return err
		}
		if f.Data = append(f.Data, line); k == 0 {
			f.budgets = rankedBudgets(queries, documents)
		}
	}
	f.Data = append(f.Data, "The paper has over 470,000 pairs of MSLR-WEB10K.")
	return nil
}

// missingFile returns the path in the data directory of the first file of the first fold of a data
// set that does not exist; "" if all do.
func missingFile(dataDir, name string) string {
	d, err := datasets.Lookup(name)
	if err != nil {
		return name
	}
	for _, file := range d.Files {
		if first := strings.Contains(file.Path, "Fold1/") || !strings.Contains(file.Path, "Fold"); !first {
			continue
		}
		if _, err := os.Stat(filepath.Join(dataDir, filepath.FromSlash(file.Path))); err != nil {
			return file.Path
		}
	}
	return ""
}

// countedPairs counts the training queries of a data set, their documents and their pairs.
func countedPairs(dataDir, name string) (text string, count, documents int, err error) {
	tables, err := datasets.LoadTable(dataDir, name, tabular.TableOptions{Seed: 1})
	if err != nil {
		return "", 0, 0, err
	}
	t := tables.Train
	d := constraints.Documents{Queries: t.Queries.Of, Levels: make([]int, len(t.Labels)), Groups: make([]int, len(t.Labels))}
	queries := map[int32]bool{}
	for i, y := range t.Labels {
		d.Levels[i] = max(0, y)
		queries[t.Queries.Of[i]] = true
	}
	pairs, err := constraints.NewPairs(d, 1, false)
	if err != nil {
		return "", 0, 0, err
	}
	total := int64(0)
	for _, n := range pairs.Counts() {
		total += n
	}
	return fmt.Sprintf("%s with seed 1 has %d training queries, %d documents and %d pairs.", name, len(queries), len(t.Labels), total), len(queries), len(t.Labels), nil
}

// chosenMeasure is the named measure of the record with the smallest error of the validation pairs.
func chosenMeasure(name string) number {
	const chooses = "validation_pair_error"
	n := tailMeasure(name)
	n.name += " at the smallest validation error"
	n.of = func(_ *study.Compared, r *study.ComparedRun) (value float64, known bool) {
		least := math.Inf(1)
		for i := range r.Records {
			if e, measured := r.Records[i].Measured(chooses); measured && e < least {
				least = e
				value, known = r.Records[i].Measured(name)
			}
		}
		return value, known && r.Failure == ""
	}
	return n
}
