package reproduce

import (
	"ppal/internal/config"
	"ppal/internal/study"
)

// neymanPearson returns the figure "Non-convex Multi-class Neyman-Pearson Classification" on a set
// of images. The figure uses 1,000 rows of each class and 64 hidden units, or with --full all rows
// and 256 hidden units.
func neymanPearson(dataset string) Figure {
	return Figure{
		Name: "mnpc-" + dataset, Title: "Neyman-Pearson classification on " + dataset,
		Source:   `"Non-convex Multi-class Neyman-Pearson Classification"`,
		base:     config.Values{"problem": "mnpc", "dataset": dataset, "rows-per-class": "1000", "hidden": "64"},
		full:     config.Values{"rows-per-class": "0", "hidden": "256"},
		measures: []string{"test_error"},
		published: []study.Contender{
			{Name: "ppala", Values: config.Values{"method": "ppala", "preset": "paper"}, Grid: points("eta", pictureSteps()...)},
			{Name: "ppala-paper", Values: config.Values{"method": "ppala", "preset": "paper"}},
			{Name: "gdpa", Values: config.Values{"method": "gdpa", "preset": "paper"}, Grid: points("gdpa-step", pictureSteps()...)},
			{Name: "gdpa-start", Values: config.Values{"method": "gdpa", "preset": "paper"}},
			{Name: "gdpa-ratio-1.01", Values: config.Values{"method": "gdpa", "preset": "paper", "gdpa-ratio": "1.01"}},
			{Name: "gdpa-ratio-1.1", Values: config.Values{"method": "gdpa", "preset": "paper", "gdpa-ratio": "1.1"}},
		},
		automatic: []study.Contender{
			{Name: "ppala", Values: config.Values{"method": "ppala"}},
			{Name: "gdpa", Values: config.Values{"method": "gdpa", "primal": "nesterov", "gdpa-step": "auto"}},
			{Name: "gda", Values: config.Values{"method": "gda"}},
			{Name: "nupi", Values: config.Values{"method": "nupi"}},
			{Name: "extragradient", Values: config.Values{"method": "extragradient"}},
			{Name: "penalty", Values: config.Values{"method": "penalty"}},
		},
		budgets: [2]study.Budget{{Kind: study.Iterations, Amount: publishedIterations[dataset]}, {Kind: study.Gradients, Amount: 300}},
		records: pictureRecords,
		claims: []claim{
			{"PPALA is ahead of GDPA in stationarity", ahead("ppala", []string{"gdpa"}, tailStationarity())},
			{"PPALA is ahead of GDPA in feasibility", ahead("ppala", []string{"gdpa"}, tailViolation())},
			{"GDPA fails with a large ratio of the penalty", fails("gdpa-ratio-1.1", "ppala")},
			{"the residuals decay like O(1/epsilon^2) iterations: the mean of their squares at least like 1/k", decays("ppala")},
		},
	}
}

// rivals returns the figure that compares PPALA with GDPA at its best on a set of images: both have
// a search of 12 points, which grows where the best point lies on an edge. The weights lie in a
// ball of the radius theta, so small that the bounds bind: in a larger one, all losses go to 0, and
// the comparison says nothing about constraints.
func rivals(dataset, kappa, model, theta string) Figure {
	f := Figure{
		Name: "gdpa-" + dataset, Title: "PPALA and GDPA at its best on " + dataset, Source: `"Non-convex Multi-class Neyman-Pearson Classification"`,
		base:     config.Values{"problem": "mnpc", "dataset": dataset, "kappa": kappa, "theta": theta, "batch-size": "0", "rows-per-class": "200"},
		full:     config.Values{"rows-per-class": "0"},
		measures: []string{"test_error"},
		records:  pictureRecords,
		claims: []claim{
			{"PPALA reaches a lower loss than GDPA, feasibly", ahead("ppala", []string{"gdpa"}, bestObjective())},
			{"PPALA is ahead of GDPA in stationarity", ahead("ppala", []string{"gdpa"}, tailStationarity())},
			{"PPALA is ahead of GDPA in feasibility", ahead("ppala", []string{"gdpa"}, tailViolation())},
			{"PPALA is ahead of GDPA with its published settings", ahead("ppala", []string{"gdpa-published"}, bestObjective())},
		},
	}
	budget := study.Budget{Kind: study.Gradients, Amount: 400}
	if model == "conv" {
		f.Name, f.Title, budget.Amount = f.Name+"-conv", f.Title+", convolutional network", 200
		f.base = merged(f.base, config.Values{"model": model, "channels": "4,8"})
	} else {
		f.base = merged(f.base, config.Values{"hidden": "32"})
	}
	penalties := points("gdpa-penalty", "1", "3", "5", "10")
	f.further = []comparison{{model, []study.Contender{
		{Name: "ppala", Values: config.Values{"method": "ppala"}, Grid: grid(points("alpha", "3", "10", "30"), points("beta", "0.05", "0.1", "0.2", "0.4"))},
		{Name: "gdpa", Values: config.Values{"method": "gdpa"}, Grid: append(
			grid([]config.Values{{"primal": "nesterov", "gdpa-step": "auto"}}, penalties),
			grid(grid([]config.Values{{"primal": "gradient"}}, points("gdpa-step", "0.1", "1")), penalties)...)},
		{Name: "gdpa-published", Values: config.Values{"method": "gdpa", "preset": "paper"}},
	}, budget, false}}
	return f
}

// publishedIterations is the number of iterations with published steps, by data set. A run takes
// about ten minutes on two cores.
var publishedIterations = map[string]float64{"fashion-mnist": 300, "cifar10": 150}

// pictureRecords is the number of records of a run. The number is small, because each record
// computes scores of the test rows. On CIFAR-10 these scores take longer than an iteration.
const pictureRecords = 40

// pictureSteps returns the step sizes of a search on images.
func pictureSteps() []string { return []string{"0.001", "0.01", "0.1", "1"} }

// alphaSweep returns the figure of "Hyperparameter robustness" for alpha: PLADA for demographic
// parity on Adult. betaSweep returns the figure for beta.
func alphaSweep() Figure {
	return sweep("alpha-sweep", "alpha", "0.1 fixed for beta", "beta", "0.1", "1.5", "2", "5", "10", "20", "50")
}

// betaSweep returns the figure for beta.
func betaSweep() Figure {
	return sweep("beta-sweep", "beta", "10 fixed for alpha", "alpha", "10", "0.05", "0.1", "0.2", "0.5", "0.9")
}

// sweep returns the figure that varies the setting key and keeps the setting other at value.
func sweep(name, key, fixed, other, value string, values ...string) Figure {
	f := Figure{
		Name: name, Title: "PLADA with several " + key + ", demographic parity on adult", Source: `"Hyperparameter robustness", ` + fixed,
		base:     config.Values{"problem": "dp", "dataset": "adult", "split": "100/0/0", "epsilon": "0.01", "method": "plada", other: value, "near-stationarity": "20"},
		measures: []string{"near_stationarity"},
		budgets:  [2]study.Budget{{Kind: study.Gradients, Amount: 3000}, {Kind: study.Gradients, Amount: 1000}},
	}
	var names []string
	for _, v := range values {
		c := study.Contender{Name: key + "-" + v, Values: config.Values{key: v}}
		f.automatic = append(f.automatic, c)
		f.published = append(f.published, study.Contender{Name: c.Name,
			Values: config.Values{key: v, "preset": "paper", "eta": "0.1", "delta": "power", "delta-p": "1e-3"}})
		names = append(names, c.Name)
	}
	f.claims = []claim{{"PLADA is insensitive to " + key, insensitive(names)}}
	return f
}

// duals returns the figure "Dual variables convergence": lambda and mu of PLADA for demographic
// parity on the three tables.
func duals() Figure {
	f := Figure{
		Name: "duals", Title: "the multipliers of PLADA, demographic parity on three tables", Source: `"Convergence of dual variables"`,
		base:     config.Values{"problem": "dp", "dataset": "adult", "split": "100/0/0", "epsilon": "0.01", "method": "plada"},
		measures: []string{"train_error"},
		budgets:  [2]study.Budget{{Kind: study.Gradients, Amount: 10000}, {Kind: study.Gradients, Amount: 2000}},
	}
	var published, slow, practical []string
	for _, dataset := range []string{"adult", "bank", "compas"} {
		add := func(list *[]study.Contender, names *[]string, name string, values config.Values) {
			name += "-" + dataset
			*list = append(*list, study.Contender{Name: name, Values: merged(values, config.Values{"dataset": dataset})})
			*names = append(*names, name)
		}
		add(&f.published, &published, "paper", config.Values{"preset": "paper"})
		add(&f.published, &published, "paper-delta-1", config.Values{"preset": "paper", "delta0": "1"})
		add(&f.published, &published, "paper-eta-0.1", config.Values{"preset": "paper", "eta": "0.1"})
		add(&f.published, &slow, "slow-delta", config.Values{"preset": "paper", "eta": "0.1", "delta": "power", "delta-p": "1e-3"})
		add(&f.automatic, &practical, "practical", config.Values{})
	}
	const converge = "|lambda - mu| converges to 0 and the multipliers converge"
	f.claims = []claim{
		{converge + ", with the published schedule of delta", multipliersSettle(published)},
		{converge + ", with a slower one", multipliersSettle(slow)},
		{converge + ", practical preset", multipliersSettle(practical)},
		{"with the published schedule, the remaining violation is (lambda - mu)/rho", remaining(published[2])},
	}
	return f
}
