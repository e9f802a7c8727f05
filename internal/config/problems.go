package config

import (
	"ppal/internal/option"
	"ppal/trainer/session"
)

// published returns the names of the problems of Moon et al.
func published() []string {
	return []string{session.NameNeymanPearson, session.NameDemographicParity, session.NameEqualizedOdds, session.NameIntersectional}
}

// problems returns the names of the problems.
func problems() []string { return append(published(), session.NameRates, session.NameClassRates) }

// onProblem is the condition that the run's problem is one of the names.
func onProblem(names ...string) option.Condition { return option.If(option.NameProblem, names...) }

// onImages is the condition that the problem is about images.
func onImages() option.Condition { return onProblem(session.NameNeymanPearson, session.NameClassRates) }

// OnTables is the condition that the problem is about tables.
func OnTables() option.Condition { return onProblem(append(fair(), session.NameRates)...) }

// OnRates is the condition that the problem uses the language of package constraints.
func OnRates() option.Condition { return onProblem(session.NameRates, session.NameClassRates) }

// onGaps is the condition that the problem bounds gaps between groups, |h| <= eps.
func onGaps() option.Condition {
	return onProblem(session.NameDemographicParity, session.NameEqualizedOdds)
}

// fair returns the names of the published problems of fairness.
func fair() []string { return published()[1:] }
