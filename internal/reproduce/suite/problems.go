package suite

import (
	"fmt"
	"slices"

	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// Family groups the problems in tables.
type Family string

// The families.
const (
	pictures  Family = "pictures"  // Neyman-Pearson classification of pictures, one hidden layer, a ball
	fairness  Family = "fairness"  // bounds on gaps of rates, on tables
	decisions Family = "decisions" // the smooth problem of one round of bounds on decisions, on tables
	functions Family = "functions" // problems of few variables from the literature
)

// Problem is a problem of the suite. Exactly one of Functions and Task is set.
type Problem struct {
	Name   string
	Family Family
	Seed   uint64 // of the start and of the choice of rows
	// Float64 makes the problem compute in float64; otherwise in float32.
	Float64 bool
	// HeldOut problems are kept for the end. Nothing is tuned on them.
	HeldOut bool
	// Quick problems are part of the short form of the suite.
	Quick bool
	// Functions is the name of a problem of package testproblems.
	Functions string
	// Task, Data, Model and Regularizer state a problem of package session.
	Task        session.Task
	Data        func(dir string) session.Source
	Model       models.Spec
	Regularizer problem.Regularizer
	// Ridge is the weight of ||x||^2/2 in the objective; 0: none.
	Ridge float64
}

// options returns the options of a session on the files in dir.
func (p Problem) options(dir string) session.Options {
	model, regularizer := p.Model, p.Regularizer
	return session.Options{Data: p.Data(dir), Task: p.Task, Model: &model, Regularizer: &regularizer}
}

// heldOutEvery is the distance between the held-out problems in the alphabetical order of names.
const heldOutEvery = 4

// problems returns all problems in the alphabetical order of their names. Every fourth problem is
// held out: the 4th, the 8th, and further. The rule was fixed before any optimiser ran on the
// suite.
func problems() []Problem {
	list := slices.Concat(pictureProblems(), fairnessProblems(), decisionProblems(), functionProblems())
	slices.SortFunc(list, func(a, b Problem) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	for i := range list {
		list[i].HeldOut = (i+1)%heldOutEvery == 0
		list[i].Quick = slices.Contains(quick(), list[i].Name)
	}
	return list
}

// quick returns the names of the problems of the short form: some of each family, all small.
func quick() []string {
	return []string{
		"fashion-0123-k0.2-t5-w16-n200", "fashion-6024-k0.05-t40-w32-n200",
		"compas-dp-0.01-linear", "compas-eo-0.001-mlp16", "compas-decisions-dp-0.01-linear",
		"hs043", "hs086", "hs113",
	}
}

// Select returns the problems with the given names, or all problems without names.
func Select(names ...string) ([]Problem, error) {
	all := problems()
	if len(names) == 0 {
		return all, nil
	}
	var list []Problem
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Problem) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("suite: no problem %q (see ppal reproduce suite --list)", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// functionProblems returns problems of few variables in float64. Bounds on coordinates count as
// constraints, so that m is up to 20.
func functionProblems() []Problem {
	var list []Problem
	for _, e := range []struct{ name, functions string }{
		{"ball-and-plane", "ball-and-plane"},
		{"hs023", "HS23"},               // n = 2, m = 9
		{"hs043", "HS43"},               // n = 4, m = 3
		{"hs044", "HS44"},               // n = 4, m = 10
		{"hs065", "HS65"},               // n = 3, m = 7
		{"hs076", "HS76"},               // n = 4, m = 7
		{"hs086", "HS86"},               // n = 5, m = 15
		{"hs100", "HS100"},              // n = 7, m = 4
		{"hs113", "HS113"},              // n = 10, m = 8
		{"hs117", "HS117"},              // n = 15, m = 20
		{"qp-50x20", "qp-random-50x20"}, // n = 50, m = 20
	} {
		list = append(list, Problem{Name: e.name, Family: functions, Seed: 1, Float64: true, Functions: e.functions})
	}
	return list
}
