package results

// MeasureKey is the key of a split's measure in the records: "test_error".
func MeasureKey(split Split, measure string) string { return string(split) + "_" + measure }

// Split names a part of the rows.
type Split string

// The splits.
const (
	Training   Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// Word names the split in a sentence: training, validation or test.
func (s Split) Word() string {
	if s == Training {
		return "training"
	}
	return string(s)
}

// Splits lists the splits in their order.
func Splits() []Split { return []Split{Training, Validation, Test} }

// SplitSizes is a class, a group or all rows, with the number of rows in each split.
type SplitSizes struct {
	Name       string `yaml:"name"`
	Train      int    `yaml:"train"`
	Validation int    `yaml:"validation,omitempty"`
	Test       int    `yaml:"test"`
}

// Set sets the number of rows in a split.
func (s *SplitSizes) Set(split Split, rows int) {
	switch split {
	case Training:
		s.Train = rows
	case Validation:
		s.Validation = rows
	case Test:
		s.Test = rows
	}
}

// Members lists the rows of one split in one file.
type Members struct {
	Split Split
	File  string // its name, "" if all rows are in one file
	Rows  []int  // the rows' numbers in the file, from 0
}
