package method_test

import (
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
)

// switchingTable holds the entries of the switching subgradient methods and the proximal point
// methods.
func switchingTable() []entry {
	scaled := where("badly scaled: no one setting fits", func(tp testproblems.Problem) bool { return tp.BadlyScaled })
	tooSlow := func(names ...string) map[string]string {
		return because("slower than the table's iterations", names...)
	}
	room := "without an interior, or at a kink, there is no iterate that counts to stay at"
	thin := because(room, "qp-no-interior", "abs-kink", "max-of-abs")
	thinner := because(room, "abs-two-kinks", "abs-branch-and-kink", "abs-circle-kink")
	onePiece := because("the linearisation sees one piece of the kink", "abs-two-kinks", "max-kink", "max-of-abs")
	sphere := because("a step on g, and a mean, leaves the sphere, and with it the sphere's multiplier",
		"ball-linear", "ball-and-plane", "ball-and-disc-exterior", "ball-indefinite")
	return []entry{
		{name: "ssg", make: func() trainer.Method { return &method.SSG{} }, tolerance: 5e-2, kinks: true,
			why: "the iterates cross the boundary by steps that fall like 1/sqrt(k)", cannot: either(scaled, thin, sphere, because(room, "max-kink"),
				tooSlow("rosenbrock-unit-disc", "rosenbrock-disc", "abs-upper-branch", "abs-lower-branch", "abs-sigmoid-gap",
					"HS1", "HS2", "HS11", "HS12", "HS17", "HS29", "HS31", "HS43", "HS86", "HS113"))},
		{name: "ssg constant", make: func() trainer.Method {
			return &method.SSG{Step: 0.01, StepRule: method.StepConstant, ViolationRule: method.StepDecay, ViolationStep: 0.3}
		}, tolerance: 5e-2, kinks: true, why: "the iterates cross the boundary by as much as a step", cannot: either(scaled, thin, thinner,
			because(room, "max-kink"), tooSlow("qp-random-50x20", "HS113"),
			because("a step of 0.01 is too long", "rosenbrock-unit-disc", "rosenbrock-disc", "mishra-bird",
				"HS1", "HS2", "HS11", "HS16", "HS31", "HS43", "HS65", "HS86"))},
		{name: "ipp-ssg", make: func() trainer.Method {
			return &method.IPPSSG{ProximalPoint: method.ProximalPoint{RhoHat: 4, Inner: 300}}
		}, tolerance: 5e-2, kinks: true, why: "a centre, the mean of the iterates that count, is inside by about 1/(s N)",
			cannot: either(scaled, sphere, thin, thinner, because(room, "hinge-kink"),
				tooSlow("qp-several-active", "qp-vertex", "qp-random-50x20", "rosenbrock-unit-disc", "rosenbrock-disc", "abs-lower-branch",
					"HS1", "HS2", "HS11", "HS12", "HS16", "HS17", "HS29", "HS31", "HS33", "HS34", "HS43", "HS44", "HS45", "HS65", "HS86", "HS113"))},
		{name: "ipp-conex", make: func() trainer.Method { return &method.IPPConEx{} }, tolerance: 1e-6, kinks: true,
			cannot: either(scaled, tooSlow("rosenbrock-disc", "largest-small-polygon-10", "HS1", "HS16", "HS17", "HS23", "HS24", "HS33", "HS34", "HS43",
				"HS44", "HS45", "HS57", "HS113"), onePiece, because("the linearisation sees one piece of the kink", "abs-circle-kink"))},
		{name: "ipp-conex restart", make: func() trainer.Method {
			return &method.IPPConEx{ProximalPoint: method.ProximalPoint{RhoHat: 1, Inner: 300}, Restart: true}
		}, tolerance: 5e-2, kinks: true, why: "y starts from 0 in each inner loop", cannot: either(scaled, sphere, onePiece,
			tooSlow("qp-random-50x20", "rosenbrock-disc", "abs-branch-and-kink", "HS1", "HS11", "HS12", "HS16", "HS23", "HS29", "HS31", "HS33", "HS34",
				"HS43", "HS44", "HS45", "HS86", "HS113"))},
		{name: "nl-iapial", make: func() trainer.Method { return &method.NLIAPIAL{} }, tolerance: 1e-6,
			cannot: either(scaled, tooSlow("rosenbrock-disc", "HS1", "HS33", "HS57"))},
	}
}
