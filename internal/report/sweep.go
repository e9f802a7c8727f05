package report

import (
	"path/filepath"

	"ppal/internal/chart"
	"ppal/trainer/session/results"
)

// Sweep is the content of the page of a sweep.
type Sweep struct {
	Dir, Title, Version string
	Kind                string // good, warn, bad or open: the colour of the headline
	Headline, Lead      string
	Facts               []Fact
	Curve               *chart.Chart // the trade-off
	Points              []SweepPoint
	Objective, Measure  string
	Warnings            []string
	Commands            []Command
	Settings            string // sweep.yaml
	Data                []results.DataFile
}

// SweepPoint is the result for one bound.
type SweepPoint struct {
	Bound, Run, Page string // Page is the relative link to the page of the run; "": none
	Colour           string // good, warn or bad
	Met              string
	Measure          []Cell // of the swept measure
	Objective        []Cell
	Slope, Epsilon   string
}

// Stand returns the standing of a constraint in words, and the colour of the outcome's rating. If
// another constraint has a worse rating, the words say so.
func Stand(o *results.Outcome, c *results.ConstraintOutcome) (text, colour string) {
	own, all := o.Standing(c), o.Rating()
	switch {
	case own.Rating() == all:
		text = own.String()
	case all == results.Unmet:
		text = "another bound is not met"
	default:
		text = "another bound is met on the training rows only"
	}
	return sentenceCase(text), kindOf(all)
}

// WriteSweep writes the page of a sweep.
func WriteSweep(s *Sweep) error {
	return newPage("sweep", s.Title, "Sweep · "+filepath.Base(s.Dir), s.Version, s.Dir, s).write(filepath.Join(s.Dir, File))
}

// Status is the head of the page.
func (s *Sweep) Status() Status {
	return Status{Kind: s.Kind, Text: s.Headline, Lead: s.Lead}
}

// Words splits a sentence into plain text and code.
func (s *Sweep) Words(text string) []word { return words(sentence(text)) }
