package decisions

import (
	"math"
	"slices"
)

// Outcome holds all runs of a comparison.
type Outcome struct {
	Options  Options
	Fits     []Fit
	Versions map[string]string // versions of the other libraries
}

// Row is the line of a contender in the table of a problem. Each slice has an element for every
// split.
type Row struct {
	Contender Contender // for ppal only the name
	Setting   Setting   // nil: ppal's defaults
	// At lists the values of the contender's chosen classifier on training, validation and test rows.
	At [3][]Measured
	// Met counts the splits on whose training decisions all bounds count as met.
	Met int
	// Seconds, CPU and Models are the medians of the splits' repeated runs.
	Seconds, CPU []float64
	Models       []float64
	// Excess is the contender's test error minus ppal's test error at equal measured gap. The
	// contender's error is the error of its best mixture that meets the bound on training rows up
	// to one row (see equalGap). A split without such a mixture has no element.
	Excess []float64
	// Unreached counts the splits without an element in Excess.
	Unreached int
	Notes     []string
	Failures  []string
}

// Table returns the lines of a problem: ppal first, then the other contenders. A contender that
// does not support the problem has no line.
func (o *Outcome) Table(p Problem) []Row {
	list := []Row{o.row(p, Contender{Name: Own, Deterministic: true}, nil)}
	for _, c := range o.Options.Contenders {
		if best, ok := chosen(p, c, o.Fits); ok {
			list = append(list, o.row(p, c, best))
		}
	}
	return list
}

// row collects the runs of a contender on all splits.
func (o *Outcome) row(p Problem, c Contender, best Setting) Row {
	r := Row{Contender: c, Setting: best}
	final := map[string]bool{}
	if best != nil {
		for _, s := range c.final(p, best) {
			final[s.Key()] = true
		}
	}
	for split := range uint64(o.Options.Splits) {
		runs := o.runs(p, c.Name, split+1)
		chosen := runs
		if best != nil {
			chosen = slices.DeleteFunc(slices.Clone(runs), func(f Fit) bool { return f.Setting.Key() != best.Key() })
		}
		var seconds, cpu []float64
		for _, f := range chosen {
			r.Notes = append(r.Notes, f.Notes...)
			if f.Failure != "" {
				r.Failures = append(r.Failures, f.Failure)
				continue
			}
			seconds, cpu = append(seconds, f.Seconds), append(cpu, f.CPU)
		}
		if len(seconds) == 0 {
			continue
		}
		first := chosen[0]
		point, _ := first.best(p)
		for s := range r.At {
			r.At[s] = append(r.At[s], measure(p.Kind, first.Totals, point.Accepted, s))
		}
		if p.met(first.Totals, point.Accepted) {
			r.Met++
		}
		r.Seconds, r.CPU, r.Models = append(r.Seconds, median(seconds)), append(r.CPU, median(cpu)), append(r.Models, float64(point.Models))
		if own := o.runs(p, Own, split+1); best != nil && len(own) > 0 {
			r.compare(p, own[0], slices.DeleteFunc(runs, func(f Fit) bool { return !final[f.Setting.Key()] }))
		}
	}
	slices.Sort(r.Notes)
	r.Notes = slices.Compact(r.Notes)
	return r
}

// compare appends the excess of a single split.
func (r *Row) compare(p Problem, own Fit, runs []Fit) {
	point, ok := own.best(p)
	if !ok {
		return
	}
	var points []Counts
	for _, f := range runs {
		for _, at := range f.Points {
			points = append(points, at.Accepted)
		}
	}
	// contenders within the tolerance of the bound are equal; if ppal violates the bound further,
	// ppal's own gap is the limit
	limit := measure(p.Kind, own.Totals, point.Accepted, 0).largest()
	for _, j := range p.judged(own.Totals, point.Accepted) {
		limit = max(limit, p.Bound+j.Tolerance)
	}
	mixture, ok := equalGap(p.Kind, own.Totals, points, limit)
	if !ok {
		r.Unreached++
		return
	}
	r.Excess = append(r.Excess, measure(p.Kind, own.Totals, mixture, 2).Error-measure(p.Kind, own.Totals, point.Accepted, 2).Error)
}

// runs returns the timed runs of a contender on a split.
func (o *Outcome) runs(p Problem, contender string, split uint64) []Fit {
	var list []Fit
	for _, f := range o.Fits {
		if f.solves(p) && f.Contender == contender && f.Split == split && f.Repeat > 0 {
			list = append(list, f)
		}
	}
	return list
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// meanError returns the mean and the standard error of the mean. The standard error of a single
// value is 0.
func meanError(values []float64) (mean, standard float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sum / (n - 1) / n)
}

// each returns a number of every element.
func each(list []Measured, value func(Measured) float64) []float64 {
	values := make([]float64, len(list))
	for i, m := range list {
		values[i] = value(m)
	}
	return values
}
