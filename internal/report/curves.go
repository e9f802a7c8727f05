package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ppal/trainer"
)

const (
	mostPoints = 2000 // largest number of points of a curve
	fewPoints  = 1000 // the same for more than fewLines constraints
	fewLines   = 4
	mostLines  = 12 // largest number of constraints in a chart
)

// colors is the number of colours of lines; beyond, lines are dashed.
const colors = 6

// lineOf returns the appearance of the line k.
func lineOf(name string, k int) Line {
	return Line{Name: name, Color: fmt.Sprintf("c%d", k%colors), Dashed: k/colors%2 == 1}
}

// thin returns the first and the last record and an even selection of the others, at most most.
func thin(records []trainer.Record, most int) []trainer.Record {
	every := (len(records) + most - 2) / (most - 1)
	if every <= 1 {
		return records
	}
	var kept []trainer.Record
	for i := 0; i < len(records)-1; i += every {
		kept = append(kept, records[i])
	}
	return append(kept, records[len(records)-1])
}

// column returns a number of every record. of returns false if a record does not have the number.
func column(records []trainer.Record, of func(r *trainer.Record) (float64, bool)) []float64 {
	list := make([]float64, len(records))
	for i := range records {
		v, ok := of(&records[i])
		if !ok {
			v = math.NaN()
		}
		list[i] = v
	}
	return list
}

// axes are the horizontal axes of a run's charts.
func axes() []struct {
	Name string
	Of   func(r *trainer.Record) float64
} {
	return []struct {
		Name string
		Of   func(r *trainer.Record) float64
	}{
		{"iteration", func(r *trainer.Record) float64 { return float64(r.Iteration) }},
		{"seconds", func(r *trainer.Record) float64 { return r.Seconds }},
		{"gradient evaluations", func(r *trainer.Record) float64 { return float64(r.GradientEvaluations) }},
	}
}

// recordChart builds the charts of a run over all axes.
type recordChart struct {
	records []trainer.Record
	x       [][]float64 // of each axis
}

func (b *recordChart) chart(title, note string, log bool) *Chart {
	c := &Chart{Title: title, Note: note, Log: log}
	for _, a := range axes() {
		c.Views = append(c.Views, View{Axis: a.Name})
	}
	return c
}

// add adds a line unless no record has the number.
func (b *recordChart) add(c *Chart, l Line, of func(r *trainer.Record) (float64, bool)) {
	y := column(b.records, of)
	if !slices.ContainsFunc(y, func(v float64) bool { return !math.IsNaN(v) }) {
		return
	}
	c.Lines = append(c.Lines, l)
	for i := range c.Views {
		c.Views[i].Curves = append(c.Views[i].Curves, Curve{X: b.x[i], Y: y})
	}
}

// charts returns the charts of the records.
func (r *run) charts() (list []*Chart) {
	if len(r.records) == 0 {
		return nil
	}
	shown := r.shownConstraints()
	most := mostPoints
	if len(shown) > fewLines {
		most = fewPoints
	}
	b := &recordChart{records: thin(r.records, most)}
	for _, a := range axes() {
		b.x = append(b.x, column(b.records, func(r *trainer.Record) (float64, bool) { return a.Of(r), true }))
	}
	known := func(of func(r *trainer.Record) float64) func(r *trainer.Record) (float64, bool) {
		return func(r *trainer.Record) (float64, bool) { return of(r), true }
	}
	element := func(of func(r *trainer.Record) []float64, j int) func(r *trainer.Record) (float64, bool) {
		return func(r *trainer.Record) (float64, bool) {
			if v := of(r); j < len(v) {
				return v[j], true
			}
			return 0, false
		}
	}
	g := func(r *trainer.Record) []float64 { return r.Constraints }
	some := ""
	if len(shown) < r.constraints() {
		some = fmt.Sprintf(" The chart shows the %d constraints closest to their bounds, of %d.", len(shown), r.constraints())
	}

	c := b.chart("Objective", "The smooth objective that the method minimises, on the training rows; with bounds on decisions, the loss in the first round.", false)
	name := "objective"
	if r.details.Objective != "" && r.details.Objective != name {
		name += " (" + r.details.Objective + ")"
	}
	b.add(c, Line{Name: name, Color: "k"}, known(func(r *trainer.Record) float64 { return r.Objective }))
	c.Log = decades(c) >= 2
	list = append(list, c)

	c = b.chart("Violations", "How far each smooth constraint exceeds its bound; 0 is met."+some, true)
	for k, j := range shown {
		of := element(g, j)
		b.add(c, lineOf(r.constraintName(j), k), func(r *trainer.Record) (float64, bool) {
			v, ok := of(r)
			return max(0, v), ok
		})
	}
	list = append(list, c)

	c = b.chart("KKT residuals", "The three parts of the certificate. A solution has none of them.", true)
	b.add(c, lineOf("stationarity", 4), known(func(r *trainer.Record) float64 { return r.Stationarity }))
	b.add(c, lineOf("infeasibility", 0), known(func(r *trainer.Record) float64 { return r.Infeasibility }))
	b.add(c, lineOf("complementarity", 2), known(func(r *trainer.Record) float64 { return r.Complementarity }))
	list = append(list, c)

	c = b.chart("Multipliers", "The weight of each constraint: lambda, and dashed the auxiliary multiplier mu."+some, false)
	for k, j := range shown {
		l := lineOf(r.constraintName(j), k)
		b.add(c, l, element(func(r *trainer.Record) []float64 { return r.Multipliers }, j))
		l.Name, l.Dashed = "its mu", true
		b.add(c, l, element(func(r *trainer.Record) []float64 { return r.Auxiliary }, j))
	}
	list = append(list, c)

	c = b.chart("Step size", "The length of the primal step.", true)
	b.add(c, Line{Name: "step size", Color: "k"}, func(r *trainer.Record) (float64, bool) {
		if r.StepSize == nil {
			return 0, false
		}
		return *r.StepSize, true
	})
	list = append(list, c)

	c = b.chart("Error", "Counted decisions during training.", false)
	c.PercentY, c.Fixed = true, true
	for _, s := range []struct{ key, color, name string }{{"train_error", "train", "training rows"}, {"validation_error", "validation", "validation rows"}, {"test_error", "test", "test rows"}} {
		b.add(c, Line{Name: s.name, Color: s.color}, func(r *trainer.Record) (float64, bool) { return r.Measured(s.key) })
	}
	list = append(list, c)
	return slices.DeleteFunc(list, func(c *Chart) bool { return len(c.Lines) == 0 })
}

// decades returns the number of decades that the first view's values span; 0 if a value is not
// positive.
func decades(c *Chart) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, curve := range c.Views[0].Curves {
		for _, y := range curve.Y {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if !(lo > 0) || math.IsInf(hi, 0) {
		return 0
	}
	return math.Log10(hi / lo)
}

// constraints returns the number of smooth constraints.
func (r *run) constraints() int { return len(r.records[len(r.records)-1].Constraints) }

// shownConstraints returns the indices of the smooth constraints with a line: all, or those with
// the largest final values.
func (r *run) shownConstraints() []int {
	last := r.records[len(r.records)-1].Constraints
	all := make([]int, len(last))
	for j := range all {
		all[j] = j
	}
	if len(all) <= mostLines {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(last[b], last[a]) })
	all = all[:mostLines]
	slices.Sort(all)
	return all
}
