package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ppal/internal/report"
	"ppal/internal/rundir"
)

// write writes the outcome into the comparison's folder: results.jsonl, search.jsonl, plots, the
// curves of the plots as curves.csv, the table as summary.json, summary.tex and, as the last file,
// summary.md.
func (o *Compared) write(dir string) error {
	if err := o.writeResults(dir); err != nil {
		return err
	}
	if len(o.Search) > 0 {
		if err := o.writeSearch(dir); err != nil {
			return err
		}
	}
	pictures := o.pictures()
	if _, err := pictures.Write(filepath.Join(dir, "plots")); err != nil {
		return err
	}
	if err := rundir.WriteFile(filepath.Join(dir, "curves.csv"), pictures.CSV()); err != nil {
		return err
	}
	summary, err := o.JSON()
	if err != nil {
		return err
	}
	if err := rundir.WriteFile(filepath.Join(dir, "summary.json"), summary); err != nil {
		return err
	}
	if err := rundir.WriteFile(filepath.Join(dir, "summary.tex"), []byte(o.latex())); err != nil {
		return err
	}
	return rundir.WriteFile(filepath.Join(dir, "summary.md"), []byte(o.Markdown()))
}

// writeResults joins the records of all runs. Each line is a line of metrics.jsonl with the method
// and the seed in front.
func (o *Compared) writeResults(dir string) error {
	var all bytes.Buffer
	for _, r := range o.Runs {
		path := filepath.Join(dir, "runs", fmt.Sprintf("%s-seed%d.jsonl", r.Contender, r.Seed))
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		name, err := json.Marshal(r.Contender)
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		for line := range bytes.Lines(data) {
			fmt.Fprintf(&all, `{"method":%s,"seed":%d,%s`, name, r.Seed, line[1:])
		}
	}
	return rundir.WriteFile(filepath.Join(dir, "results.jsonl"), all.Bytes())
}

func (o *Compared) writeSearch(dir string) error {
	var all bytes.Buffer
	out := json.NewEncoder(&all)
	for _, t := range o.Search {
		if err := out.Encode(t); err != nil {
			return fmt.Errorf("compare: the search: %w", err)
		}
	}
	return rundir.WriteFile(filepath.Join(dir, searchFile), all.Bytes())
}

// Of returns the runs of a contender.
func (o *Compared) Of(contender string) []ComparedRun {
	var runs []ComparedRun
	for _, r := range o.Runs {
		if r.Contender == contender {
			runs = append(runs, r)
		}
	}
	return runs
}

// pictures returns the records to draw.
func (o *Compared) pictures() *report.PlottedComparison {
	c := &report.PlottedComparison{Title: o.Comparison.Title, Measures: o.Comparison.Measures, Overview: o.Comparison.Overview}
	if !o.onDecisions() { // else the curves of the smooth constraints do not judge the bounds
		c.Met = o.tolerance()
	}
	for _, contender := range o.Comparison.Contenders {
		m := report.PlottedMethod{Name: contender.Name}
		for _, r := range o.shown(contender.Name) {
			m.Runs = append(m.Runs, r.Records)
		}
		c.Methods = append(c.Methods, m)
	}
	return c
}

// shown returns the contender's runs to draw: the runs that did not fail, whose curves reach the
// end of the budget, or all runs if all failed.
func (o *Compared) shown(contender string) []ComparedRun {
	all := o.Of(contender)
	if ended := slices.DeleteFunc(slices.Clone(all), func(r ComparedRun) bool { return r.Failure != "" }); len(ended) > 0 {
		return ended
	}
	return all
}

// tolerance returns the violation up to which a smooth constraint counts as met.
func (o *Compared) tolerance() float64 { return o.Runs[0].Config.Session.Settings.FeasibilityTolerance }
