package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"ppal/internal/bench"
)

func (a *app) listCases(cases []bench.Case) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range cases {
		about := c.About
		if c.Missing != "" {
			about += " (cannot run: " + c.Missing + ")"
		}
		fmt.Fprintf(w, "%s\t%s\n", c.Name, about)
	}
	return w.Flush()
}

func (a *app) printJSON(r *bench.Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", data)
	return err
}

// printReport prints the report as tables.
func (a *app) printReport(r *bench.Report) error {
	out := &failOnce{out: a.stdout}
	m := r.Machine
	fmt.Fprintf(out, "%s, %d cores; %d threads, %s kernels, %s\n\n", m.CPU, m.Cores, m.Threads, m.Kernels, m.Dtype)
	switch {
	case r.Growth != nil:
		printGrowth(out, r.Growth)
	case r.Memory != nil:
		printMemory(out, r.Memory)
	default:
		printTimes(out, r.Cases)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "\nnote: %s", n)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	return out.err
}

func printTimes(out io.Writer, cases []bench.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\trows x features x width\tfloor ms (quartiles)\tGFLOP/s\titeration ms (quartiles)\tratio")
	for _, c := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%s\t%.2f\n", c.Name, shape(c.Shape), medianQuartiles(c.Floor, c.FloorQuartiles), c.FloorGFLOPs,
			medianQuartiles(c.Iteration, c.IterationQuartiles), c.Ratio)
	}
	_ = w.Flush() // out keeps the error
	fmt.Fprintln(out)
	fmt.Fprintln(w, "case\tdata\tproducts\tconstraints\tallocations an iteration\tpeak memory")
	for _, c := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", c.Name, c.Data, products(c), c.Constraints, allocations(c.Allocations), mebibytes(c.PeakBytes))
	}
	_ = w.Flush()
	printComparisons(out, cases)
}

// printComparisons prints the other activities with which the cases were compared.
func printComparisons(out io.Writer, cases []bench.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	before := "\n"
	for _, c := range cases {
		for _, o := range c.Others {
			fmt.Fprintf(w, "%s%s\t%s\t%s ms\tratio %.2f\n", before, c.Name, o.Name, medianQuartiles(o.Time, o.Quartiles), o.Ratio)
			before = ""
		}
	}
	_ = w.Flush()
}

func printMemory(out io.Writer, cases []bench.Memory) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\trows x features x width\tdata\tpeak of the process\tafter loading\tbound\tallocations an iteration")
	for _, m := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, shape(m.Shape), m.Data, held(m.ProcessPeak, m.Bound), held(m.LoadedPeak, m.Bound),
			mebibytes(m.Bound), allocations(m.Allocations))
	}
	_ = w.Flush()
	for _, m := range cases {
		t := m.Terms
		fmt.Fprintf(out, "\n%s: bound = packed data %s + other rows as read %s + 4 x parameters %s + 1.3 x activations %s + %s\n", m.Name,
			mebibytes(t.Packed), mebibytes(t.OtherSplits), mebibytes(t.Parameters), mebibytes(t.Activations), mebibytes(t.Allowance))
	}
}

// held formats a peak and whether it is within its bound.
func held(peak, bound uint64) string {
	switch {
	case peak == 0:
		return "not measured"
	case peak > bound:
		return mebibytes(peak) + " (over)"
	}
	return mebibytes(peak) + " (met)"
}

func printGrowth(out io.Writer, g *bench.Growth) {
	fmt.Fprintf(out, "random images, %d features, %d hidden units, 10 classes\n\n", g.Features, g.Width)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "rows\titeration ms\tleast-squares line\t")
	for i, n := range g.Rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t\n", n, short(g.Iteration[i]), short(g.Intercept+g.Slope*float64(n)/1000))
	}
	_ = w.Flush()
	fmt.Fprintf(out, "\nline: %s ms + %s ms for 1,000 rows, R^2 = %.5f\n", short(g.Intercept), short(g.Slope), g.RSquared)
}

func shape(s bench.Shape) string {
	text := fmt.Sprintf("%d x %d x %d", s.Rows, s.Features, s.Width)
	if s.NonZeros > 0 {
		text += fmt.Sprintf(", %d non-zeros", s.NonZeros)
	}
	return text
}

// medianQuartiles formats a median with its quartiles.
func medianQuartiles(median float64, quartiles [2]float64) string {
	return fmt.Sprintf("%s (%s..%s)", significant(median), significant(quartiles[0]), significant(quartiles[1]))
}

// significant formats a number with at least three significant digits.
func significant(ms float64) string {
	places := 3
	for x := ms; x >= 1 && places > 0; x /= 10 {
		places--
	}
	return strconv.FormatFloat(ms, 'f', places, 64)
}

// products names the kind of products that ran, and the requested kind if it differs.
func products(r bench.Result) string {
	if r.AskedProducts == r.Products {
		return r.Products
	}
	return fmt.Sprintf("%s (%s)", r.Products, r.AskedProducts)
}

func allocations(a bench.Allocations) string { return fmt.Sprintf("%d, %d bytes", a.Count, a.Bytes) }

func mebibytes(n uint64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
