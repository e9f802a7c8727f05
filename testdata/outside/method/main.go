// A program with the commands of ppal and a method of its own: dual ascent on the augmented
// Lagrangian with a fixed penalty. Without a command, it compares the method with ppal's.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"ppal/cmd"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

const penalty = 10

// ascent is lambda_{k+1} = w_k with w_k = max(0, lambda_k + penalty g(x_k)).
type ascent struct{ lambda []float64 }

func (*ascent) Name() string                  { return "ascent" }
func (*ascent) Needs() trainer.Needs          { return trainer.Needs{} }
func (*ascent) Demand() step.Demand           { return step.Demand{} }
func (*ascent) PrimalStep() step.Settings     { return step.Settings{Kind: step.Nesterov} }
func (a *ascent) StartDual(g []float64) error { a.lambda = make([]float64, len(g)); return nil }
func (a *ascent) UpdateDual(g []float64)      { a.Coefficients(a.lambda, g) }
func (a *ascent) VisitDual(v problem.StateVisitor) {
	v.Numbers("lambda", a.lambda)
}
func (a *ascent) Coefficients(w, g []float64) {
	for j := range g {
		w[j] = max(0, a.lambda[j]+penalty*g[j])
	}
}

func main() {
	d := method.Description{Name: "ascent", Summary: "dual ascent with a fixed penalty"}
	if err := method.Register(d, func() trainer.Method { return method.FromRule(&ascent{}) }); err != nil {
		panic(err)
	}
	if len(os.Args) > 2 {
		cmd.Main()
	}
	out, err := exec.Command(os.Args[0], "compare", "--methods", "alm,ascent", "--dataset", "synthetic-compas",
		"--subject-to", "gap(tpr, sex) <= 0.05", "--seeds", "2", "--out", os.Args[1]).Output()
	if err != nil {
		panic(err)
	}
	met := regexp.MustCompile(`(?m)^bounds met +\d of \d +(\d of \d)`).FindSubmatch(out)
	fmt.Printf("ascent meets its bounds in %s runs\n", met[1])
	// Output: ascent meets its bounds in 2 of 2 runs
}
