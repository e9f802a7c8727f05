package decisions

import "slices"

// Kind is the kind of bound of a problem.
type Kind string

// The kinds of problems.
const (
	// demographicParity minimises the error with a bound on the gap of the groups' positive rates.
	demographicParity Kind = "dp"
	// equalizedOdds minimises the error with a bound on the gap of the groups' true positive rates
	// and on the gap of their false positive rates.
	equalizedOdds Kind = "eo"
	// neymanPearson minimises the false negative rate with a bound on the false positive rate.
	neymanPearson Kind = "np"
)

// Dataset is a published table.
type Dataset struct {
	Name   string
	Ignore []string // columns that are not features
	// Group is the condition that makes the table's two groups. Attribute is the column or the
	// condition by which the constraints name the groups.
	Group, Attribute string
}

// Problem is a problem of the comparison.
type Problem struct {
	Kind  Kind
	Data  Dataset
	Bound float64
	// Scores is true if a contender only chooses thresholds on the scores of gradient-boosted trees,
	// one for each group.
	Scores bool
}

// gapBound is the bound on the gaps.
const gapBound = 0.01

// problems returns the compared problems. Bank excludes the duration of a call from the features,
// because the duration is known only after the outcome.
func problems() []Problem {
	adult := Dataset{Name: "adult", Group: "sex=Female", Attribute: "sex"}
	bank := Dataset{Name: "bank", Ignore: []string{"duration"}, Group: "25<=age<60", Attribute: "25<=age<60"}
	compas := Dataset{Name: "compas", Group: "race=African-American", Attribute: "race=African-American"}
	var list []Problem
	for _, kind := range []Kind{demographicParity, equalizedOdds} {
		for _, d := range []Dataset{adult, bank, compas} {
			list = append(list, Problem{Kind: kind, Data: d, Bound: gapBound}, Problem{Kind: kind, Data: d, Bound: gapBound, Scores: true})
		}
	}
	for _, d := range []Dataset{bank, adult} {
		for _, bound := range []float64{0.01, 0.05, 0.10} {
			list = append(list, Problem{Kind: neymanPearson, Data: d, Bound: bound})
		}
	}
	return list
}

// tableSets returns the tables of the problems.
func tableSets(problems []Problem) []Dataset {
	var list []Dataset
	for _, p := range problems {
		if !slices.ContainsFunc(list, func(d Dataset) bool { return d.Name == p.Data.Name }) {
			list = append(list, p.Data)
		}
	}
	return list
}
