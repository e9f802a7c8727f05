package option

// The names of the settings that the help names by their values only.
const (
	NameProblem = "problem"
	NameDataset = "dataset"
	NameMethod  = "method"
	NamePreset  = "preset"
)
