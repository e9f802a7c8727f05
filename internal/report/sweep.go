package report

import (
	"path/filepath"

	"ppal/internal/rundir"
)

// Sweep is the content of the page of a sweep.
type Sweep struct {
	Dir, Title, Version string
	Kind                string // good, bad or open: the colour of the headline
	Headline, Lead      string
	Facts               []Fact
	Curve               *Chart // the trade-off
	Points              []SweepPoint
	Objective, Measure  string
	Warnings            []string
	Commands            []Command
	Settings            string // sweep.yaml
	Data                []rundir.DataFile
}

// SweepPoint is the result for one bound.
type SweepPoint struct {
	Bound, Run, Page string // Page is the relative link to the page of the run; "": none
	Good             bool
	Met              string
	Measure          []SplitCell // of the swept measure
	Objective        []SplitCell
	Slope, Epsilon   string
}

// SplitCell is a value on a split.
type SplitCell = cell

// Cells returns the values of all splits that have one, with their intervals.
func Cells(v *rundir.SplitValues, of func(rundir.Split) *[2]float64) []SplitCell { return cells(v, of) }

// MetOf says whether a constraint is met.
func MetOf(o *rundir.Outcome, c *rundir.ConstraintOutcome) (text string, good bool) {
	b := newBound(o, c)
	return b.Met, b.Good
}

// WriteSweep writes the page of a sweep.
func WriteSweep(s *Sweep) error {
	return newPage("sweep", s.Title, "Sweep · "+filepath.Base(s.Dir), s.Version, s.Dir, s).write(filepath.Join(s.Dir, File))
}

// Status is the head of the page.
func (s *Sweep) Status() status { return status{Kind: s.Kind, Text: s.Headline, Lead: s.Lead} }

// Words splits a sentence into plain text and code.
func (s *Sweep) Words(text string) []word { return words(sentence(text)) }
