package reproduce

import (
	"fmt"

	"ppal/internal/config"
	"ppal/internal/study"
)

// steps returns the step sizes of a search on a linear model.
func steps() []string {
	return []string{"1e-4", "3e-4", "0.001", "0.003", "0.01", "0.02", "0.03", "0.05", "0.1", "0.2", "0.3", "0.5", "1", "2", "3", "5", "10", "30"}
}

// networkSteps returns the step sizes of a search on a network.
func networkSteps() []string {
	return []string{"0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3", "10"}
}

// proximities returns the values of rho^ of a search. With two lengths of the inner loop, the
// search has as many points as steps has step sizes.
func proximities() []string {
	return []string{"3e-4", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1", "3"}
}

// switchingTolerance is the tolerance of the switching methods. The value is half of the violation
// that counts as met, because the iterates of these methods fluctuate about the tolerance.
const switchingTolerance = "5e-4"

// gaps returns the figure of demographic parity or equalized odds on a data set: "Classification
// Problems Under Non-smooth Fairness Constraints". As in the paper, all rows are training rows.
// For equalized odds, the switching methods, which take a single constraint, get the larger gap.
func gaps(problem, dataset string) Figure {
	title := map[string]string{"dp": "demographic parity", "eo": "equalized odds"}[problem]
	single := config.Values{}
	if problem == "eo" {
		single["eo-form"] = "max"
	}
	return Figure{
		Name: problem + "-" + dataset, Title: fmt.Sprintf("%s on %s", title, dataset),
		Source:   map[string]string{"dp": `"Demographic Parity Constraint"`, "eo": `"Equalized Odds Constraints"`}[problem],
		base:     config.Values{"problem": problem, "dataset": dataset, "split": "100/0/0", "epsilon": "0.01", "near-stationarity": "20"},
		measures: []string{"near_stationarity", "train_error"},
		published: append(readings(),
			study.Contender{Name: "plada", Values: config.Values{"method": "plada", "preset": "paper", "delta-p": "1e-3", "delta": "power"},
				Grid: points("eta", steps()...)},
			study.Contender{Name: "ssg", Values: merged(single, config.Values{"method": "ssg", "ssg-step-rule": "constant", "ssg-tolerance": switchingTolerance}),
				Grid: points("ssg-step", steps()...)},
			study.Contender{Name: "ipp-ssg", Values: merged(single, config.Values{"method": "ipp-ssg", "ipp-ssg-tolerance": switchingTolerance}),
				Grid: grid(points("ipp-ssg-rho", proximities()...), points("ipp-ssg-inner", "10", "100"))},
			study.Contender{Name: "ipp-conex", Values: config.Values{"method": "ipp-conex"},
				Grid: grid(points("ipp-conex-rho", proximities()...), points("ipp-conex-inner", "10", "100"))}),
		automatic: []study.Contender{
			{Name: "plada", Values: config.Values{"method": "plada"}},
			{Name: "ppala", Values: config.Values{"method": "ppala"}},
			{Name: "gda", Values: config.Values{"method": "gda"}},
			{Name: "gdpa", Values: config.Values{"method": "gdpa", "primal": "nesterov", "gdpa-step": "auto"}},
			{Name: "nupi", Values: config.Values{"method": "nupi"}},
			{Name: "extragradient", Values: config.Values{"method": "extragradient"}},
			{Name: "ssg", Values: merged(single, config.Values{"method": "ssg", "ssg-tolerance": switchingTolerance})},
			{Name: "ipp-ssg", Values: merged(single, config.Values{"method": "ipp-ssg", "ipp-ssg-tolerance": switchingTolerance})},
			{Name: "ipp-conex", Values: config.Values{"method": "ipp-conex"}},
		},
		budgets: [2]study.Budget{{Kind: study.Gradients, Amount: 3000}, {Kind: study.Gradients, Amount: 1000}},
		claims: append([]claim{
			{"PLADA reaches a lower loss than SSG, IPP-SSG and IPP-ConEx at the same budget, feasibly", ahead("plada", []string{"ssg", "ipp-ssg", "ipp-conex"}, bestObjective())},
			{"PLADA ends with a smaller violation", ahead("plada", []string{"ssg", "ipp-ssg", "ipp-conex"}, tailViolation())},
			{"PLADA ends nearer to stationarity", ahead("plada", []string{"ssg", "ipp-ssg", "ipp-conex"}, lastNear())},
			{"PLADA needs fewer gradients to reach its feasible loss", ahead("plada", []string{"ssg", "ipp-ssg", "ipp-conex"}, gradientsToLoss("plada"))},
		}, servesClaims()...),
	}
}

// readings returns PLADA with the paper's settings. Its table has gamma_0 = 0.1, a symbol that the
// paper does not define: delta_0, or another number beside delta_0 = 1. Its text and its algorithm
// box give mu two different steps.
func readings() (list []study.Contender) {
	for _, gamma := range []config.Values{{}, {"delta0": "1"}} {
		for _, share := range []config.Values{{}, {"mu-step": "box"}} {
			name := "plada-paper"
			if gamma["delta0"] != "" {
				name += "-delta-1"
			}
			if share["mu-step"] != "" {
				name += "-box"
			}
			list = append(list, study.Contender{Name: name, Values: merged(config.Values{"method": "plada", "preset": "paper"}, gamma, share)})
		}
	}
	return list
}

// servesClaims are the claims about the two settings that the paper uses for eight experiments, in
// each reading.
func servesClaims() (list []claim) {
	for _, c := range readings() {
		list = append(list, claim{c.Name + " ends feasible with about the smallest loss", serves(c.Name)})
	}
	return list
}

// intersectional returns the figure "Intersectional Group Fairness on Neural Networks": validation
// error and violations per epoch.
func intersectional() Figure {
	return Figure{
		Name: "if-communities", Title: "intersectional fairness on Communities and Crime", Source: `"Intersectional Group Fairness on Neural Networks"`,
		base: config.Values{"problem": "if", "dataset": "communities", "if-form": "expectation", "epsilon": "0.01"},
		measures: []string{"validation_error", "validation_group_error_violation_mean", "validation_group_error_violation_max",
			"validation_group_loss_violation_mean", "validation_group_loss_violation_max"},
		overview: []string{"objective", "validation_error", "validation_group_error_violation_mean", "validation_group_error_violation_max"},
		onFiles:  groupCounts,
		published: append(readings(), []study.Contender{
			{Name: "plada", Values: config.Values{"method": "plada", "preset": "paper"}, Grid: points("eta", networkSteps()...)},
			{Name: "plada-sampled", Values: config.Values{"method": "plada", "preset": "paper", "if-form": "sampled"}, Grid: points("eta", networkSteps()...)},
			{Name: "multiplier-model", Values: config.Values{"method": "multiplier-model", "if-form": "sampled"},
				Grid: points("multiplier-model-step", networkSteps()...)},
			{Name: "unconstrained", Values: config.Values{"method": "unconstrained", "preset": "paper"}, Grid: points("eta", networkSteps()...)},
		}...),
		automatic: []study.Contender{
			{Name: "plada", Values: config.Values{"method": "plada"}},
			{Name: "plada-each", Values: config.Values{"method": "plada", "if-form": "each"}},
			{Name: "ppala-each", Values: config.Values{"method": "ppala", "if-form": "each"}},
			{Name: "gda", Values: config.Values{"method": "gda"}},
			{Name: "unconstrained", Values: config.Values{"method": "unconstrained"}},
		},
		budgets: [2]study.Budget{{Kind: study.Iterations, Amount: 1000}, {Kind: study.Iterations, Amount: 300}},
		claims: append([]claim{
			{"PLADA has a lower validation error than the multiplier model", ahead("plada", []string{"multiplier-model"}, tailMeasure("validation_error"))},
			{"PLADA has a lower mean violation over the groups", ahead("plada", []string{"multiplier-model"}, tailMeasure("validation_group_error_violation_mean"))},
			{"PLADA has a lower maximum violation over the groups", ahead("plada", []string{"multiplier-model"}, tailMeasure("validation_group_error_violation_max"))},
		}, servesClaims()...),
	}
}
