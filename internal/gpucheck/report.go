package gpucheck

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"ppal/cuda/driver"
)

// Limit is the longest time of a part.
const Limit = 10 * time.Minute

// Report is the content of the report file.
type Report struct {
	Version string       `json:"version"` // of this program
	When    time.Time    `json:"when"`
	Device  driver.Info  `json:"device"`
	Parts   []PartReport `json:"parts"`
}

// PartReport holds the results of a part.
type PartReport struct {
	Name    string   `json:"name"`
	Seconds float64  `json:"seconds"`
	Results []Result `json:"results"`
	Error   string   `json:"error,omitempty"` // why the part could not continue
}

// Run runs the parts in order, each within the limit, and calls after with the report of each.
func Run(ctx context.Context, parts []Part, o Options, after func(PartReport) error) error {
	for _, p := range parts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		began := time.Now()
		limited, stop := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("gpu-check: %s was not done after %v", p.Name, Limit))
		results, err := p.Run(limited, o)
		stop()
		r := PartReport{Name: p.Name, Seconds: time.Since(began).Seconds(), Results: finite(results)}
		if err != nil {
			r.Error = err.Error()
		}
		if err := after(r); err != nil {
			return err
		}
	}
	return nil
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

// Failures counts failed checks, and parts that could not continue.
func (r *Report) Failures() int {
	n := 0
	for _, p := range r.Parts {
		if p.Error != "" {
			n++
		}
		for _, c := range p.Results {
			if c.Status == Failed {
				n++
			}
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
	if p.Error != "" {
		fmt.Fprintf(w, "  %s stopped: %s\n", p.Name, p.Error)
	}
	return w.Flush()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
