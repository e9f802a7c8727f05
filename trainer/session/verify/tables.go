package verify

import (
	"fmt"
	"maps"
	"slices"

	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// classNames returns the names of the classes of a part.
func classNames(p *session.Part) (names []string) {
	for _, c := range p.Rows.Classes {
		names = append(names, c.Name)
	}
	return names
}

// rates compares the rates of a split, counted in one pass over the rows.
func (c *check) rates(p *session.Part, t *results.RateTable, scores []float64, e float64) {
	r, outputs, classes := c.report, c.in.Outputs(), len(p.Rows.Classes)
	section := string(p.Name) + " rates"
	decided, unsure := make([]int, len(p.Classes)), make([]bool, len(p.Classes))
	for i := range decided {
		own := scores[i*outputs:][:outputs]
		unsure[i] = unsureOf(own, e)
		if outputs == 1 {
			if own[0] > 0 {
				decided[i] = 1
			}
		} else {
			decided[i] = largestAt(own)
		}
	}
	count := func(rows []int) (table [][]mass, doubtful mass) {
		table = make([][]mass, classes)
		for k := range table {
			table[k] = make([]mass, classes)
		}
		for _, i := range rows {
			w := weightOf(p.Population, i)
			table[p.Classes[i]][decided[i]].add(w)
			if unsure[i] {
				doubtful.add(w)
			}
		}
		return table, doubtful
	}
	if !slices.Equal(t.Classes, classNames(p)) || len(t.Confusion) != classes {
		r.problem("%s: summary.json has the classes %q, the data have %q", section, t.Classes, classNames(p))
		return
	}
	r.exact(section, "rows", float64(t.Rows), float64(len(p.Classes)))
	compare := func(where string, reported results.Rates, rows []int) [][]mass {
		table, doubtful := count(rows)
		shares := sharesOf(table, t.Classes)
		for name := range reported {
			if _, ok := shares[name]; !ok {
				r.problem("%s: summary.json has a rate %s%s that the check does not know", section, where, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			counts := shares[name]
			v, ok := reported[name]
			switch {
			case !ok && counts[1].rows == 0:
			case !ok || counts[1].rows == 0 && doubtful.rows == 0:
				r.problem("%s: %s: summary.json and the check differ in whether there are rows", section, where+name)
			case counts[1].rows > 0:
				share := 2*doubtful.weight/counts[1].weight + 1e-12
				r.compare(section, fmt.Sprintf("rates.%s %s%s", p.Name, where, name), v.Value,
					number{counts[0].weight / counts[1].weight, share, true})
				r.compare(section, fmt.Sprintf("rows of rates.%s %s%s", p.Name, where, name), float64(v.Rows), number{float64(counts[1].rows), float64(doubtful.rows), true})
				if p.Population.Weights != nil {
					n := counts[1].effective()
					r.compare(section, fmt.Sprintf("effective rows of rates.%s %s%s", p.Name, where, name), v.Effective, number{n, 2*float64(doubtful.rows) + rounding*n, true})
				}
				if p.Name == results.Training {
					c.interval(section, fmt.Sprintf("interval of rates.%s %s%s", p.Name, where, name), v.Interval, nil, 0)
				} else {
					c.interval(section, fmt.Sprintf("interval of rates.%s %s%s", p.Name, where, name), v.Interval,
						clopperPearson(counts[0], counts[1], p.Population.Weights != nil), share)
				}
			}
		}
		return table
	}
	table := compare("", t.Overall, all(len(p.Classes)))
	_, doubtful := count(all(len(p.Classes)))
	for a, row := range t.Confusion {
		if len(row) != classes {
			r.problem("%s: the confusion matrix has %d numbers in row %d", section, len(row), a)
			continue
		}
		for d, n := range row {
			r.compare(section, fmt.Sprintf("confusion.%s[%d][%d]", p.Name, a, d), n, number{table[a][d].weight, doubtful.weight, true})
		}
	}
	if len(t.ByGroup) != len(p.Groups) {
		r.problem("%s: summary.json has %d groups, the data have %d", section, len(t.ByGroup), len(p.Groups))
		return
	}
	marked := results.RateTable{}
	for _, g := range t.ByGroup {
		g.Extremes = nil
		marked.ByGroup = append(marked.ByGroup, g)
	}
	marked.MarkExtremes(c.in.System.BoundGroups())
	for k, g := range p.Groups {
		if !maps.Equal(t.ByGroup[k].Extremes, marked.ByGroup[k].Extremes) {
			r.problem("%s: extremes of %s are %v in summary.json, and %v by the rates", section, g.Name, t.ByGroup[k].Extremes, marked.ByGroup[k].Extremes)
		}
		if t.ByGroup[k].Group != g.Name {
			r.problem("%s: summary.json has the group %q, the data have %q", section, t.ByGroup[k].Group, g.Name)
		}
		r.exact(section, fmt.Sprintf("rows of %s (%s)", g.Name, p.Name), float64(t.ByGroup[k].Rows), float64(len(g.Rows)))
		compare(g.Name+" ", t.ByGroup[k].Rates, g.Rows)
	}
}

// sharesOf returns the rates of a confusion matrix as hits and rows, by name.
func sharesOf(table [][]mass, classes []string) map[string][2]mass {
	var total, wrong mass
	actual, decided := make([]mass, len(table)), make([]mass, len(table))
	for a, row := range table {
		for d, n := range row {
			if total = total.plus(n); a != d {
				wrong = wrong.plus(n)
			}
			actual[a] = actual[a].plus(n)
			decided[d] = decided[d].plus(n)
		}
	}
	list := map[string][2]mass{results.ErrorRate: {wrong, total}}
	if len(table) == 2 {
		list[results.PositiveRate] = [2]mass{decided[1], total}
		list[results.TruePositiveRate] = [2]mass{table[1][1], actual[1]}
		list[results.FalsePositiveRate] = [2]mass{table[0][1], actual[0]}
		list[results.Precision] = [2]mass{table[1][1], decided[1]}
		return list
	}
	for k, class := range classes {
		list[results.RecallOf(class)] = [2]mass{table[k][k], actual[k]}
		list[results.PrecisionOf(class)] = [2]mass{table[k][k], decided[k]}
	}
	return list
}
