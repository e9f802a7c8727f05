package decisions

import "slices"

// Kind is the kind of bound of a problem.
type Kind string

// The kinds of problems.
const (
	// DemographicParity minimises the error with a bound on the gap of the groups' positive rates.
	DemographicParity Kind = "dp"
	// EqualizedOdds minimises the error with a bound on the gap of the groups' true positive rates
	// and on the gap of their false positive rates.
	EqualizedOdds Kind = "eo"
	// NeymanPearson minimises the false negative rate with a bound on the false positive rate.
	NeymanPearson Kind = "np"
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
}

// GapBound is the bound on the gaps.
const GapBound = 0.01

// Problems returns the compared problems. Bank excludes the duration of a call from the features,
// because the duration is known only after the outcome.
func Problems() []Problem {
	adult := Dataset{Name: "adult", Group: "sex=Female", Attribute: "sex"}
	bank := Dataset{Name: "bank", Ignore: []string{"duration"}, Group: "25<=age<60", Attribute: "25<=age<60"}
	compas := Dataset{Name: "compas", Group: "race=African-American", Attribute: "race=African-American"}
	var list []Problem
	for _, kind := range []Kind{DemographicParity, EqualizedOdds} {
		for _, d := range []Dataset{adult, bank, compas} {
			list = append(list, Problem{kind, d, GapBound})
		}
	}
	for _, d := range []Dataset{bank, adult} {
		for _, bound := range []float64{0.01, 0.05, 0.10} {
			list = append(list, Problem{NeymanPearson, d, bound})
		}
	}
	return list
}

// Datasets returns the tables of the problems.
func Datasets(problems []Problem) []Dataset {
	var list []Dataset
	for _, p := range problems {
		if !slices.ContainsFunc(list, func(d Dataset) bool { return d.Name == p.Data.Name }) {
			list = append(list, p.Data)
		}
	}
	return list
}
