package option

// The names of the settings that the help names by their values only.
const (
	NameProblem = "problem"
	NameDataset = "dataset"
	NameMethod  = "method"
	NamePreset  = "preset"
)

// OnDataSet is the condition that the data set has one of the names. The title replaces the names
// in texts.
func OnDataSet(title string, names ...string) Condition {
	return If(NameDataset, names...).Called(title)
}

// OnPlan is the condition that the run uses the plan's engine.
func OnPlan() Condition { return If("engine", "plan") }

// FirstOrder is the condition that the primal step can be of the first order.
func FirstOrder() Condition { return If("primal", "auto", "nesterov", "gradient", "adam") }

// DataSet returns the choice of the data set by one of the names, and of the directory of its
// files.
func DataSet(names []string, name, dir *string) []*Option {
	return []*Option{
		Choice(NameDataset, name, "choose the data set; ppal data list describes them", names...).As("NAME"),
		Text("data-dir", dir, "DIR", "find the data sets' files here").
			OrRule("$PPAL_DATA, else the user's cache directory", func() string { return "" }),
	}
}
