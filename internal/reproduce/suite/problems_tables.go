package suite

import (
	"fmt"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/models"
	"ppal/trainer/session"
)

// table is a published table with the groups that the problems use.
type table struct {
	dataset string
	ignore  []string
	// group is the condition of the table's two groups. attribute names the groups in constraints.
	group, attribute string
}

// tables returns the tables by name. Bank leaves the duration of a call out of the features,
// because the duration is known only after the outcome.
func tables() map[string]table {
	return map[string]table{
		"adult":  {dataset: "adult", group: "sex=Female", attribute: "sex"},
		"bank":   {dataset: "bank", ignore: []string{"duration"}, group: "25<=age<60", attribute: "25<=age<60"},
		"compas": {dataset: "compas", group: "race=African-American", attribute: "race=African-American"},
	}
}

// source returns all rows of the table as training rows.
func (t table) source() func(dir string) session.Source {
	return func(dir string) session.Source {
		return session.Table{Dataset: t.dataset, Dir: dir, TableOptions: tabular.TableOptions{
			Split: tabular.Split{Train: 100}, Ignore: t.ignore, Groups: []string{t.group}}}
	}
}

// modelOf returns a linear model, or a network with one hidden layer of sigmoids: a smooth
// activation, so that the problem has no kinks.
func modelOf(width int) (name string, spec models.Spec) {
	if width == 0 {
		return "linear", models.Spec{}
	}
	return fmt.Sprintf("mlp%d", width), models.Spec{Hidden: []int{width}, Activation: models.Sigmoid}
}

// fairnessProblems returns problems of demographic parity and equalized odds. A bound on |h| is two
// smooth constraints.
func fairnessProblems() []Problem {
	var list []Problem
	for _, e := range []struct {
		data, gap string
		epsilon   float64
		width     int // of the hidden layer; 0: a linear model
		double    bool
		seed      uint64
	}{
		{"adult", "dp", 0.01, 0, false, 1},
		{"adult", "dp", 0.001, 16, false, 1},
		{"adult", "eo", 0.001, 0, false, 2},
		{"bank", "dp", 0.001, 0, false, 2},
		{"bank", "eo", 0.05, 16, false, 1},
		{"compas", "dp", 0.01, 0, true, 1},
		{"compas", "eo", 0.05, 0, true, 2},
		{"compas", "eo", 0.001, 16, false, 1},
	} {
		var task session.Task = session.DemographicParity{Epsilon: []float64{e.epsilon}, Gaps: constraints.Each}
		if e.gap == "eo" {
			task = session.EqualizedOdds{Epsilon: []float64{e.epsilon}, Gaps: constraints.Each}
		}
		model, spec := modelOf(e.width)
		list = append(list, Problem{
			Name:   fmt.Sprintf("%s-%s-%v-%s", e.data, e.gap, e.epsilon, model),
			Family: fairness, Seed: e.seed, Float64: e.double,
			Task: task, Data: tables()[e.data].source(), Model: spec,
		})
	}
	return list
}

// decisionProblems returns the smooth problem of one round of bounds on decisions: each decision is
// a sigmoid of the score, in the objective and in the constraints. The ridge of these tasks is part
// of the objective.
func decisionProblems() []Problem {
	var list []Problem
	for _, e := range []struct {
		data, kind string
		bound      float64
		width      int
		seed       uint64
	}{
		{"adult", "np", 0.01, 0, 1},
		{"adult", "np", 0.05, 16, 2},
		{"bank", "np", 0.01, 0, 1},
		{"bank", "np", 0.05, 0, 2},
		{"adult", "eo", 0.01, 0, 2},
		{"compas", "dp", 0.01, 0, 1},
	} {
		t := tables()[e.data]
		task := session.Decisions{BoundsOn: constraints.OnSurrogate}
		switch e.kind {
		case "np":
			task.Minimize, task.SubjectTo = constraints.FNR(), []constraints.Constraint{constraints.FPR().AtMost(e.bound)}
		case "dp":
			task.SubjectTo = []constraints.Constraint{constraints.Gap(constraints.PositiveRate, t.attribute).AtMost(e.bound)}
		case "eo":
			task.SubjectTo = []constraints.Constraint{constraints.Gap(constraints.TPR, t.attribute).AtMost(e.bound),
				constraints.Gap(constraints.FPR, t.attribute).AtMost(e.bound)}
		}
		model, spec := modelOf(e.width)
		list = append(list, Problem{
			Name:   fmt.Sprintf("%s-decisions-%s-%v-%s", e.data, e.kind, e.bound, model),
			Family: decisions, Seed: e.seed,
			Task: task, Data: t.source(), Model: spec, Ridge: session.DefaultRidge,
		})
	}
	return list
}
