package results

// Legend is what the plots of the records in metrics.jsonl say in words.
type Legend struct {
	Title string
	// Objective is the name of f, and Constraints are the names of g_1..g_m. Bounded are these names
	// with their bounds.
	Objective            string
	Constraints, Bounded []string
	Bounds               []float64 // kappa, one for each constraint
}

// Examples are the wrong decisions with the largest margins on the rows of one split.
type Examples struct {
	Split Split `json:"split"`
	// Columns names the values of each row; nil for pictures.
	Columns []string       `json:"columns,omitempty"`
	Classes []ClassExample `json:"classes"`
}

// ClassExample lists wrong decisions on the rows of a class, the largest margin first.
type ClassExample struct {
	Class string    `json:"class"`
	Rows  int       `json:"rows"`  // number of rows of the class
	Wrong int       `json:"wrong"` // number of wrong decisions
	List  []Example `json:"list"`
}

// Example is a row that the model decides wrongly.
type Example struct {
	Row     int    `json:"row"` // the row's number in its source or, without a source, in the split; from 1
	Decided string `json:"decided"`
	// Score is the score of a binary model, which decides at 0. With a score for each class, Score
	// is the score of the decided class minus the score of the row's class.
	Score float64 `json:"score"`
	// Values are the texts of the columns; nil for pictures.
	Values []string `json:"values,omitempty"`
	// Picture is a PNG file; nil for tables.
	Picture []byte `json:"picture,omitempty"`
}
