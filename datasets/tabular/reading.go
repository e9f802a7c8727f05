package tabular

// Reading says how the training read the columns that groups, attributes and conditions use.
// Readers of new rows follow the Reading, so that the meaning of a value does not depend on the
// other new rows.
type Reading struct {
	// Missing is MissingFlagged if "missing" is a value of groups and attributes, and MissingDropped
	// if rows without a value in a column of Required were left out.
	Missing  string          `json:"missing,omitempty"`
	Required []string        `json:"required,omitempty"`
	Columns  []ColumnReading `json:"columns,omitempty"`
	// Weight is the column of the weights, with the decimal sign of its numbers; nil: no weights.
	Weight *ColumnReading `json:"weight,omitempty"`
}

// ColumnReading says how the training read a column: as numbers or as texts.
type ColumnReading struct {
	Column string `json:"column"`
	// Number says that equal numbers are equal values; otherwise equal texts are equal values.
	Number bool `json:"number,omitempty"`
	// Decimal says how the numbers are written, as Encoding.Decimal does.
	Decimal string `json:"decimal,omitempty"`
}
