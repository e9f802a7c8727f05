package plots

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot/plotter"

	"ppal/trainer"
)

// Comparison holds the records of several methods from equal starts.
type Comparison struct {
	Title    string
	Methods  []Method // in the legend's order
	Measures []string // names of the measures to draw in addition
	Marks    []Mark   // horizontal lines
	Overview []string // the quantities of the overview, measures included; nil: the first four
}

// Method is one curve: the runs of a method, one for each seed.
type Method struct {
	Name string
	Runs [][]trainer.Record
}

// Mark is a horizontal line in the plot of one quantity.
type Mark struct {
	Quantity, Name string
	Value          float64
}

// WriteComparison draws <quantity>-<axis>.svg over iterations, seconds and gradient evaluations,
// and overview.svg, into the folder dir, which it creates. Each method has a line, the mean over
// its runs, and a band from the smallest to the largest value. Both are taken over short intervals
// of the axis, because methods that switch between objective and constraints zigzag from record to
// record. A quantity that no run has gets no plot. WriteComparison returns the names of the files.
func WriteComparison(dir string, c Comparison) ([]string, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	var tiles []*chart
	quantities := c.quantities()
	for _, q := range quantities {
		for _, a := range []axis{c.iterations(), seconds(), gradients()} {
			if err := f.saveChart(q.name+"-"+a.name+".svg", c.chart(q, a)); err != nil {
				return f.names, err
			}
		}
	}
	for _, q := range c.tiles(quantities) {
		picture := c.chart(q, c.tileAxis())
		picture.title = q.title // the full title does not fit
		tiles = append(tiles, picture)
	}
	if len(tiles) == 0 {
		return f.names, nil
	}
	err = f.saveTiles(tiles)
	return f.names, err
}

// compared is one number of a record.
type compared struct {
	name, title, label string
	logarithmic        bool
	of                 func(r *trainer.Record) (float64, bool)
}

func (c Comparison) quantities() []compared {
	known := func(of func(r *trainer.Record) float64) func(r *trainer.Record) (float64, bool) {
		return func(r *trainer.Record) (float64, bool) { return of(r), true }
	}
	measure := func(name string) func(r *trainer.Record) (float64, bool) {
		return func(r *trainer.Record) (float64, bool) { return r.Measured(name) }
	}
	all := []compared{
		{"objective", "objective", "f + r", true, known(func(r *trainer.Record) float64 { return r.Objective })},
		{"violation", "largest violation", "max(0, g)", true, known(func(r *trainer.Record) float64 { return r.MaxViolation })},
		{"stationarity", "stationarity", "residual", true, known(func(r *trainer.Record) float64 { return r.Stationarity })},
	}
	for _, m := range c.Measures {
		words := strings.ReplaceAll(m, "_", " ")
		all = append(all, compared{m, words, words, m == nearStationarity, measure(m)})
	}
	all = append(all, compared{"complementarity", "complementarity", "residual", true,
		known(func(r *trainer.Record) float64 { return r.Complementarity })})
	return slices.DeleteFunc(all, func(q compared) bool { return !c.has(q) })
}

// mostTiles is the number of plots in an overview without a list of quantities.
const mostTiles = 4

// tiles returns the quantities of the overview.
func (c Comparison) tiles(all []compared) []compared {
	if c.Overview == nil {
		return all[:min(len(all), mostTiles)]
	}
	return slices.DeleteFunc(slices.Clone(all), func(q compared) bool { return !slices.Contains(c.Overview, q.name) })
}

// tileAxis returns the axis of the overview: gradient evaluations, or, if the overview lists its
// quantities, epochs as in the paper.
func (c Comparison) tileAxis() axis {
	if c.Overview == nil {
		return gradients()
	}
	return c.iterations()
}

// iterations returns the axis of iterations, called epochs if each iteration is a pass over the
// rows.
func (c Comparison) iterations() axis {
	a := iterations()
	for _, m := range c.Methods {
		for _, run := range m.Runs {
			if last := run[len(run)-1]; last.Epoch != float64(last.Iteration) || last.Iteration == 0 {
				return a
			}
		}
	}
	a.label = "iteration (epoch)"
	return a
}

// nearStationarity is the measure that is drawn on a logarithmic axis.
const nearStationarity = "near_stationarity"

// has reports whether a record has the quantity.
func (c Comparison) has(q compared) bool {
	for _, m := range c.Methods {
		for _, run := range m.Runs {
			for i := range run {
				if _, ok := q.of(&run[i]); ok {
					return true
				}
			}
		}
	}
	return false
}

// chart returns the chart of a quantity of every method over an axis.
func (c Comparison) chart(q compared, a axis) *chart {
	picture := &chart{title: fmt.Sprintf("%s\n%s", c.Title, q.title), axis: a.label, label: q.label, logarithmic: q.logarithmic}
	for k, m := range c.Methods {
		var runs []plotter.XYs
		for _, records := range m.Runs {
			var run plotter.XYs
			for i := range records {
				if y, ok := q.of(&records[i]); ok {
					run = append(run, plotter.XY{X: a.of(&records[i]), Y: y})
				}
			}
			if len(run) > 0 {
				runs = append(runs, run)
			}
		}
		line := meanAndRange(runs)
		line.name, line.style = m.Name, constraintStyle(k)
		picture.curves = append(picture.curves, line)
	}
	for _, m := range c.Marks {
		if m.Quantity == q.name {
			picture.levels = append(picture.levels, level{m.Name, m.Value})
		}
	}
	if q.name == "objective" {
		picture.logarithmic = picture.decades() >= 1
	}
	return picture.finish()
}

const (
	stretches = 100 // largest number of intervals of an axis
	// gridPoints is the number of points of the common grid, for runs that were recorded at
	// different points; the grid is finer than the intervals.
	gridPoints = 400
)

// meanAndRange returns the mean of the runs and the range between their smallest and largest
// values, over intervals of the axis. The runs' own points are used if they agree; otherwise the
// runs are interpolated linearly on a grid over the range that all runs cover.
func meanAndRange(runs []plotter.XYs) curve {
	var c curve
	if len(runs) == 0 {
		return c
	}
	places := sharedPlaces(runs)
	var low, high plotter.XYs
	for _, stretch := range divide(places) {
		x, sum, least, most := 0.0, 0.0, math.Inf(1), math.Inf(-1)
		for _, place := range stretch {
			x += place / float64(len(stretch))
			for _, run := range runs {
				y := interpolate(run, place)
				sum, least, most = sum+y, min(least, y), max(most, y)
			}
		}
		c.points = append(c.points, plotter.XY{X: x, Y: sum / float64(len(runs)*len(stretch))})
		low, high = append(low, plotter.XY{X: x, Y: least}), append(high, plotter.XY{X: x, Y: most})
	}
	if len(low) > 1 && !slices.Equal(low, high) {
		slices.Reverse(high)
		c.band = append(low, high...)
	}
	return c
}

// divide splits points into intervals; the first and the last point are intervals of their own.
func divide(places []float64) [][]float64 {
	n := len(places)
	if n <= 2 {
		return slices.Collect(slices.Chunk(places, 1))
	}
	all := [][]float64{places[:1]}
	all = slices.AppendSeq(all, slices.Chunk(places[1:n-1], (n-2+stretches-3)/(stretches-2)))
	return append(all, places[n-1:])
}

func sharedPlaces(runs []plotter.XYs) []float64 {
	first := runs[0]
	same := !slices.ContainsFunc(runs, func(run plotter.XYs) bool {
		return !slices.EqualFunc(run, first, func(a, b plotter.XY) bool { return a.X == b.X })
	})
	var places []float64
	if same {
		for i, at := range first {
			if every := (len(first) + mostPoints - 1) / mostPoints; i%every == 0 || i == len(first)-1 {
				places = append(places, at.X)
			}
		}
		return places
	}
	lo, hi := first[0].X, first[len(first)-1].X
	for _, run := range runs {
		lo, hi = max(lo, run[0].X), min(hi, run[len(run)-1].X)
	}
	if hi <= lo {
		return []float64{lo}
	}
	for i := range gridPoints {
		places = append(places, lo+(hi-lo)*float64(i)/(gridPoints-1))
	}
	return places
}

// interpolate returns the run's value at x; before its first and after its last point, the value of
// that point.
func interpolate(run plotter.XYs, x float64) float64 {
	i := sort.Search(len(run), func(i int) bool { return run[i].X >= x })
	switch {
	case i == 0:
		return run[0].Y
	case i == len(run):
		return run[i-1].Y
	case run[i].X == x:
		return run[i].Y
	}
	a, b := run[i-1], run[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}
