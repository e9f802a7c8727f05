// A program has a task of its own nodes: a squared loss, with a bound on the squared scores above 0
// of negative rows, which stands for a bound on false alarms.
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

const bound = 0.02

var task = &session.Statement{
	Name: "least-squares", Constraints: []session.Constraint{{Name: "false alarms", Bound: bound}}, Nodes: nodes,
	Decided: &session.Decided{SubjectTo: []constraints.Constraint{constraints.FPR().AtMost(0.3)}},
}

// nodes returns the mean of (label - score)^2, and the mean of max(0, score)^2 over the negative
// rows minus the bound.
func nodes(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
	labels, negative, n := make([]float64, len(rows.Labels)), make([]float64, len(rows.Labels)), 0.0
	for i, y := range rows.Labels {
		if labels[i] = float64(y); y < 0 {
			negative[i], n = 1, n+1
		}
	}
	mean := func(x *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Mean(x)) }
	square := func(x *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Square(x)) }
	f := mean(square(gorgonia.Must(gorgonia.Sub(scores, session.Column(scores, "labels", labels)))))
	above := gorgonia.Must(gorgonia.HadamardProd(square(gorgonia.Must(gorgonia.Rectify(scores))), session.Column(scores, "negative", negative)))
	scaled := gorgonia.Must(gorgonia.Mul(mean(above), session.Number(scores, float64(len(negative))/n)))
	return f, gorgonia.Nodes{gorgonia.Must(gorgonia.Sub(scaled, session.Number(scores, bound)))}, nil
}

func main() {
	ctx, dir := context.Background(), os.Args[1]
	o := session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Task: task}
	s := must(session.New(ctx, o))
	defer s.Close()
	must(s.Train(ctx))
	must(0, s.Save(dir))
	m, c := must(predictor.Load(dir)), s.Summary().Outcome.Constraints[0]
	scores, report := must(m.Scores(make([]float64, len(m.Features())))), must(verify.Run(ctx, dir, o))
	fmt.Println(c.Constraint, "met:", c.Met, "interval:", c.Interval != nil, "scores:", len(scores), "verified:", report.Verified, report.Problems)
	// Output: fpr <= 0.3 met: true interval: true scores: 1 verified: true []
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
