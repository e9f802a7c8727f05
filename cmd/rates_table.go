package cmd

import (
	"fmt"
	"io"
	"strconv"

	"ppal/internal/rates"
	"ppal/trainer/session"
)

// mostGroups is the largest number of groups in the table of rates.
const mostGroups = 24

// printRates prints the rates of every group on the rows of each split. With more than two classes,
// the rates are the recall and the precision of every class, and the error and the recalls of every
// group.
func printRates(out io.Writer, result *session.Result) {
	for _, split := range result.Splits {
		t := split.Rates
		if t == nil {
			continue
		}
		head := fmt.Sprintf("rates of decisions on %s rows, in percent", split.Name.Word())
		if split.Name != session.Training {
			head += ", with 95% intervals"
		}
		fmt.Fprintf(out, "\n%s\n", head)
		if len(t.Classes) != 2 {
			printClasses(out, t)
			continue
		}
		names := []string{"positive_rate", "tpr", "fpr", "error"}
		g := grid{append([]string{"group", "rows"}, names...)}
		line := func(name string, rows int, of map[string]session.Rate, extremes map[string]rates.Extreme) {
			cells := []string{name, strconv.Itoa(rows)}
			for _, n := range names {
				cells = append(cells, rateCell(of, n)+extreme(extremes[n]))
			}
			g = append(g, cells)
		}
		line("all rows", t.Rows, t.Overall, nil)
		name := groupNames(t)
		for _, k := range t.Shown(mostGroups) {
			group := &t.ByGroup[k]
			line(name(group.Group), group.Rows, group.Rates, group.Extremes)
		}
		g.print(out)
		printRest(out, t)
	}
}

// printRest prints the number of groups that a table of rates leaves out.
func printRest(out io.Writer, t *session.RateTable) {
	if n := len(t.ByGroup) - mostGroups; n > 0 {
		fmt.Fprintf(out, "and %d more groups, in summary.json\n", n)
	}
}

// mostRecalls is the largest number of classes whose recalls the table of groups shows.
const mostRecalls = 4

// printClasses prints the recall and the precision of every class, and the error and the recalls of
// every group.
func printClasses(out io.Writer, t *session.RateTable) {
	g := grid{{"class", "rows", "recall", "precision"}}
	for k, class := range t.Classes {
		rows := 0
		for _, n := range t.Confusion[k] {
			rows += n
		}
		g = append(g, []string{trimmed(class), strconv.Itoa(rows), rateCell(t.Overall, "recall["+class+"]"), rateCell(t.Overall, "precision["+class+"]")})
	}
	g.print(out)
	if len(t.ByGroup) == 0 {
		return
	}
	names := []string{"error"}
	for _, class := range t.Classes[:min(len(t.Classes), mostRecalls)] {
		names = append(names, "recall["+class+"]")
	}
	g = grid{{"group", "rows"}}
	for _, name := range names {
		g[0] = append(g[0], trimmed(name))
	}
	trim := groupNames(t)
	for _, k := range t.Shown(mostGroups) {
		group := &t.ByGroup[k]
		cells := []string{trim(group.Group), strconv.Itoa(group.Rows)}
		for _, name := range names {
			cells = append(cells, rateCell(group.Rates, name)+extreme(group.Extremes[name]))
		}
		g = append(g, cells)
	}
	fmt.Fprintln(out)
	g.print(out)
	printRest(out, t)
	if n := len(t.Classes) - mostRecalls; n > 0 {
		fmt.Fprintf(out, "the recalls of %d more classes by group are in summary.json\n", n)
	}
}

// rateCell formats a rate in percent with its interval.
func rateCell(of map[string]session.Rate, name string) string {
	rate, ok := of[name]
	if !ok {
		return "-"
	}
	text := fmt.Sprintf("%.1f", 100*rate.Value)
	if i := rate.Interval; i != nil {
		text += fmt.Sprintf(" (%.1f-%.1f)", 100*i[0], 100*i[1])
	}
	return text
}

// extreme marks the largest and the smallest rate of the groups of a bound.
func extreme(e rates.Extreme) string {
	return map[rates.Extreme]string{rates.Largest: " max", rates.Smallest: " min"}[e]
}

// groupNames returns a function that shortens the names of the shown groups, if the short names
// differ.
func groupNames(t *session.RateTable) func(string) string {
	short := map[string]bool{}
	for _, k := range t.Shown(mostGroups) {
		name := trimmed(t.ByGroup[k].Group)
		if short[name] {
			return func(name string) string { return name }
		}
		short[name] = true
	}
	return trimmed
}

// trimmed shortens the name of a group to the width of its column.
func trimmed(name string) string {
	const most = 20
	if text := []rune(name); len(text) > most {
		return string(text[:most-3]) + "..."
	}
	return name
}
