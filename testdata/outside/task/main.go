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

type costs struct{ missed float64 } // of a missed positive, in false alarms

func (c *costs) Flags() []session.Flag {
	return []session.Flag{{Name: "costs-missed", Help: "let a missed positive cost X", Unit: "false alarms", Default: "5", Value: &c.missed, Low: 1, High: 100}}
}

func (c *costs) Needs() constraints.Needs { return c.decisions().Needs() }

func (c *costs) State(train session.Rows, smooth bool) (*session.Statement, error) {
	return c.decisions().State(train, smooth)
}

func (c *costs) decisions() session.Decisions {
	return session.Decisions{Objective: c.loss, SubjectTo: []constraints.Constraint{constraints.FPR().AtMost(0.3)}}
}

// loss is the mean of cost * log(1 + exp(-label * score)).
func (c *costs) loss(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, error) {
	signs, weights := make([]float64, len(rows.Labels)), make([]float64, len(rows.Labels))
	for i, y := range rows.Labels {
		signs[i], weights[i] = float64(-y), 1+(c.missed-1)*float64(1+y)/2
	}
	loss := gorgonia.Must(gorgonia.Softplus(gorgonia.Must(gorgonia.HadamardProd(scores, session.Column(scores, "signs", signs)))))
	return gorgonia.Mean(gorgonia.Must(gorgonia.HadamardProd(loss, session.Column(scores, "weights", weights))))
}

func main() {
	d := session.TaskDescription{Name: "costs", Summary: "false alarms, at the least cost", New: func() session.Task { return &costs{} }}
	if err := session.RegisterTask(d); err != nil {
		panic(err)
	}
	if len(os.Args) > 2 {
		cmd.Main()
	}
	run := func(args ...string) string {
		out, _ := exec.Command(os.Args[0], args...).CombinedOutput() // the output shows a failure
		return string(out)
	}
	table, config := run("train", "--problem", "costs", "--dataset", "synthetic-compas", "--costs-missed", "3", "--out", os.Args[1]), os.Args[1]+"/config.yaml"
	again := run("train", "--config", config, "--costs-missed", "0.5", "--out", os.Args[1]+"2")
	fmt.Println("bounded:", strings.Contains(table, "fpr"), strings.Contains(run("verify", os.Args[1]), "verified"), again)
	// Output: bounded: true true ppal: --costs-missed 0.5: must be at least 1 and at most 100
}
