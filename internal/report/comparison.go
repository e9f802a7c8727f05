package report

import (
	"path/filepath"

	"ppal/internal/chart"
	"ppal/trainer/session/results"
)

// Comparison is the content of the page of a comparison.
type Comparison struct {
	Dir, Title, Version string
	Good                bool   // a method meets the bounds with every seed
	Headline, Lead      string // the result in words
	Facts               []Fact
	Columns             []string // of the table, after the method
	Methods             []ComparedMethod
	Charts              []*chart.Chart
	Search              *Table // nil: no search
	Notes               []string
	Commands            []Command
	Data                []results.DataFile
}

// ComparedMethod is a method of a comparison.
type ComparedMethod struct {
	Name     string
	Good     bool   // all runs meet the bounds at the end
	Met      string // "3 of 5 runs meet the bounds"
	Cells    []Mean
	Settings []Fact
	Failures []string
	Seeds    Table
}

// Mean is the text of a mean, with its standard deviation; "" for a single value.
type Mean struct{ Mean, Deviation string }

// Table is a table of texts. The cells of the columns in Text are words, and the cells of other
// columns are numbers.
type Table struct {
	Head []string
	Text []bool
	Rows [][]string
}

// Words reports whether column k holds words.
func (t *Table) Words(k int) bool { return k < len(t.Text) && t.Text[k] }

// WriteComparison writes the page of a comparison.
func WriteComparison(c *Comparison) error {
	return newPage("comparison", c.Title, "Comparison · "+filepath.Base(c.Dir), c.Version, c.Dir, c).write(filepath.Join(c.Dir, File))
}

// Status is the head of the page.
func (c *Comparison) Status() Status {
	return Status{Kind: map[bool]string{true: "good", false: "open"}[c.Good], Text: c.Headline, Lead: c.Lead}
}
