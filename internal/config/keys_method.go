package config

import (
	"fmt"
	"strconv"
	"strings"
)

// slackRatio is the default of tau rho, inside the theorems' bounds 1/2 and 1/3.
func slackRatio(method string) float64 {
	if method == "plada" {
		return 0.9 / 3
	}
	return 0.9 / 2
}

func methodKeys() []*Key {
	own := condition{"method", []string{"ppala", "plada", "gda", "alm", "penalty", "unconstrained"},
		"that of ppala, plada, gda, alm, penalty and unconstrained; the other methods have step sizes of their own"}
	choice := condition{"method", []string{"ppala", "plada", "gdpa", "gda", "alm", "penalty", "unconstrained"},
		"not that of the methods with a published step of their own"}
	return []*Key{
		{Name: "method", Group: GroupMethod, Value: "NAME", Usage: oneOf(methods()) + " (default ppala)",
			choices: methods(),
			field:   func(t *Train) any { return &t.Method.Method }, preset: always("ppala")},
		{Name: "preset", Group: GroupMethod, Value: "practical|paper",
			Usage:   "the defaults of all keys: what works well, or what Moon et al. used (default practical)",
			choices: []string{"practical", "paper"}, field: func(t *Train) any { return &t.Preset }, preset: always("practical")},
		{Name: "primal", Group: GroupMethod, Value: "nesterov|gradient|adam",
			Usage:   "the x-step (default nesterov; gdpa, paper and --x-step inner: gradient)",
			choices: []string{"nesterov", "gradient", "adam"}, when: []condition{choice},
			field: func(t *Train) any { return &t.Primal }, preset: defaultPrimal},
		{Name: "momentum", Group: GroupMethod, Value: "X", Usage: "limit of Nesterov's ramp (default 0.99)",
			interval: between(0, 1), when: []condition{choice, {"primal", []string{"nesterov"}, "Nesterov's"}},
			field: func(t *Train) any { return &t.Momentum }, preset: always("0.99")},
		{Name: "eta-scale", Group: GroupMethod, Value: "weights|fixed",
			Usage:   "eta caps the curvature rule over 1 + ||w||_1, or is the step itself (default weights; paper: fixed)",
			choices: []string{"weights", "fixed"},
			when:    []condition{own, {"primal", []string{"nesterov", "gradient"}, "that of the nesterov and gradient steps"}},
			field:   func(t *Train) any { return &t.EtaScale }, preset: presets("weights", "fixed")},
		{Name: "eta", Group: GroupMethod, Value: "auto|X", Usage: "step size (default auto; adam: 3e-3; paper: 1e-3, if: 0.1)",
			check: checkStep, when: []condition{own}, field: func(t *Train) any { return &t.Eta }, preset: defaultEta},
	}
}

// methods are all, in the order of the help.
func methods() []string {
	return []string{"ppala", "plada", "gdpa", "ssg", "ipp-ssg", "ipp-conex", "multiplier-model", "penalty", "gda", "alm", "unconstrained"}
}

func defaultPrimal(t *Train) string {
	if t.Method.Method == "gdpa" || t.Preset == "paper" || strings.HasPrefix(t.XStep, "inner:") {
		return "gradient"
	}
	return "nesterov"
}

func defaultEta(t *Train) string {
	switch {
	case t.Primal == "adam":
		return "0.003"
	case t.EtaScale == "fixed" && t.Preset == "paper" && t.Data.Problem == "if":
		return "0.1"
	case t.EtaScale == "fixed" && t.Preset == "paper":
		return "0.001"
	}
	return "auto"
}

// checkStep allows auto or a positive number.
func checkStep(text string) error {
	if text == "auto" {
		return nil
	}
	var x float64
	if err := positive().check(&x, text); err != nil {
		return fmt.Errorf("%w, or auto", err)
	}
	return nil
}

// perturbationKeys are those of PPALA and PLADA.
func perturbationKeys() []*Key {
	both := condition{"method", []string{"ppala", "plada"}, "PPALA's and PLADA's"}
	plada := condition{"method", []string{"plada"}, "PLADA's"}
	key := func(k Key, when ...condition) *Key {
		k.Group, k.when = GroupMethod, when
		return &k
	}
	return []*Key{
		key(Key{Name: "alpha", Value: "X", Usage: "ppala, plada: penalty on the perturbation, above 1 in the theorems (default 10)",
			interval: positive(), field: func(t *Train) any { return &t.Alpha }, preset: always("10")}, both),
		key(Key{Name: "beta", Value: "X", Usage: "ppala, plada: proximal parameter of the multipliers, in (0, 1) in the theorems (default 0.2; dp, eo: 0.1; if: 0.5)",
			interval: positive(), field: func(t *Train) any { return &t.Beta }, preset: defaultBeta}, both),
		key(Key{Name: "tau", Value: "X", Usage: "ppala, plada: step of the slack (default 0.9/(2 rho); plada: 0.9/(3 rho); paper on tables: 0.1, if: 0.01)",
			interval: positive(), field: func(t *Train) any { return &t.Tau }, preset: defaultTau}, both),
		key(Key{Name: "delta", Value: "power|harmonic", Usage: "ppala, plada: delta_k = 1/(p k^q + 1), or delta0/(k+1)^q (default power; paper on tables: harmonic)",
			choices: []string{"power", "harmonic"}, field: func(t *Train) any { return &t.Delta }, preset: onPaperTables("harmonic", "power")}, both),
		key(Key{Name: "delta-p", Value: "X", Usage: "ppala, plada: p of power (default 0.05; gradient steps: 0.1; fixed ones and adam: 1e-3)",
			interval: positive(),
			field:    func(t *Train) any { return &t.DeltaP }, preset: defaultDeltaP}, both, condition{"delta", []string{"power"}, "that of power"}),
		key(Key{Name: "delta-q", Value: "X", Usage: "ppala, plada: q, in (2/3, 1] in the theorems (default 1)",
			interval: upTo(0, 1), field: func(t *Train) any { return &t.DeltaQ }, preset: always("1")}, both),
		key(Key{Name: "delta0", Value: "X", Usage: "ppala, plada: delta0 of harmonic (default 1; paper on tables: 0.1)",
			interval: upTo(0, 1),
			field:    func(t *Train) any { return &t.Delta0 }, preset: onPaperTables("0.1", "1")},
			both, condition{"delta", []string{"harmonic"}, "that of harmonic"}),
		key(Key{Name: "slack-cap", Value: "X", Usage: "ppala, plada: upper bound of the slack, or none (default none)",
			interval: positive(), none: true, field: func(t *Train) any { return &t.SlackCap }, preset: always("none")}, both),
		key(Key{Name: "slack-start", Value: "residual|zero", Usage: "ppala, plada: u_0 = max(0, -g(x_0)), or 0 (default residual)",
			choices: []string{"residual", "zero"}, field: func(t *Train) any { return &t.SlackStart }, preset: always("residual")}, both),
		key(Key{Name: "x-step", Value: "subgradient|proxlinear|split|inner:N",
			Usage: "plada: one step, the exact step for |h| <= eps linearised (dp, eo), h <= eps and -h <= eps apart, or N steps on the exact" +
				" subproblem (default subgradient; dp, eo without regularizer: proxlinear; paper: subgradient)",
			check: checkXStep, field: func(t *Train) any { return &t.XStep }, preset: defaultXStep}, plada),
		key(Key{Name: "mu-step", Value: "analysed|box",
			Usage:   "plada: step of mu as analysed, or as in the paper's algorithm box (default analysed)",
			choices: []string{"analysed", "box"}, field: func(t *Train) any { return &t.MuStep }, preset: always("analysed")}, plada),
		key(Key{Name: "sigma0", Value: "X", Usage: "plada: cap on the step of mu, or none (default none)",
			interval: positive(), none: true, field: func(t *Train) any { return &t.Sigma0 }, preset: always("none")}, plada),
	}
}

// onPaperTables is the default with which Moon et al. give their fairness experiments, and otherwise.
func onPaperTables(paper, otherwise string) func(*Train) string {
	return func(t *Train) string {
		if t.Preset == "paper" && t.Data.Problem != "mnpc" {
			return paper
		}
		return otherwise
	}
}

func defaultBeta(t *Train) string {
	switch t.Data.Problem {
	case "dp", "eo":
		return "0.1"
	case "if":
		return "0.5"
	}
	return "0.2"
}

func defaultXStep(t *Train) string {
	gaps := t.Data.Problem == "dp" || t.Data.Problem == "eo"
	if gaps && t.Preset == "practical" && t.Problem.Regularizer == "none" {
		return "proxlinear"
	}
	return "subgradient"
}

func defaultTau(t *Train) string {
	switch {
	case t.Preset == "paper" && t.Data.Problem == "if":
		return "0.01"
	case t.Preset == "paper" && t.Data.Problem != "mnpc":
		return "0.1"
	}
	return number(slackRatio(t.Method.Method) * (1 + t.Alpha*t.Beta) / t.Alpha)
}

func defaultDeltaP(t *Train) string {
	switch {
	case t.Primal == "nesterov":
		return "0.05" // delta_k = 2 (1 - b_k), b_k the momentum's ramp
	case t.Primal == "gradient" && t.EtaScale == "weights":
		return "0.1" // the curvature rule takes multipliers that move fast for curvature
	}
	return "0.001"
}

func checkXStep(text string) error {
	if text == "subgradient" || text == "proxlinear" || text == "split" {
		return nil
	}
	steps, inner := strings.CutPrefix(text, "inner:")
	if n, err := strconv.Atoi(steps); !inner || err != nil || n < 1 {
		return fmt.Errorf("is %q, want subgradient, proxlinear, split, or inner:N with N of at least 1", text)
	}
	return nil
}

// baselineKeys are those of the other methods.
func baselineKeys() []*Key {
	key := func(method, owner string, k Key) *Key {
		k.Group, k.when = GroupMethod, []condition{{"method", []string{method}, owner}}
		k.Usage = method + ": " + k.Usage
		return &k
	}
	gdpa := func(k Key) *Key { return key("gdpa", "GDPA's", k) }
	penalty := func(k Key) *Key { return key("penalty", "the penalty method's", k) }
	alm := func(k Key) *Key { return key("alm", "the augmented Lagrangian's", k) }
	return []*Key{
		gdpa(Key{Name: "gdpa-step", Value: "X|auto", Usage: "alpha_0; auto with --primal nesterov: the curvature rule alone (default 1e-3)",
			check: checkStep, field: func(t *Train) any { return &t.GDPAStep }, preset: always("0.001")}),
		gdpa(Key{Name: "gdpa-step-decay", Value: "cubic|constant", Usage: "alpha_0 (r+1)^(-1/3), or alpha_0 (default cubic)",
			choices: []string{"cubic", "constant"}, field: func(t *Train) any { return &t.GDPAStepDecay }, preset: always("cubic")}),
		gdpa(Key{Name: "gdpa-penalty", Value: "X", Usage: "beta_0 (default 1)",
			interval: positive(), field: func(t *Train) any { return &t.GDPAPenalty }, preset: always("1")}),
		gdpa(Key{Name: "gdpa-perturbation", Value: "X", Usage: "tau (default 0.1)",
			interval: between(0, 1), field: func(t *Train) any { return &t.GDPAPerturbation }, preset: always("0.1")}),
		gdpa(Key{Name: "gdpa-ratio", Value: "X", Usage: "geometric penalty beta_0 X^r, or none: beta_0 (r+1)^(1/3) (default none)",
			interval: atLeast(1), none: true, field: func(t *Train) any { return &t.GDPARatio }, preset: always("none")}),
		penalty(Key{Name: "penalty-coefficient", Value: "X", Usage: "c of c/2 ||max(0, g)||^2 (default 10)",
			interval: positive(), field: func(t *Train) any { return &t.PenaltyCoefficient }, preset: always("10")}),
		penalty(Key{Name: "penalty-growth", Value: "X", Usage: "factor of c from period to period (default 1)",
			interval: atLeast(1), field: func(t *Train) any { return &t.PenaltyGrowth }, preset: always("1")}),
		penalty(Key{Name: "penalty-period", Value: "N", Usage: "iterations of a period (default 100)",
			interval: atLeast(1), field: func(t *Train) any { return &t.PenaltyPeriod }, preset: always("100")}),
		key("gda", "gradient descent-ascent's", Key{Name: "gda-dual-step", Value: "X", Usage: "step of the multipliers (default 0.05)",
			interval: positive(), field: func(t *Train) any { return &t.GDADualStep }, preset: always("0.05")}),
		alm(Key{Name: "alm-penalty", Value: "X", Usage: "c of the augmented Lagrangian (default 10)",
			interval: positive(), field: func(t *Train) any { return &t.ALMPenalty }, preset: always("10")}),
		alm(Key{Name: "alm-inner", Value: "N", Usage: "x-steps between updates of the multipliers (default 20)",
			interval: atLeast(1), field: func(t *Train) any { return &t.ALMInner }, preset: always("20")}),
	}
}
