package option

// The names of the settings that determine the defaults of methods.
const (
	NameProblem = "problem"
	NameDataset = "dataset"
	NameMethod  = "method"
	NamePreset  = "preset"
)

// The problems.
const (
	NeymanPearson     = "mnpc" // multi-class Neyman-Pearson classification
	DemographicParity = "dp"
	EqualizedOdds     = "eo"
	Intersectional    = "if"          // intersectional group fairness
	Rates             = "rates"       // rates of decisions, of tables
	ClassRates        = "class-rates" // rates of decisions, of pictures
)

// Problems returns the names of the problems.
func Problems() []string {
	return append(Published(), Rates, ClassRates)
}

// Published returns the names of the problems of Moon et al.
func Published() []string {
	return []string{NeymanPearson, DemographicParity, EqualizedOdds, Intersectional}
}

// The presets, which are sets of defaults.
const (
	PresetPractical = "practical" // works well in practice
	PresetPaper     = "paper"     // the values of Moon et al.
)

// Problem is the condition that the run's problem is one of the names.
func Problem(names ...string) Condition { return If(NameProblem, names...) }

// OnImages is the condition that the problem is about images.
func OnImages() Condition { return Problem(NeymanPearson, ClassRates) }

// OnTables is the condition that the problem is about tables.
func OnTables() Condition {
	return Problem(DemographicParity, EqualizedOdds, Intersectional, Rates)
}

// OnRates is the condition that the problem uses the language of package constraints.
func OnRates() Condition { return Problem(Rates, ClassRates) }

// OnGaps is the condition that the problem bounds gaps between groups, |h| <= eps.
func OnGaps() Condition { return Problem(DemographicParity, EqualizedOdds) }

// Paper is the condition that the run uses the paper's defaults.
func Paper() Condition { return If(NamePreset, PresetPaper) }

// Practical is the condition that the run uses the practical defaults.
func Practical() Condition { return If(NamePreset, PresetPractical) }
