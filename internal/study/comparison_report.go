package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppal/internal/chart"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/trainer"
)

// ReportComparison writes the report.html of a comparison from the files of its directory.
func ReportComparison(dir string) error {
	o, err := readCompared(dir)
	if err != nil {
		return err
	}
	return report.WriteComparison(o.report(dir))
}

// readCompared reads the finished runs of a comparison. Their settings are not resolved; Config has
// only the tolerance.
func readCompared(dir string) (*Compared, error) {
	f := &comparisonFolder{dir: dir}
	d, err := f.describe()
	if err != nil {
		return nil, err
	}
	s, err := d.comparison()
	if err != nil {
		return nil, fmt.Errorf("compare: %s: %w", f.study(), err)
	}
	o := &Compared{Comparison: s}
	if err := ReadJournal(filepath.Join(dir, searchFile), func(t SearchPoint) error { o.Search = append(o.Search, t); return nil }); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	for _, c := range s.Contenders {
		for _, seed := range s.Seeds {
			r, ok := f.Find(s.plan(c, seed, -1).part)
			if !ok {
				continue
			}
			r.Contender, r.Seed = c.Name, seed
			if r.Config.Session.Settings.FeasibilityTolerance, err = strconv.ParseFloat(c.Values["feasibility-tolerance"], 64); err != nil {
				r.Config.Session.Settings.FeasibilityTolerance = trainer.DefaultFeasibilityTolerance
			}
			o.Runs = append(o.Runs, *r)
		}
	}
	return o, nil
}

// report returns the content of the page.
func (o *Compared) report(dir string) *report.Comparison {
	s := o.Comparison
	c := &report.Comparison{Dir: dir, Title: s.Title, Version: s.Version, Data: s.Data}
	all := len(s.Contenders) * len(s.Seeds)
	c.Facts = []report.Fact{{Name: "methods", Value: strconv.Itoa(len(s.Contenders))}, {Name: "seeds", Value: strconv.Itoa(len(s.Seeds)), Note: seedText(s.Seeds)},
		{Name: "budget of a run", Value: chart.Number(s.Budget.Amount), Note: string(s.Budget.Kind)},
		{Name: "runs", Value: fmt.Sprintf("%d of %d", len(o.Runs), all), Note: map[bool]string{true: "finished", false: "finished so far"}[len(o.Runs) == all]},
		{Name: "threads of a run", Value: strconv.Itoa(s.threads())}}
	if len(o.Runs) == 0 {
		c.Headline = "No run has finished"
		return c
	}
	s.Measures = o.measured()
	columns := o.columns()
	for _, k := range columns {
		if !k.met {
			c.Columns = append(c.Columns, k.title)
		}
	}
	for _, contender := range s.Contenders {
		c.Methods = append(c.Methods, o.method(contender, columns))
	}
	c.Headline, c.Lead, c.Good = o.headline()
	c.Charts = o.pictures().Charts()
	c.Search = o.searchTable()
	c.Notes = []string{"The numbers are the mean ± the standard deviation over the seeds. " + o.judgedBy()}
	c.Commands = s.commands(dir)
	return c
}

// mostMeasures is the largest number of measures on the page.
const mostMeasures = 6

// measured returns the names of the measures of the test rows in the last records.
func (o *Compared) measured() []string {
	names := map[string]bool{}
	for _, r := range o.Runs {
		for name := range r.Last().Measures {
			if rest, ok := strings.CutPrefix(name, "test_"); ok && rest != "max_violation" && rest != "objective" {
				names[name] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(names))
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(measureRank(a), measureRank(b)) })
	return list[:min(len(list), mostMeasures)]
}

// measureRank orders the measures: the error, then gaps, then the others.
func measureRank(measure string) int {
	switch {
	case measure == "test_error":
		return 0
	case strings.Contains(measure, "gap"):
		return 1
	}
	return 2
}

// allMet reports whether all seeds of a contender have finished, and meet the bounds.
func (o *Compared) allMet(contender string) bool {
	runs := o.Of(contender)
	return len(runs) == len(o.Comparison.Seeds) && !slices.ContainsFunc(runs, func(r ComparedRun) bool { return !r.Met() })
}

// headline returns the result in words.
func (o *Compared) headline() (headline, lead string, good bool) {
	best, least, feasible := "", math.Inf(1), 0
	for _, c := range o.Comparison.Contenders {
		if !o.allMet(c.Name) {
			continue
		}
		feasible++
		f := o.Statistic(c.Name, o.objective)
		if f.Mean < least {
			best, least = c.Name, f.Mean
		}
	}
	if feasible == 0 {
		return "No method meets the bounds with every seed", "The table gives the largest amount by which a bound is missed.", false
	}
	lead = fmt.Sprintf("%d of %d methods meet the bounds at the end with every seed. Of these methods, %s has the smallest mean objective.", feasible, len(o.Comparison.Contenders), best)
	if feasible == 1 {
		lead = fmt.Sprintf("Of %d methods, only %s meets the bounds at the end with every seed.", len(o.Comparison.Contenders), best)
	}
	return fmt.Sprintf("%s: objective %s, and the bounds are met", best, chart.Number(least)), lead, true
}

// method returns a contender for the page.
func (o *Compared) method(c Contender, columns []comparedColumn) report.ComparedMethod {
	runs := o.Of(c.Name)
	met := 0
	m := report.ComparedMethod{Name: c.Name, Good: o.allMet(c.Name), Seeds: report.Table{Head: append([]string{"seed"}, o.runHead()...)}}
	for _, name := range m.Seeds.Head {
		m.Seeds.Text = append(m.Seeds.Text, slices.Contains([]string{"constraint", "bound", "met"}, name))
	}
	for _, r := range runs {
		if r.Failure != "" {
			m.Failures = append(m.Failures, fmt.Sprintf("Seed %d failed: %s", r.Seed, r.Failure))
		}
		if r.Met() {
			met++
		}
		for _, row := range o.runRows(&r) {
			m.Seeds.Rows = append(m.Seeds.Rows, append([]string{fmt.Sprint(r.Seed)}, row...))
		}
	}
	m.Met = fmt.Sprintf("met by %d of %d runs", met, len(runs))
	for _, k := range columns {
		if !k.met {
			cell := report.Mean{Mean: o.cell(k, c.Name)}
			if k.value != nil {
				cell.Mean, cell.Deviation = o.Statistic(c.Name, k.value).texts()
			}
			m.Cells = append(m.Cells, cell)
		}
	}
	values := merged(c.Values, nil)
	chosen := map[string]bool{}
	for _, t := range o.Search {
		if t.Chosen && t.Contender == c.Name {
			values = merged(values, t.Settings)
			for key := range t.Settings {
				chosen[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		note := ""
		if chosen[key] {
			note = "chosen by the search"
		}
		m.Settings = append(m.Settings, report.Fact{Name: key, Value: values[key], Note: note})
	}
	return m
}

// searchTable returns the points of the search; nil without a search.
func (o *Compared) searchTable() *report.Table {
	if len(o.Search) == 0 {
		return nil
	}
	table := o.tried(chart.Number, func(SearchPoint) (objective, violation string) { return "failed", "" })
	return &report.Table{Head: table[0], Rows: table[1:], Text: []bool{true, true, false, false, false, true}}
}

// commands returns the commands that repeat the comparison and write its page.
func (s *Comparison) commands(dir string) []report.Command {
	var list []report.Command
	if line := s.command(); line != "" {
		purpose := "Repeat the comparison in a new directory"
		if slices.ContainsFunc(s.Contenders, func(c Contender) bool { return c.Grid != nil }) {
			purpose += "; GRID is a file with the grids of study.yaml"
		}
		list = append(list, report.Command{Purpose: purpose, Line: line})
	}
	return append(list, report.Command{Purpose: "Write this page again from the directory", Line: "ppal report " + option.ShellWord(dir)})
}

// command returns the command line of the comparison, or "" if no command line gives the
// contenders: a reproduction has contenders of the same method.
func (s *Comparison) command() string {
	var names []string
	shared := maps.Clone(s.Contenders[0].Values)
	for _, c := range s.Contenders {
		if c.Values["method"] != c.Name {
			return ""
		}
		if c.Program == "" {
			names = append(names, c.Name)
		}
		for key, value := range shared {
			if c.Values[key] != value {
				delete(shared, key)
			}
		}
	}
	words := []string{"ppal", "compare", "--methods", strings.Join(names, ","), "--seeds", seedFlag(s.Seeds), "--budget", s.Budget.String()}
	flags := func(values map[string]string) (list []string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			texts := []string{values[key]}
			if key == "subject-to" {
				texts = option.SplitStatements(values[key])
			}
			for _, text := range texts {
				list = append(list, option.ShellWord("--"+key+"="+text))
			}
		}
		return list
	}
	delete(shared, "method")
	words = append(words, flags(shared)...)
	grid := false
	for _, c := range s.Contenders {
		if c.Program != "" {
			words = append(words, "--contender", option.ShellWord(c.Program))
		}
		for _, key := range slices.Sorted(maps.Keys(c.Values)) {
			if _, all := shared[key]; !all && key != "method" {
				words = append(words, "--set", option.ShellWord(c.Name+"."+key+"="+c.Values[key]))
			}
		}
		grid = grid || c.Grid != nil
	}
	if grid {
		words = append(words, "--tune", "GRID")
	}
	return strings.Join(append(words, "--out", "NEW"), " ")
}
