package gpucheck

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ppal/internal/cuda/driver"
)

// Report counts and prints the results.
type Report struct {
	Device driver.Info
	Parts  []PartReport
}

// PartReport holds the results of a part.
type PartReport struct {
	Name    string
	Seconds float64
	Results []Result
}

// Line is a line of the report file: the first line describes the device, every other line is a
// result.
type Line struct {
	Version string       `json:"version,omitempty"` // of this program
	When    time.Time    `json:"when,omitzero"`
	Device  *driver.Info `json:"device,omitempty"`
	Part    string       `json:"part,omitempty"`
	Case    string       `json:"case,omitempty"`
	Seconds float64      `json:"seconds,omitempty"` // of the case, with its process
	*Result
}

// Run runs the cases of the parts in order. It calls each with every case's results as soon as the
// case has ended, and after with the report of each part. A case that fails, crashes or exceeds its
// limit is a failed result, and the next case runs.
func Run(ctx context.Context, parts []Part, o Options, each func([]Line) error, after func(PartReport) error) error {
	for _, p := range parts {
		began := time.Now()
		r := PartReport{Name: p.Name}
		for _, c := range p.Cases {
			if !o.selects(p, c) {
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			caseBegan := time.Now()
			results := finite(runCase(ctx, p, c, o))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			seconds := time.Since(caseBegan).Seconds()
			o.Log("%s: %s: %d results, %d failed (%.1f s)", p.Name, c.Name, len(results), failures(results), seconds)
			r.Results = append(r.Results, results...)
			if err := each(lines(p.Name, c.Name, seconds, results)); err != nil {
				return err
			}
		}
		if p.Finish != nil {
			last := finite(p.Finish(r.Results))
			r.Results = append(r.Results, last...)
			if err := each(lines(p.Name, "", 0, last)); err != nil {
				return err
			}
		}
		r.Seconds = time.Since(began).Seconds()
		if err := after(r); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the report file's lines of a case.
func lines(part, name string, seconds float64, results []Result) (list []Line) {
	for i := range results {
		list = append(list, Line{Part: part, Case: name, Seconds: seconds, Result: &results[i]})
	}
	return list
}

// selects reports whether the options select a case.
func (o Options) selects(p Part, c Case) bool {
	return len(o.Cases) == 0 || slices.ContainsFunc(o.Cases, func(text string) bool { return strings.Contains(p.Name+" "+c.Name, text) })
}

// finite turns results whose values JSON cannot represent into failures that state the value.
func finite(results []Result) []Result {
	for i := range results {
		r := &results[i]
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
			r.Detail = fmt.Sprintf("the value is %v; %s", r.Value, r.Detail)
			r.Status, r.Value = Failed, 0
		}
	}
	return results
}

// Failures counts failed checks.
func (r *Report) Failures() int {
	n := 0
	for _, p := range r.Parts {
		n += failures(p.Results)
	}
	return n
}

func failures(results []Result) (n int) {
	for _, r := range results {
		if r.Status == Failed {
			n++
		}
	}
	return n
}

// WriteTable writes a part's results as a table.
func (p PartReport) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s (%.1f s)\n", p.Name, p.Seconds)
	for _, r := range p.Results {
		value, bound := "", ""
		if r.Status != NotRun {
			value = number(r.Value) + " " + r.Unit
		}
		if r.Bound != 0 {
			bound = "<= " + number(r.Bound)
			if r.Least {
				bound = ">= " + number(r.Bound)
			}
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", r.Name, r.Status, value, bound, r.Detail)
	}
	return w.Flush()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
