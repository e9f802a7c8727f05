// A program has the commands of ppal and a task of its own, --problem costs: dear and cheap errors.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"gorgonia.org/gorgonia"

	"ppal/cmd"
	"ppal/constraints"
	"ppal/trainer/session"
)

type costs float64 // of a missed positive, in false alarms

func (c costs) decisions() session.Decisions {
	return session.Decisions{Objective: c.loss, SubjectTo: []constraints.Constraint{constraints.FPR().AtMost(0.3)}}
}

func (c costs) Needs() constraints.Needs { return c.decisions().Needs() }

func (c costs) State(train session.Rows, smooth bool) (*session.Statement, error) {
	return c.decisions().State(train, smooth)
}

// loss is the mean of cost * log(1 + exp(-label * score)).
func (c costs) loss(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, error) {
	signs, weights := make([]float64, len(rows.Labels)), make([]float64, len(rows.Labels))
	for i, y := range rows.Labels {
		signs[i], weights[i] = float64(-y), 1
		if y == 1 {
			weights[i] = float64(c)
		}
	}
	loss := gorgonia.Must(gorgonia.Softplus(gorgonia.Must(gorgonia.HadamardProd(scores, session.Column(scores, "signs", signs)))))
	return gorgonia.Mean(gorgonia.Must(gorgonia.HadamardProd(loss, session.Column(scores, "weights", weights))))
}

func main() {
	d := session.TaskDescription{Name: "costs", Summary: "false alarms, at the least cost", New: func() session.Task { return costs(5) }}
	if err := session.RegisterTask(d); err != nil {
		panic(err)
	}
	if len(os.Args) > 2 {
		cmd.Main()
	}
	run := func(args ...string) string {
		out, err := exec.Command(os.Args[0], args...).CombinedOutput()
		if err != nil {
			panic(string(out))
		}
		return string(out)
	}
	table := run("train", "--problem", "costs", "--dataset", "synthetic-compas", "--out", os.Args[1])
	fmt.Println("bounded:", strings.Contains(table, "fpr"), strings.Contains(run("verify", os.Args[1]), "verified"))
	// Output: bounded: true true
}
