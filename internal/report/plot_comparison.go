package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ppal/internal/chart"
	"ppal/trainer"
)

// PlottedComparison holds the records of several methods from equal starts.
type PlottedComparison struct {
	Title    string
	Methods  []PlottedMethod // in the legend's order
	Measures []string        // names of the measures to draw in addition
	Met      float64         // the largest violation that counts as met; 0: none to draw
	Overview []string        // the quantities of the overview, measures included; nil: the first four
}

// PlottedMethod is one curve: the runs of a method, one for each seed.
type PlottedMethod struct {
	Name string
	Runs [][]trainer.Record
}

// WritePlots writes <quantity>-<axis>.svg over iterations, seconds, gradient evaluations and, for
// mini-batches, epochs, and overview.svg, into the folder dir, which it creates. Write returns the
// names of the files.
func (c *PlottedComparison) Write(dir string) ([]string, error) {
	f := &folder{dir: dir}
	charts := c.Charts()
	if err := f.writeCharts(c.Title, charts, c.axes()); err != nil {
		return f.names, err
	}
	tiles, over := charts[:min(len(charts), mostTiles)], len(axes())-1 // gradient evaluations
	if c.Overview != nil {                                             // epochs as in the paper, which are iterations without mini-batches
		tiles, over = named(charts, c.Overview...), 0
		if last := len(c.axes()) - 1; last > len(axes())-1 {
			over = last
		}
	}
	err := f.writeOverview(c.Title, tiles, over)
	return f.names, err
}

// CSV returns the curves of the charts as lines of text: quantity, axis, method, place on the axis,
// median, smallest and largest value over the runs.
func (c *PlottedComparison) CSV() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	_ = w.Write([]string{"quantity", "axis", "method", "x", "median", "low", "high"}) // to memory
	for _, own := range c.Charts() {
		for _, view := range own.Views {
			for k, curve := range view.Curves {
				for i, x := range curve.X {
					low, high := curve.Y[i], curve.Y[i]
					if curve.Low != nil {
						low, high = curve.Low[i], curve.High[i]
					}
					_ = w.Write([]string{own.Name, view.Axis, own.Lines[k].Name, number(x), number(curve.Y[i]), number(low), number(high)})
				}
			}
		}
	}
	w.Flush()
	return out.Bytes()
}

// axes returns the axes of the charts of records, and the epochs if runs have mini-batches.
func (c *PlottedComparison) axes() []axis {
	list := axes()
	for _, m := range c.Methods {
		for _, run := range m.Runs {
			if last := run[len(run)-1]; last.Epoch > 0 && last.Epoch != float64(last.Iteration) {
				return append(list, axis{"epochs", "epoch", func(r *trainer.Record) float64 { return r.Epoch }})
			}
		}
	}
	return list
}

// mostTiles is the number of charts in an overview without a list of quantities.
const mostTiles = 4

// Charts returns a chart for each quantity that a run has, over all axes. Each method has a line,
// the median over its runs, and a band from the smallest to the largest value. Both are taken over
// short intervals of the axis, because methods that switch between objective and constraints zigzag
// from record to record.
func (c *PlottedComparison) Charts() []*chart.Chart {
	type quantity struct {
		name, title, note string
		log               bool
		value             number
	}
	all := []quantity{
		{"objective", "Objective", "The smooth objective on the training rows.", false, always(func(r *trainer.Record) float64 { return r.Objective })},
		{"violation", "Largest violation", "How far the worst smooth constraint exceeds its bound.", true, always(func(r *trainer.Record) float64 { return r.MaxViolation })},
		{"stationarity", "Stationarity", "The gradient that the multipliers do not balance.", true, always(func(r *trainer.Record) float64 { return r.Stationarity })},
	}
	for _, name := range c.Measures {
		words := strings.ReplaceAll(name, "_", " ")
		all = append(all, quantity{name, strings.ToUpper(words[:1]) + words[1:], "", false, measure(name)})
	}
	all = append(all, quantity{"complementarity", "Complementarity", "Multipliers times slack.", true,
		always(func(r *trainer.Record) float64 { return r.Complementarity })})
	var list []*chart.Chart
	for _, q := range all {
		own := &chart.Chart{Name: q.name, Title: q.title, Note: q.note}
		for _, a := range c.axes() {
			own.Views = append(own.Views, chart.View{Axis: a.label})
		}
		if c.epochs() {
			own.Views[0].Axis = "iteration (epoch)"
		}
		value := q.value
		if low, high, far := c.farStart(value); far && !q.log {
			value = func(r *trainer.Record) (float64, bool) {
				y, known := q.value(r)
				return y, known && r.Iteration > 0
			}
			own.Note = strings.TrimSpace(fmt.Sprintf("%s Without the start: %.3g to %.3g.", q.note, low, high))
		}
		for k, m := range c.Methods {
			curves := m.curves(value, c.axes())
			if curves == nil {
				continue
			}
			own.Lines = append(own.Lines, chart.LineOf(m.Name, k))
			for i := range own.Views {
				own.Views[i].Curves = append(own.Views[i].Curves, curves[i])
			}
		}
		if len(own.Lines) == 0 {
			continue
		}
		if q.name == "violation" && c.Met > 0 {
			own.Levels = []chart.Level{{Name: "counts as met", Value: c.Met}}
		}
		own.Log = q.log || own.Decades() >= 1
		list = append(list, own)
	}
	return list
}

// farStart returns the least and the largest value at the start of the runs, and whether all later
// values would take less than half of an axis with the start. With a record for each epoch, the
// first epoch does most of the work.
func (c *PlottedComparison) farStart(value number) (low, high float64, far bool) {
	const least = 3 // later records, for a curve of its own
	low, high = math.Inf(1), math.Inf(-1)
	from, to := low, high
	for _, m := range c.Methods {
		for _, run := range m.Runs {
			later := 0
			for i := range run {
				switch y, known := value(&run[i]); {
				case !known:
				case run[i].Iteration == 0:
					low, high = min(low, y), max(high, y)
				default:
					later, from, to = later+1, min(from, y), max(to, y)
				}
			}
			if later < least {
				return low, high, false
			}
		}
	}
	return low, high, low <= high && 2*(to-from) < max(to, high)-min(from, low)
}

// epochs reports whether each iteration of every run is a pass over the rows.
func (c *PlottedComparison) epochs() bool {
	for _, m := range c.Methods {
		for _, run := range m.Runs {
			if last := run[len(run)-1]; last.Epoch != float64(last.Iteration) || last.Iteration == 0 {
				return false
			}
		}
	}
	return true
}

// curves returns the method's curve over each axis; nil if no record has the number.
func (m *PlottedMethod) curves(value number, axes []axis) (list []chart.Curve) {
	for _, a := range axes {
		var runs []line
		for _, records := range m.Runs {
			var run line
			for i := range records {
				if y, known := value(&records[i]); known {
					run.x, run.y = append(run.x, a.value(&records[i])), append(run.y, y)
				}
			}
			if run.x != nil {
				runs = append(runs, run)
			}
		}
		if runs == nil {
			return nil
		}
		list = append(list, spread(runs))
	}
	return list
}

// line holds the points of a run, with increasing x.
type line struct{ x, y []float64 }

const (
	stretches = 200 // largest number of intervals of an axis
	// gridPoints is the number of points of the common grid, for runs that were recorded at
	// different points; the grid is finer than the intervals.
	gridPoints = 400
)

// spread returns the median of the runs and the range between their smallest and largest values,
// over intervals of the axis. The runs' own points are used if they agree; otherwise the runs are
// interpolated linearly on a grid over the range that all runs cover.
func spread(runs []line) chart.Curve {
	var c chart.Curve
	for _, stretch := range divide(sharedPlaces(runs)) {
		x := 0.0
		var values []float64
		for _, place := range stretch {
			x += place / float64(len(stretch))
			for _, run := range runs {
				values = append(values, run.at(place))
			}
		}
		slices.Sort(values)
		n := len(values)
		c.X, c.Y = append(c.X, x), append(c.Y, (values[(n-1)/2]+values[n/2])/2)
		c.Low, c.High = append(c.Low, values[0]), append(c.High, values[n-1])
	}
	if len(c.X) == 1 || slices.Equal(c.Low, c.High) {
		c.Low, c.High = nil, nil
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

// sharedPlaces returns the places at which the runs are compared.
func sharedPlaces(runs []line) []float64 {
	first := runs[0].x
	if !slices.ContainsFunc(runs, func(r line) bool { return !slices.Equal(r.x, first) }) {
		return first
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	for _, r := range runs {
		lo, hi = max(lo, r.x[0]), min(hi, r.x[len(r.x)-1])
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

// at returns the run's value at x by linear interpolation; before its first and after its last
// point, the value of that point.
func (l line) at(x float64) float64 {
	i := sort.SearchFloat64s(l.x, x)
	switch {
	case i == 0:
		return l.y[0]
	case i == len(l.x):
		return l.y[i-1]
	case l.x[i] == x:
		return l.y[i]
	}
	share := (x - l.x[i-1]) / (l.x[i] - l.x[i-1])
	return l.y[i-1] + share*(l.y[i]-l.y[i-1])
}
