package tabular

import (
	"ppal/internal/option"
)

// ColumnUse says how a column of a file is used.
type ColumnUse struct {
	Name    string
	Became  string // number, category, date, label, group, attribute, split or ignored
	Levels  int    // number of categories; 0 for numbers
	Missing int    // number of rows without a value
	Detail  string // more about the column, as a clause; may be empty
}

// Text describes the use in a few words: "category of 3 levels, group".
func (u ColumnUse) Text() string {
	text := u.Became
	if u.Levels > 0 && u.Became != "label" && u.Became != "ignored" {
		text += " of " + option.Counted(u.Levels, "level")
	}
	if u.Detail != "" {
		text += ", " + u.Detail
	}
	return text
}
