package tabular

// Tables is a table, split and prepared for training.
type Tables struct {
	Train, Validation, Test *Table       // nil if the split gives this set no rows
	Preparation             *Preparation // how the columns became features
	Pictures                *PictureSet  // the rows are pictures; nil: they are not
	Uses                    []ColumnUse  // the use of each column of the file; nil for sparse tables
	Label                   Label        // how the label gives the class
	Reading                 Reading      // how new rows give groups and attributes
	// Files lists the files in the order in which Table.Source numbers their rows; nil: one file
	Files    []FileRows
	LeftOut  int      // number of rows of a csv file that lack a value, and are in no table
	Notes    []string // sentences about automatic decisions
	Warnings []string // sentences about possible problems
}

// FileRows is a file with its number of rows.
type FileRows struct {
	Name string
	Rows int
}

// Part is a table with the name of its split: training, validation or test.
type Part struct {
	Name string
	*Table
}

// Parts returns the tables that are not nil.
func (t *Tables) Parts() []Part {
	var parts []Part
	for i, table := range []*Table{t.Train, t.Validation, t.Test} {
		if table != nil {
			parts = append(parts, Part{PartNames[i], table})
		}
	}
	return parts
}
