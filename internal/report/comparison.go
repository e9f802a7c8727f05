package report

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"sort"

	"ppal/internal/rundir"
)

// Comparison is the content of the page of a comparison.
type Comparison struct {
	Dir, Title, Version string
	Good                bool   // a method meets the bounds with every seed
	Headline, Lead      string // the result in words
	Facts               []Fact
	Columns             []string // of the table, after the method
	Methods             []ComparedMethod
	Charts              []*Chart
	Search              *Table // nil: no search
	Notes               []string
	Commands            []Command
	Data                []rundir.DataFile
}

// Fact is a named number with a remark.
type Fact = fact

// Command is a command line with its purpose.
type Command = command

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
func (c *Comparison) Status() status {
	return status{Kind: map[bool]string{true: "good", false: "open"}[c.Good], Text: c.Headline, Lead: c.Lead}
}

// Run is the curve of a single run: a value for each place of an axis.
type Run struct{ X, Y []float64 }

// gridPoints is the number of places at which runs with different places are compared.
const gridPoints = 300

// Spread returns the median of runs, with the band from their smallest to their largest value. The
// places are those of the runs if they agree. Otherwise Spread interpolates the runs linearly on a
// grid over the range that all runs cover.
func Spread(runs []Run) Curve {
	var c Curve
	if len(runs) == 0 {
		return c
	}
	if len(runs) == 1 {
		return thinned(Curve{X: runs[0].X, Y: runs[0].Y}, fewPoints)
	}
	for _, x := range sharedPlaces(runs) {
		var values []float64
		for _, r := range runs {
			values = append(values, r.at(x))
		}
		slices.Sort(values)
		n := len(values)
		c.X, c.Y = append(c.X, x), append(c.Y, (values[(n-1)/2]+values[n/2])/2)
		c.Low, c.High = append(c.Low, values[0]), append(c.High, values[n-1])
	}
	return thinned(c, fewPoints)
}

func sharedPlaces(runs []Run) []float64 {
	first := runs[0].X
	if !slices.ContainsFunc(runs, func(r Run) bool { return !slices.Equal(r.X, first) }) {
		return first
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	for _, r := range runs {
		lo, hi = max(lo, r.X[0]), min(hi, r.X[len(r.X)-1])
	}
	if hi <= lo {
		return []float64{lo}
	}
	var places []float64
	for i := range gridPoints {
		places = append(places, lo+(hi-lo)*float64(i)/(gridPoints-1))
	}
	return places
}

// at returns the run's value at x by linear interpolation.
func (r Run) at(x float64) float64 {
	i := sort.SearchFloat64s(r.X, x)
	switch {
	case i == 0:
		return r.Y[0]
	case i == len(r.X):
		return r.Y[i-1]
	case r.X[i] == x:
		return r.Y[i]
	}
	share := (x - r.X[i-1]) / (r.X[i] - r.X[i-1])
	return r.Y[i-1] + share*(r.Y[i]-r.Y[i-1])
}

// thinned keeps about most points of a curve, the first and the last among them.
func thinned(c Curve, most int) Curve {
	every := (len(c.X) + most - 2) / (most - 1)
	if every <= 1 {
		return c
	}
	pick := func(list []float64) (kept []float64) {
		if list == nil {
			return nil
		}
		for i := 0; i < len(list)-1; i += every {
			kept = append(kept, list[i])
		}
		return append(kept, list[len(list)-1])
	}
	return Curve{X: pick(c.X), Y: pick(c.Y), Low: pick(c.Low), High: pick(c.High)}
}

// MethodLine returns the appearance of the curve of method k.
func MethodLine(name string, k int) Line { return lineOf(cmp.Or(name, "method"), k) }

// Decades returns the number of decades that the values of the chart's first view span; 0 if a
// value is not positive.
func (c *Chart) Decades() float64 { return decades(c) }

// Number formats a number with four significant digits.
func Number(v float64) string { return short(v) }

// Duration formats a number of seconds.
func Duration(s float64) string { return seconds(s) }
