package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"ppal/internal/experiment"
	"ppal/internal/rundir"
)

// printTable is the run's last word, on stdout.
func (s *session) printTable(sum rundir.Summary, f experiment.Final) error {
	out := &failOnce{out: s.stdout}
	fmt.Fprintf(out, "%s on %s, %s: %d iterations in %s s (%s)\n\n",
		s.cfg.Method.Method, s.cfg.Dataset, s.cfg.Data.Problem, sum.Iterations, short(sum.Seconds), sum.Status)
	s.printClasses(out, sum, f)
	c := sum.Certificate
	kinks := "" // the subdifferential there is not known whole
	if c.UpperBound {
		kinks = "at most "
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nobjective\t%s\n", short(sum.Objective))
	fmt.Fprintf(w, "violation\t%s (%s counts as met)\n", short(sum.MaxViolation), short(s.cfg.FeasibilityTolerance))
	fmt.Fprintf(w, "certificate\tepsilon %s (stationarity %s%s, feasibility %s, complementarity %s)\n",
		short(c.Epsilon), kinks, short(c.Stationarity), short(c.Feasibility), short(c.Complementarity))
	if sum.OutputIteration != sum.Iterations {
		fmt.Fprintf(w, "output\titeration %d (--output %s)\n", sum.OutputIteration, s.cfg.Output)
	}
	fmt.Fprintf(w, "memory\t%d MB at most\n", sum.PeakBytes>>20)
	if len(sum.Warnings) == 0 {
		fmt.Fprintf(w, "warnings\tnone\n")
	}
	for i, warning := range sum.Warnings {
		fmt.Fprintf(w, "%s\t%s\n", []string{"warnings", ""}[min(i, 1)], warning)
	}
	fmt.Fprintf(w, "files\t%s\n", s.dir)
	if err := w.Flush(); err != nil {
		return err
	}
	return out.err
}

// printClasses prints a line for each class, the objective's first.
func (s *session) printClasses(out io.Writer, sum rundir.Summary, f experiment.Final) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "class\tloss\tbound\tmet\tmultiplier\terror on training rows\ton test rows")
	for k, class := range s.trial.Info().Classes {
		bound, met, multiplier := "-", "objective", "-"
		if j := k - 1; j >= 0 {
			bound, met, multiplier = short(sum.Bounds[j]), "yes", short(sum.Certificate.Nu[j])
			if over := sum.Constraints[j]; over > s.cfg.FeasibilityTolerance {
				met = "no, " + short(over) + " over"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			class.Name, short(f.ClassLoss[k]), bound, met, multiplier, percent(f.TrainError[k]), percent(f.TestError[k]))
	}
	_ = w.Flush() // out keeps the error
}

// short is a number for people.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// rounded is x with the digits that short shows.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(short(x), 64)
	if err != nil {
		panic(err) // short writes numbers
	}
	return y
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// failOnce keeps the first error of a writer.
type failOnce struct {
	out io.Writer
	err error
}

func (f *failOnce) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.out.Write(p)
	f.err = err
	return n, err
}
