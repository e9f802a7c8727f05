package report

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/chart"
	"ppal/trainer"
)

// PlottedRun holds the data of the charts of a run's records.
type PlottedRun struct {
	Title     string
	Records   []trainer.Record
	Objective string // the name of f: the first class's name
	// Constraints are the names of g_1..g_m, and Bounded the same with their bounds.
	Constraints, Bounded []string
	Bounds               []float64 // kappa, one for each constraint
}

const (
	mostPoints = 2000 // largest number of points of a curve
	fewPoints  = 1000 // the same for more than fewLines constraints
	fewLines   = 4
)

// WritePlots writes the pictures of the records into the folder dir, which it creates: objective,
// violations, residuals and multipliers over iterations and over seconds, <name>-<axis>.svg, and
// all four in overview.svg. A quantity that the method does not have gets no picture. Write returns
// the names of the files.
func WritePlots(dir string, run PlottedRun) ([]string, error) {
	f := &folder{dir: dir}
	charts := named(run.Charts(), "objective", "violations", "residuals", "multipliers")
	if err := f.writeCharts(run.Title, charts, axes()[:2]); err != nil {
		return f.names, err
	}
	err := f.writeOverview(run.Title, charts, 0)
	return f.names, err
}

// Charts returns the charts of the records over all axes, without those that no record has.
func (run *PlottedRun) Charts() []*chart.Chart {
	if len(run.Records) == 0 {
		return nil
	}
	b := newBuilder(run)
	list := []*chart.Chart{b.objective(), b.violations(), b.residuals(), b.multipliers(), b.steps(), b.errors()}
	return slices.DeleteFunc(list, func(c *chart.Chart) bool { return len(c.Lines) == 0 })
}

// builder builds the charts of a run.
type builder struct {
	run     *PlottedRun
	records []trainer.Record // a selection
	x       [][]float64      // of each axis
	shown   []int            // the constraints with a line
	some    string           // says that some constraints have no line
	sampled string           // says that the values are of a sample of the rows
}

func newBuilder(run *PlottedRun) *builder {
	b := &builder{run: run, shown: run.shown()}
	most := mostPoints
	if len(b.shown) > fewLines {
		most = fewPoints
	}
	b.records = thin(run.Records, most)
	for _, a := range axes() {
		b.x = append(b.x, always(a.value).column(b.records))
	}
	if all := len(run.last().Constraints); len(b.shown) < all {
		b.some = fmt.Sprintf(" The chart shows the %d constraints closest to their bounds, of %d.", len(b.shown), all)
	}
	if rows := run.last().Sample; rows > 0 {
		b.sampled = fmt.Sprintf(" All points but the last measure a random sample of each split, of %d training rows.", rows)
	}
	return b
}

func (run *PlottedRun) last() *trainer.Record { return &run.Records[len(run.Records)-1] }

// shown returns the indices of the constraints with a line: all, or those with the largest final
// values.
func (run *PlottedRun) shown() []int {
	last := run.last().Constraints
	return largest(len(last), func(j int) float64 { return last[j] })
}

// name returns the name of constraint j in a list, which may be shorter.
func name(list []string, j int) string {
	if j < len(list) {
		return list[j]
	}
	return fmt.Sprintf("constraint %d", j+1)
}

func (b *builder) chart(name, title, note string, log bool) *chart.Chart {
	c := &chart.Chart{Name: name, Title: title, Note: note, Log: log}
	for _, a := range axes() {
		c.Views = append(c.Views, chart.View{Axis: a.label})
	}
	return c
}

// add adds a line unless no record has the number.
func (b *builder) add(c *chart.Chart, l chart.Line, value number) bool {
	y := value.column(b.records)
	if !slices.ContainsFunc(y, func(v float64) bool { return !math.IsNaN(v) }) {
		return false
	}
	c.Lines = append(c.Lines, l)
	for i := range c.Views {
		c.Views[i].Curves = append(c.Views[i].Curves, chart.Curve{X: b.x[i], Y: y})
	}
	return true
}

func constraintPlots(r *trainer.Record) []float64 { return r.Constraints }

// objective draws f and the bounded values g + kappa, with the bounds.
func (b *builder) objective() *chart.Chart {
	c := b.chart("objective", "Objective", "The smooth objective that the method minimises, on the training rows; with bounds on decisions, the loss in the first round.", false)
	line := chart.Line{Name: "objective", Color: "k"}
	if b.run.Objective != "" && b.run.Objective != line.Name {
		line.Name += " (" + b.run.Objective + ")"
	}
	b.add(c, line, always(func(r *trainer.Record) float64 { return r.Objective }))
	for k, j := range b.shown {
		if j >= len(b.run.Bounds) {
			continue
		}
		bound, g := b.run.Bounds[j], element(constraintPlots, j)
		c.Title = "Objective and bounded values"
		b.add(c, chart.LineOf(name(b.run.Constraints, j), k), func(r *trainer.Record) (float64, bool) {
			v, known := g(r)
			return v + bound, known
		})
		if !slices.ContainsFunc(c.Levels, func(l chart.Level) bool { return l.Value == bound }) {
			c.Levels = append(c.Levels, chart.Level{Name: fmt.Sprintf("bound %g", bound), Value: bound})
		}
	}
	c.Note += b.some + b.sampled
	c.Log = c.Decades() >= 1
	return c
}

func (b *builder) violations() *chart.Chart {
	c := b.chart("violations", "Violations", "How far each smooth constraint exceeds its bound; 0 is met."+b.some+b.sampled, true)
	for k, j := range b.shown {
		g := element(constraintPlots, j)
		b.add(c, chart.LineOf(name(b.run.Bounded, j), k), func(r *trainer.Record) (float64, bool) {
			v, known := g(r)
			return max(0, v), known
		})
	}
	return c
}

func (b *builder) residuals() *chart.Chart {
	c := b.chart("residuals", "KKT residuals", "The three parts of the certificate. A solution has none of them."+b.sampled, true)
	if b.sampled != "" {
		c.Note += " The last stationarity is of this sample, too."
	}
	b.add(c, chart.LineOf("stationarity", 4), always(func(r *trainer.Record) float64 { return r.Stationarity }))
	b.add(c, chart.LineOf("infeasibility", 0), always(func(r *trainer.Record) float64 { return r.Infeasibility }))
	b.add(c, chart.LineOf("complementarity", 2), always(func(r *trainer.Record) float64 { return r.Complementarity }))
	return c
}

// multipliers draws lambda, and mu dashed if the method has it.
func (b *builder) multipliers() *chart.Chart {
	c := b.chart("multipliers", "Multipliers", "The weight of each constraint, lambda", false)
	auxiliary := false
	for k, j := range b.shown {
		l := chart.LineOf(name(b.run.Constraints, j), k)
		b.add(c, l, element(func(r *trainer.Record) []float64 { return r.Multipliers }, j))
		l.Name, l.Dash, l.Unlisted = "its mu", chart.Dashed, true
		auxiliary = b.add(c, l, element(func(r *trainer.Record) []float64 { return r.Auxiliary }, j)) || auxiliary
	}
	if auxiliary {
		c.Note += "; dashed the auxiliary multiplier mu"
	}
	c.Note += "." + b.some
	return c
}

func (b *builder) steps() *chart.Chart {
	c := b.chart("steps", "Step size", "The length of the primal step.", true)
	b.add(c, chart.Line{Name: "step size", Color: "k"}, func(r *trainer.Record) (float64, bool) {
		if r.StepSize == nil {
			return 0, false
		}
		return *r.StepSize, true
	})
	return c
}

func (b *builder) errors() *chart.Chart {
	c := b.chart("errors", "Error", "Counted decisions during training."+b.sampled, false)
	c.PercentY, c.Fixed = true, true
	for _, s := range []struct{ key, color, name string }{
		{"train_error", "train", "training rows"}, {"validation_error", "validation", "validation rows"}, {"test_error", "test", "test rows"},
	} {
		b.add(c, chart.Line{Name: s.name, Color: s.color}, measure(s.key))
	}
	return c
}

// Multipliers returns the charts of lambda and mu, and of |lambda - mu|, over the iterations of a
// run whose method has both.
func Multipliers(records []trainer.Record) []*chart.Chart {
	run := &PlottedRun{Records: records}
	b := newBuilder(run)
	values := b.multipliers().Over(0)
	gaps := b.chart("gaps", "Gap of the multipliers", "The distance of each lambda from its mu.", true)
	for k, j := range b.shown {
		b.add(gaps, chart.LineOf(name(nil, j), k), func(r *trainer.Record) (float64, bool) {
			if j >= len(r.Multipliers) || j >= len(r.Auxiliary) {
				return 0, false
			}
			return math.Abs(r.Multipliers[j] - r.Auxiliary[j]), true
		})
	}
	return []*chart.Chart{values, gaps.Over(0)}
}
