package study

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ppal/internal/chart"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/trainer/session/results"
)

// sweepSettings is the content of sweep.yaml: the sweep, the settings of its runs, and the origin.
type sweepSettings struct {
	Over    string             `yaml:"over"`
	Values  []string           `yaml:"values"` // the bounds, separated by spaces
	Method  string             `yaml:"method"`
	Dataset string             `yaml:"dataset"`
	File    string             `yaml:"file"`
	Version string             `yaml:"version"`
	Data    []results.DataFile `yaml:"data"`
}

// readSweepSettings reads the documents of sweep.yaml. It skips documents that are not mappings.
func readSweepSettings(text []byte) (f sweepSettings, err error) {
	for in := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		if err := in.Decode(&document); errors.Is(err, io.EOF) {
			return f, nil
		} else if err != nil {
			return f, err
		}
		if len(document.Content) > 0 && document.Content[0].Kind == yaml.MappingNode {
			if err := document.Decode(&f); err != nil {
				return f, err
			}
		}
	}
}

// ReportSweep writes the report.html of a sweep from the files of its directory.
func ReportSweep(dir SweepDir) error {
	text, err := os.ReadFile(dir.Settings())
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	f, err := readSweepSettings(text)
	if err != nil {
		return fmt.Errorf("sweep: %s: %w", dir.Settings(), err)
	}
	points, err := readSweepPoints(dir.points())
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return report.WriteSweep(sweepPage(dir, f, string(text), points))
}

// sweepPage returns the content of the page.
func sweepPage(dir SweepDir, f sweepSettings, text string, points []SweepPoint) *report.Sweep {
	s := &report.Sweep{Dir: string(dir), Title: f.Method + " on " + results.DataName(f.Dataset, f.File) + ": bounds on " + f.Over, Version: f.Version, Measure: f.Over, Settings: text, Data: f.Data,
		Kind: "open", Commands: []report.Command{{Purpose: "Write this page again from the directory", Line: "ppal report " + option.ShellWord(string(dir))}}}
	bounds := len(strings.Fields(strings.Join(f.Values, " ")))
	s.Facts = []report.Fact{{Name: "bounds", Value: fmt.Sprintf("%d of %d", len(points), max(bounds, len(points))), Note: map[bool]string{true: "finished", false: "finished so far"}[len(points) >= bounds]}}
	if len(points) == 0 {
		s.Headline = "No run has finished"
		return s
	}
	ratings, total := map[results.Rating]int{}, 0.0
	seen := map[string]bool{}
	for k := range points {
		p := &points[k]
		ratings[p.Rating()]++
		total += p.SecondsTotal
		for _, w := range p.Warnings {
			if !seen[w] {
				seen[w] = true
				s.Warnings = append(s.Warnings, "Bound "+strconv.FormatFloat(p.Bound, 'g', -1, 64)+": "+w)
			}
		}
		s.Points = append(s.Points, reportedPoint(dir, p))
	}
	s.Objective = points[0].Objective.Name
	s.Facts = append(s.Facts, report.Fact{Name: "time", Value: report.Duration(total), Note: "all runs"})
	first, last := &points[0], &points[len(points)-1]
	s.Lead = fmt.Sprintf("From the bound %g to the bound %g, %s on the training rows goes from %s to %s.", first.Bound, last.Bound, s.Objective,
		numberOrNone(first.Objective.Train), numberOrNone(last.Objective.Train))
	s.Kind, s.Headline = sweepHeadline(len(points), ratings)
	s.Curve = tradeOff(f.Over, s.Objective, points)
	return s
}

// sweepHeadline says how many of the points meet their bounds, with the colour.
func sweepHeadline(points int, ratings map[results.Rating]int) (kind, text string) {
	good, train := ratings[results.Good], ratings[results.TrainOnly]
	held := fmt.Sprintf("on the training rows, %d of them also on the held-out rows", good)
	if good == 0 {
		held = "on the training rows, none of them on all held-out rows"
	}
	switch met := good + train; {
	case good == points:
		return "good", fmt.Sprintf("All %d points meet their bounds", points)
	case met == points:
		return "warn", fmt.Sprintf("All %d points meet their bounds %s", points, held)
	case met == 0:
		return "bad", "No point meets all bounds"
	case train > 0:
		return "warn", fmt.Sprintf("%d of %d points meet their bounds %s", met, points, held)
	default:
		return "warn", fmt.Sprintf("%d of %d points meet their bounds", met, points)
	}
}

func numberOrNone(v *float64) string {
	if v == nil {
		return "no value"
	}
	return chart.Number(*v)
}

// reportedPoint returns a point for the page.
func reportedPoint(dir SweepDir, p *SweepPoint) report.SweepPoint {
	c := p.Swept()
	measured, objective := report.NewRow(p.Outcome, c), report.ObjectiveRow(p.Outcome)
	out := report.SweepPoint{Bound: c.Relation() + " " + strconv.FormatFloat(p.Bound, 'g', -1, 64), Run: p.Run, Epsilon: chart.Number(p.Epsilon),
		Measure: report.Cells(measured.Values), Objective: report.Cells(objective.Values)}
	out.Met, out.Colour = report.Stand(p.Outcome, c)
	if p.Slope != nil {
		out.Slope = chart.Number(*p.Slope)
	}
	// The run lies in the sweep's directory, so that its page has a relative link.
	if p.Run == filepath.Base(p.Run) && !strings.HasPrefix(p.Run, ".") {
		if _, err := os.Stat(filepath.Join(string(dir), p.Run, report.File)); err == nil {
			out.Page = p.Run + "/" + report.File
		}
	}
	return out
}

// tradeOff returns the objective over the swept measure, a line for each split.
func tradeOff(over, objective string, points []SweepPoint) *chart.Chart {
	c := &chart.Chart{Title: objective + " against " + over, Note: "Each mark is a bound. A band is the 95% interval of the objective on held-out rows.",
		PercentX: true, PercentY: true, Fixed: true, Views: []chart.View{{Axis: over}}}
	for _, split := range results.Splits() {
		var own chart.Curve
		type at struct {
			x, y, low, high float64
			note            string
		}
		var list []at
		band := false
		for k := range points {
			p := &points[k]
			x, y := p.Swept().Of(split), p.Objective.Of(split)
			if x == nil || y == nil {
				continue
			}
			here := at{*x, *y, *y, *y, "bound " + strconv.FormatFloat(p.Bound, 'g', -1, 64)}
			row := report.ObjectiveRow(p.Outcome)
			if i := row.IntervalOf(split); i != nil {
				here.low, here.high, band = i[0], i[1], true
			}
			list = append(list, here)
		}
		slices.SortStableFunc(list, func(a, b at) int { return cmp.Compare(a.x, b.x) })
		for _, p := range list {
			own.X, own.Y, own.Notes = append(own.X, p.x), append(own.Y, p.y), append(own.Notes, p.note)
			if band {
				own.Low, own.High = append(own.Low, p.low), append(own.High, p.high)
			}
		}
		if list == nil {
			continue
		}
		last := points[len(points)-1].Objective.Of(split)
		value := ""
		if last != nil {
			value = fmt.Sprintf("%.2f%%", 100**last)
		}
		c.Lines = append(c.Lines, chart.Line{Name: split.Word() + " rows", Color: string(split), Marked: true, Value: value})
		c.Views[0].Curves = append(c.Views[0].Curves, own)
		for _, p := range list { // measures and objectives that are not shares
			if p.x < -1 || p.x > 1 {
				c.PercentX = false
			}
			if p.y < 0 || p.y > 1 {
				c.PercentY = false
			}
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	return c
}
