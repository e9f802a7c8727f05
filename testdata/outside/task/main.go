// A program has a task of its own: the least cost of errors, with a bound on false alarms.
package main

import (
	"context"
	"fmt"
	"os"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
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
	ctx, dir := context.Background(), os.Args[1]
	o := session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: costs(5)}
	s := must(session.New(ctx, o))
	defer s.Close()
	must(s.Train(ctx))
	must(0, s.Save(dir))
	m, bound := must(predictor.Load(dir)), s.Summary().Outcome.Constraints[0]
	scores, report := must(m.Scores(make([]float64, len(m.Features())))), must(verify.Run(ctx, dir, o))
	fmt.Println(bound.Constraint, "met:", bound.Met, "scores:", len(scores), "verified:", report.Verified)
	// Output: fpr <= 0.3 met: true scores: 1 verified: true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
