package decisions

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"ppal/internal/chart"
	"ppal/internal/rundir"
	"ppal/internal/study"
)

// title returns the title of the problem.
func (p Problem) title() string {
	data := map[string]string{"adult": "Adult", "bank": "Bank", "compas": "COMPAS"}[p.Data.Name]
	if p.Scores {
		data += ", scores of trees"
	}
	switch p.Kind {
	case demographicParity:
		return "demographic parity on " + data
	case equalizedOdds:
		return "equalized odds on " + data
	default:
		return fmt.Sprintf("false positives at most %g %% on %s", 100*p.Bound, data)
	}
}

// name returns the problem's name in file names.
func (p Problem) name() string {
	if p.Kind == neymanPearson {
		return fmt.Sprintf("%s-%s-%g", p.Kind, p.Data.Name, 100*p.Bound)
	}
	name := string(p.Kind) + "-" + p.Data.Name
	if p.Scores {
		name += "-scores"
	}
	return name
}

// Markdown returns the verdicts and the tables.
func (o *Outcome) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Constraints that hold on decisions\n\n`ppal reproduce decisions`, %d splits, %d thread(s) for every contender.\n", o.Options.Splits, o.Options.Threads)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(o.Versions)) {
		versions = append(versions, name+" "+o.Versions[name])
	}
	if versions != nil {
		fmt.Fprintf(&out, "%s.\n", strings.Join(versions, ", "))
	}
	fmt.Fprintf(&out, "\n## Verdicts\n\n%s", o.verdicts())
	for _, p := range o.Options.Problems {
		fmt.Fprintf(&out, "\n## %s\n\n%s", capital(p.title()), o.tableText(p))
	}
	var edges []string
	for _, p := range o.Options.Problems {
		edges = append(edges, o.edges(p)...)
	}
	if len(edges) > 0 {
		fmt.Fprintf(&out, "\n## Settings at an end of their grid\n\n")
		for _, e := range edges {
			fmt.Fprintf(&out, "- %s\n", e)
		}
	}
	return out.String()
}

// verdicts returns the table of the three claims, with a line for each problem.
func (o *Outcome) verdicts() string {
	var out strings.Builder
	fmt.Fprintf(&out, "- bounds: ppal meets the bound on the training decisions of every split, as `ppal train` judges it\n")
	fmt.Fprintf(&out, "- test error: ppal's test error is at most the best other's at equal measured gap on training rows, up to two standard errors\n")
	fmt.Fprintf(&out, "  (the numbers are the other's error minus ppal's, in points)\n")
	fmt.Fprintf(&out, "- time: ppal is at least %d times faster than %s in wall time (median and range over the splits)\n\n", speedup, exponentiatedGradient)
	out.WriteString("| problem | bounds | test error | time |\n|---|---|---|---|\n")
	for _, p := range o.Options.Problems {
		cell := func(v study.Verdict) string { return fmt.Sprintf("**%s**, %s", v.Ruling, v.Numbers) }
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", p.title(), cell(o.Bounds(p)), cell(o.Errors(p)), cell(o.times(p)))
	}
	return out.String()
}

// tableText returns the lines of a problem. Errors and bounded values are in per cent, as means
// over the splits, and errors have their standard error. For equalized odds the gap is the larger
// gap. The last column is Row.Excess.
func (o *Outcome) tableText(p Problem) string {
	value, failure := "gap", "error"
	if p.Kind == neymanPearson {
		value, failure = "rate", "missed"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| contender | met | train %s | %s | valid. %s | %s | test %s | %s | s | CPU s | models | at equal %s |\n",
		failure, value, failure, value, failure, value, value)
	out.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var settings, failed []string
	for _, r := range o.Table(p) {
		fmt.Fprintf(&out, "| %s |", r.label())
		if s := r.settings(p); s != "" {
			settings = append(settings, s)
		}
		for _, f := range r.Failures {
			failed = append(failed, r.Contender.Name+": "+f)
		}
		if len(r.Seconds) == 0 {
			fmt.Fprintf(&out, " not measured |%s\n", strings.Repeat(" |", 10))
			continue
		}
		fmt.Fprintf(&out, " %d of %d |", r.Met, o.Options.Splits)
		for s := range r.At {
			mean, standard := meanError(each(r.At[s], func(m Measured) float64 { return m.Error }))
			gap, _ := meanError(each(r.At[s], Measured.largest))
			fmt.Fprintf(&out, " %.2f ± %.2f | %.2f |", 100*mean, 100*standard, 100*gap)
		}
		fmt.Fprintf(&out, " %.2f | %.2f | %g | %s |\n", median(r.Seconds), median(r.CPU), median(r.Models), r.excess())
	}
	if settings != nil {
		fmt.Fprintf(&out, "\nSettings:\n")
		for _, s := range settings {
			fmt.Fprintf(&out, "- %s\n", s)
		}
	}
	for _, f := range failed {
		fmt.Fprintf(&out, "\nFailed: %s\n", f)
	}
	return out.String()
}

// label returns the name of a contender. The name marks a classifier that draws its decisions or
// needs the group.
func (r Row) label() string {
	text := r.Contender.Name
	switch {
	case r.Contender.NeedsGroup:
		text += " (draws, reads group)"
	case !r.Contender.Deterministic:
		text += " (draws)"
	}
	return text
}

// settings describes the chosen setting on the axes of the search.
func (r Row) settings(p Problem) string {
	if r.Setting == nil {
		return ""
	}
	text := r.Setting.Text(r.Contender.grid(p))
	if text == "" {
		return ""
	}
	return r.Contender.Name + ": " + text
}

// excess describes the difference from ppal at equal measured gap.
func (r Row) excess() string {
	switch {
	case r.Contender.Name == Own:
		return ""
	case len(r.Excess) == 0:
		return "not reached"
	}
	mean, standard := meanError(r.Excess)
	text := fmt.Sprintf("%s ± %.2f", signedPoints(mean), 100*standard)
	if r.Unreached > 0 {
		text += fmt.Sprintf(" (%d of %d)", len(r.Excess), len(r.Excess)+r.Unreached)
	}
	return text
}

// capital returns the text with a capital first letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Write writes summary.md and a picture for each problem.
func (o *Outcome) Write(dir string) error {
	for _, p := range o.Options.Problems {
		if err := o.picture(p).Write(filepath.Join(dir, "plots", p.name()+".svg")); err != nil {
			return err
		}
	}
	return rundir.WriteFile(filepath.Join(dir, "summary.md"), []byte(o.Markdown()))
}

// picture draws the test error against the measured value on test rows, with a point for each split
// and a dashed line at the bound.
func (o *Outcome) picture(p Problem) *chart.Picture {
	c := &chart.Chart{Title: "Error (%) against gap (points)", Note: "Test rows. Each point is a split of the data."}
	v := chart.View{Axis: "gap (points)"}
	if p.Kind == neymanPearson {
		c.Title, v.Axis = "Missed positives (%) against false positive rate (%)", "false positive rate (%)"
	}
	low, high := math.Inf(1), math.Inf(-1)
	for k, r := range o.Table(p) {
		l := chart.Line{Name: r.Contender.Name, Color: "k"}
		if k > 0 {
			l = chart.LineOf(r.Contender.Name, k-1)
		}
		l.Dot = true
		var points chart.Curve
		for _, m := range r.At[2] {
			points.X, points.Y = append(points.X, 100*m.largest()), append(points.Y, 100*m.Error)
		}
		if points.X != nil {
			low, high = min(low, slices.Min(points.Y)), max(high, slices.Max(points.Y))
			c.Lines, v.Curves = append(c.Lines, l), append(v.Curves, points)
		}
	}
	if low <= high {
		bound := 100 * p.Bound
		c.Lines = append(c.Lines, chart.Line{Name: fmt.Sprintf("bound %g", bound), Color: "muted", Dash: chart.Dashed})
		v.Curves = append(v.Curves, chart.Curve{X: []float64{bound, bound}, Y: []float64{low, high}})
	}
	c.Views = []chart.View{v}
	return &chart.Picture{Head: capital(p.title()), Charts: []*chart.Chart{c}}
}
