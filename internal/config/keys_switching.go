package config

// switchingKeys are those of the methods for non-smooth constraints with published steps: SSG, the inexact proximal point methods, the
// multiplier model.
func switchingKeys() []*Key {
	key := func(method, owner string, k Key) *Key {
		k.Group, k.when = GroupMethod, append([]condition{{"method", []string{method}, owner}}, k.when...)
		k.Usage = method + ": " + k.Usage
		return &k
	}
	ssg := func(k Key) *Key { return key("ssg", "SSG's", k) }
	ippSSG := func(k Key) *Key { return key("ipp-ssg", "IPP-SSG's", k) }
	conEx := func(k Key) *Key { return key("ipp-conex", "IPP-ConEx's", k) }
	model := func(k Key) *Key { return key("multiplier-model", "the multiplier model's", k) }
	sized := condition{"ssg-violation-rule", []string{"decay", "constant"}, "that of the rules decay and constant"}
	return []*Key{
		ssg(Key{Name: "ssg-tolerance", Value: "X", Usage: "the largest g at which a step is on f (default 1e-3)",
			interval: positive(), field: func(t *Train) any { return &t.SSGTolerance }, preset: always("0.001")}),
		ssg(Key{Name: "ssg-step", Value: "X|auto", Usage: "c of the steps on f; auto: 2 over the measured curvature (default auto)",
			check: checkStep, field: func(t *Train) any { return &t.SSGStep }, preset: always("auto")}),
		ssg(Key{Name: "ssg-step-rule", Value: "decay|constant", Usage: "steps on f: c/sqrt(count), or c (default decay)",
			choices: []string{"decay", "constant"}, field: func(t *Train) any { return &t.SSGStepRule }, preset: always("decay")}),
		ssg(Key{Name: "ssg-violation-rule", Value: "polyak|decay|constant",
			Usage:   "steps on g: g/||zeta||^2, or with --ssg-violation-step c/sqrt(count) or c (default polyak)",
			choices: []string{"polyak", "decay", "constant"}, field: func(t *Train) any { return &t.SSGViolationRule }, preset: always("polyak")}),
		ssg(Key{Name: "ssg-violation-step", Value: "X", Usage: "c of the steps on g (default 0.1)", when: []condition{sized},
			interval: positive(), field: func(t *Train) any { return &t.SSGViolationStep }, preset: always("0.1")}),
		ippSSG(Key{Name: "ipp-ssg-tolerance", Value: "X", Usage: "the largest g at which an inner step is on f (default 1e-3)",
			interval: positive(), field: func(t *Train) any { return &t.IPPSSGTolerance }, preset: always("0.001")}),
		ippSSG(Key{Name: "ipp-ssg-bound", Value: "X|auto", Usage: "L of the inner steps (default auto: measured)",
			check: checkStep, field: func(t *Train) any { return &t.IPPSSGBound }, preset: always("auto")}),
		ippSSG(Key{Name: "ipp-ssg-rho", Value: "X|auto", Usage: "rho^ of the proximal problems (default auto: twice the measured modulus)",
			check: checkStep, field: func(t *Train) any { return &t.IPPSSGRho }, preset: always("auto")}),
		ippSSG(Key{Name: "ipp-ssg-inner", Value: "N", Usage: "inner steps of a proximal problem, at first (default 10)",
			interval: atLeast(1), field: func(t *Train) any { return &t.IPPSSGInner }, preset: always("10")}),
		conEx(Key{Name: "ipp-conex-t0", Value: "X|auto", Usage: "t0 of the inner steps (default auto: by the measured curvature)",
			check: checkStep, field: func(t *Train) any { return &t.IPPConExT0 }, preset: always("auto")}),
		conEx(Key{Name: "ipp-conex-bound", Value: "X|auto", Usage: "M, a bound on the constraints' subgradients (default auto: measured)",
			check: checkStep, field: func(t *Train) any { return &t.IPPConExBound }, preset: always("auto")}),
		conEx(Key{Name: "ipp-conex-rho", Value: "X|auto", Usage: "rho^ of the proximal problems (default auto: twice the measured modulus)",
			check: checkStep, field: func(t *Train) any { return &t.IPPConExRho }, preset: always("auto")}),
		conEx(Key{Name: "ipp-conex-inner", Value: "N", Usage: "inner steps of a proximal problem (default 10)",
			interval: atLeast(1), field: func(t *Train) any { return &t.IPPConExInner }, preset: always("10")}),
		conEx(Key{Name: "ipp-conex-restart", Usage: "begin each inner loop with multipliers of 0, as published",
			field: func(t *Train) any { return &t.IPPConExRestart }, preset: always("false")}),
		model(Key{Name: "multiplier-model-step", Value: "X", Usage: "Adagrad step of the model (default 0.1)",
			interval: positive(), field: func(t *Train) any { return &t.MultiplierModelStep }, preset: always("0.1")}),
		model(Key{Name: "multiplier-model-network-step", Value: "X", Usage: "Adagrad step of the multipliers' network (default 0.1)",
			interval: positive(), field: func(t *Train) any { return &t.MultiplierModelNetworkStep }, preset: always("0.1")}),
		model(Key{Name: "multiplier-model-units", Value: "N", Usage: "hidden units of the multipliers' network (default 50)",
			interval: atLeast(1), field: func(t *Train) any { return &t.MultiplierModelUnits }, preset: always("50")}),
	}
}
