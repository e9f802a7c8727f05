package study

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"ppal/internal/config"
)

// Statistic is the mean and the standard deviation of a number over runs or folds. The deviation
// over a single one is 0.
type Statistic struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	N         int     `json:"seeds"`
}

// NewStatistic returns the statistic of values. Without values, N is 0 and there is no mean.
func NewStatistic(values []float64) Statistic {
	s := Statistic{N: len(values)}
	if s.N == 0 {
		return s
	}
	for _, v := range values {
		s.Mean += v / float64(s.N)
	}
	if s.N > 1 {
		sum := 0.0
		for _, v := range values {
			sum += (v - s.Mean) * (v - s.Mean)
		}
		if s.Deviation = math.Sqrt(sum / float64(s.N-1)); s.Deviation <= 1e-14*math.Abs(s.Mean) { // rounding of equal values
			s.Deviation = 0
		}
	}
	return s
}

// String returns text such as "0.34 ± 0.01", or "-" if there are no values.
func (s Statistic) String() string {
	mean, deviation := s.texts()
	if deviation == "" {
		return mean
	}
	return mean + " ± " + deviation
}

// texts returns the mean and the deviation as texts; "": there is no deviation.
func (s Statistic) texts() (mean, deviation string) {
	if s.N == 0 {
		return "-", ""
	}
	if s.N > 1 && s.Deviation != 0 {
		deviation = fmt.Sprintf("%.1g", s.Deviation)
	}
	return fmt.Sprintf("%.4g", s.Mean), deviation
}

// Best returns the smallest objective of a feasible record; false if no record is feasible.
func (r *ComparedRun) Best() (best float64, known bool) {
	best = math.Inf(1)
	for i := range r.Records {
		if r.feasible(&r.Records[i]) {
			best = min(best, r.Records[i].Objective)
		}
	}
	return best, !math.IsInf(best, 1)
}

// Markdown returns the table of the results, the settings and the search.
func (o *Compared) Markdown() string {
	var out strings.Builder
	s := o.Comparison
	fmt.Fprintf(&out, "# %s\n\nPrimal steps: %s.\nBudget of a run: %g %s. Seeds: %s. Mean ± standard deviation over the seeds.\n",
		s.Title, o.steps(), s.Budget.Amount, s.Budget.Kind, seedText(s.Seeds))
	fmt.Fprintf(&out, "%d run(s) at a time, each on %d thread(s). %s\n\n", s.workers(), s.threads(), o.judgedBy())
	writeMarkdown(&out, o.table())
	if differences, note := o.differences(); differences != nil {
		fmt.Fprintf(&out, "\nDifference from %s%s:\n\n", s.Contenders[0].Name, note)
		writeMarkdown(&out, differences)
	}
	o.eachRun(&out)
	o.settings(&out)
	o.search(&out)
	return out.String()
}

// latex returns the table of the results for LaTeX with the package booktabs.
func (o *Compared) latex() string {
	escape := strings.NewReplacer("\\", `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`, "{", `\{`, "}", `\}`, "~", `\textasciitilde{}`,
		"^", `\textasciicircum{}`, "<", `$<$`, ">", `$>$`, "±", `$\pm$`)
	table := o.table()
	var out strings.Builder
	fmt.Fprintf(&out, "%% %s, seeds %s\n\\begin{tabular}{l%s}\n\\toprule\n", o.Comparison.Title, seedText(o.Comparison.Seeds), strings.Repeat("r", len(table[0])-1))
	for k, row := range table {
		for i, cell := range row {
			row[i] = escape.Replace(cell)
		}
		fmt.Fprintf(&out, "%s \\\\\n", strings.Join(row, " & "))
		if k == 0 {
			out.WriteString("\\midrule\n")
		}
	}
	out.WriteString("\\bottomrule\n\\end{tabular}\n")
	return out.String()
}

// table returns the table of the results: a head, and a line for each method.
func (o *Compared) table() [][]string {
	columns := o.columns()
	head := []string{"method"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	table := [][]string{head}
	for _, m := range o.Comparison.Contenders {
		row := []string{m.Name}
		for _, c := range columns {
			row = append(row, o.cell(c, m.Name))
		}
		table = append(table, row)
	}
	return table
}

// writeMarkdown writes a table, whose first line is the head, in Markdown.
func writeMarkdown(out io.Writer, table [][]string) {
	for k, row := range table {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		if k == 0 {
			fmt.Fprintf(out, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
}

// writeColumns writes a table for a terminal, with a column for each line of the table.
func writeColumns(out io.Writer, table [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for k, title := range table[0] {
		if k > 0 {
			fmt.Fprint(w, title)
		}
		for _, row := range table[1:] {
			fmt.Fprint(w, "\t"+row[k])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to memory
}

// settings lists each method's given and chosen settings, and why runs failed.
func (o *Compared) settings(out *strings.Builder) {
	fmt.Fprint(out, "\nGiven and chosen settings:\n\n")
	for _, c := range o.Comparison.Contenders {
		values := o.chosen(c)
		var given []string
		for _, key := range slices.Sorted(maps.Keys(values)) {
			given = append(given, fmt.Sprintf("`--%s %s`", key, values[key]))
		}
		fmt.Fprintf(out, "- %s: %s\n", c.Name, strings.Join(given, " "))
		for _, r := range o.Of(c.Name) {
			if r.Failure != "" {
				fmt.Fprintf(out, "  - seed %d failed: %s\n", r.Seed, r.Failure)
			}
		}
		if names := o.edges(c.Name); names != nil {
			fmt.Fprintf(out, "  - the chosen %s is on the edge of the search: a wider grid (--tune) may have a better one\n", strings.Join(names, ", "))
		}
		if note := o.nearNote(c.Name); note != "" {
			fmt.Fprintf(out, "  - %s\n", note)
		}
	}
}

// chosen returns a contender's given settings with those that the search has chosen.
func (o *Compared) chosen(c Contender) config.Values {
	values := c.Values
	for _, t := range o.Search {
		if t.Chosen && t.Contender == c.Name {
			values = merged(values, t.Settings)
		}
	}
	return values
}

// nearNote counts the records at which near stationarity should have been measured and was not; it
// returns "" if there are none.
func (o *Compared) nearNote(contender string) string {
	asked, without, reason := 0, 0, ""
	for _, r := range o.Of(contender) {
		for i := range r.Records {
			at := &r.Records[i]
			if at.NearStationarity == nil && at.NearReason == "" {
				continue
			}
			asked++
			if at.NearReason != "" {
				without, reason = without+1, at.NearReason
			}
		}
	}
	if without == 0 {
		return ""
	}
	return fmt.Sprintf("near stationarity could not be measured at %d of %d records; the last reason: %s", without, asked, reason)
}

// search lists the points of the search.
func (o *Compared) search(out *strings.Builder) {
	if len(o.Search) == 0 {
		return
	}
	seeds := fmt.Sprintf("seed %d", o.Comparison.Seeds[0])
	if len(o.Comparison.Seeds) > 1 {
		seeds += fmt.Sprintf(", the best of each method, at most %d, also on seed %d", finalists, o.Comparison.Seeds[1])
	}
	fmt.Fprintf(out, "\nThe search ran on %s with the same budget. It ranks feasible points first, then by objective, %s. A grid grows where its best point lies on an edge.\n\n", seeds, map[bool]string{
		true: "both of the counted training decisions", false: "both as means over the last tenth of the records"}[o.onDecisions()])
	number := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	writeMarkdown(out, o.tried(number, func(t SearchPoint) (objective, violation string) { return "failed: " + t.Failure, "-" }))
}

// tried returns the table of the points of the search. number formats a number, and failed returns
// the cells of the objective and of the violation of a failed point.
func (o *Compared) tried(number func(float64) string, failed func(t SearchPoint) (objective, violation string)) [][]string {
	table := [][]string{{"method", "settings", "seed", "objective", "largest violation", "chosen"}}
	for _, t := range o.Search {
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
			texts = append(texts, key+" "+t.Settings[key])
		}
		objective, violation := number(t.Objective), number(t.MaxViolation)
		if t.Failure != "" {
			objective, violation = failed(t)
		}
		table = append(table, []string{t.Contender, strings.Join(texts, ", "), fmt.Sprint(t.Seed), objective, violation, map[bool]string{true: "yes"}[t.Chosen]})
	}
	return table
}
