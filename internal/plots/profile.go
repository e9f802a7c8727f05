package plots

import (
	"math"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Profile is a picture of performance profiles (Dolan and More, Benchmarking Optimization Software
// with Performance Profiles, 2002).
type Profile struct {
	Title, Measure string // Measure is what a solution costs: evaluations, seconds
	Problems       int    // number of problems
	// Solvers has one element for each curve; the first one is drawn in black.
	Solvers []ProfileSolver
}

// ProfileSolver is a solver's curve: the share of the problems whose performance ratio is at most
// x.
type ProfileSolver struct {
	Name   string
	Ratios []float64 // of the solved problems, at least 1, in ascending order
}

// largestRatio is the right end of a profile. Larger ratios lie beyond the picture.
const largestRatio = 128

// WriteProfile draws the picture to a file, whose directory it creates.
func WriteProfile(path string, p Profile) error {
	f, err := newFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	c := &chart{title: p.Title, axis: p.Measure + " / fewest " + p.Measure + " of a solver", label: "share of problems", doubling: true, below: true}
	for i, s := range p.Solvers {
		line := objectiveStyle()
		if i > 0 {
			line = constraintStyle(i - 1)
		}
		c.curves = append(c.curves, curve{name: s.Name, style: line, points: s.staircase(p.Problems)})
	}
	return f.saveChart(filepath.Base(path), c.finish())
}

// staircase returns the corners of the curve. The x-axis has logarithms to the base 2.
func (s ProfileSolver) staircase(problems int) plotter.XYs {
	points := plotter.XYs{{X: 0, Y: 0}}
	share := 0.0
	for i, r := range s.Ratios {
		if r > largestRatio {
			break
		}
		x := math.Log2(r)
		points = append(points, plotter.XY{X: x, Y: share})
		share = float64(i+1) / float64(problems)
		points = append(points, plotter.XY{X: x, Y: share})
	}
	return append(points, plotter.XY{X: math.Log2(largestRatio), Y: share})
}

// doublings sets the ticks of an axis of exponents of 2.
type doublings struct{}

// Ticks implements plot.Ticker.
func (doublings) Ticks(min, max float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Ceil(min - slight); e <= max+slight; e++ {
		ticks = append(ticks, plot.Tick{Value: e, Label: strconv.FormatFloat(math.Exp2(e), 'g', -1, 64)})
	}
	return ticks
}
