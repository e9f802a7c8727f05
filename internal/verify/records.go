package verify

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"ppal/internal/rates"
	"ppal/internal/statistics"
	"ppal/trainer"
	"ppal/trainer/session"
)

// recorded returns the errors of f and g of a record, which the training device computed from the
// scores.
func (c *check) recorded(scores []float64) slack {
	return slackOf(c.parts[0], scores, len(c.in.Constraints), scoreError(c.summary.Products)*largest(scores))
}

// recordTolerance is the relative tolerance of recorded values: of sums in float32.
const recordTolerance = 2e-6

// compareRecords compares the last record, and the record of the output, with the summary.
func (c *check) compareRecords() {
	s, r := &c.summary, c.report
	if len(c.records) == 0 {
		r.skip("the records: metrics.jsonl has none")
		return
	}
	last := c.records[len(c.records)-1]
	r.exact(sectionRecords, "iterations", float64(s.Iterations), float64(last.Iteration))
	for k := range c.records {
		one := &c.records[k]
		if one.MaxViolation != worst(one.Constraints) {
			r.problem("metrics.jsonl: the record of iteration %d has max_violation %v, and constraints of at most %v", one.Iteration, one.MaxViolation, worst(one.Constraints))
		}
	}
	if c.in.BoundsOn == session.OnDecisions {
		r.skip("the records against the summary: with bounds on decisions, records describe rounds with other shifts")
		return
	}
	for k := range c.records {
		if one := &c.records[k]; one.Iteration == s.OutputIteration && len(one.Constraints) == len(s.Constraints) {
			e := c.recorded(c.output.as(true, nil).scores(c.in.Parts[0].Features))
			compare := func(name string, reported, v, change float64) {
				r.compare(sectionRecords, fmt.Sprintf("%s of iteration %d", name, one.Iteration), reported, number{v, change + recordTolerance*(1+math.Abs(v)), true})
			}
			compare("objective", one.Objective, s.Objective, e.f)
			compare("max_violation", one.MaxViolation, s.MaxViolation, worst(e.g))
			for j, g := range one.Constraints {
				compare(fmt.Sprintf("constraints[%d]", j), g, s.Constraints[j], e.g[j])
			}
			return
		}
	}
	r.skip("the record of the output: metrics.jsonl has no record of iteration %d", s.OutputIteration)
}

// bestFeasible compares the best feasible record with the records and with its weights.
func (c *check) bestFeasible() error {
	s, r := &c.summary, c.report
	var best *trainer.Record
	for k := range c.records {
		if one := &c.records[k]; one.MaxViolation <= c.in.Tolerance && (best == nil || one.Objective < best.Objective) {
			best = one
		}
	}
	reported := s.BestFeasible
	if c.in.BoundsOn != session.OnDecisions && len(c.records) > 0 {
		switch {
		case (best == nil) != (reported == nil):
			r.problem("best_feasible: summary.json and metrics.jsonl differ in whether a record is feasible")
		case best != nil:
			r.exact(sectionBest, "best_feasible.iteration", float64(reported.Iteration), float64(best.Iteration))
			r.exact(sectionBest, "best_feasible.objective of the records", reported.Objective, best.Objective)
		}
	}
	if reported == nil {
		return nil
	}
	if c.content[c.dir.Best()] == nil {
		if s.Files[filepath.Base(c.dir.Best())] == "" {
			r.skip("the weights of the best feasible record: there is no best.safetensors")
		}
		return nil // a missing file with a checksum is a problem already
	}
	f, err := c.weights(c.dir.Best(), nil)
	if err != nil {
		return err
	}
	at := c.at(f.as(false, nil))
	e := c.recorded(at.scores)
	r.compare(sectionBest, "best_feasible.objective of best.safetensors", reported.Objective,
		number{at.objective, e.f + recordTolerance*(1+math.Abs(at.objective)), true})
	if v, most := worst(at.g), c.in.Tolerance+worst(e.g)+recordTolerance; v > most {
		r.problem("best.safetensors is not feasible: its largest violation is %.3g, more than %.3g", v, most)
	}
	return nil
}

// rates compares the rates of a split, counted in one pass over the rows.
func (c *check) rates(p *session.Part, t *rates.Table, scores []float64, e float64) {
	r, outputs, classes := c.report, c.in.Model.Outputs, len(p.Rows.Classes)
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
	count := func(rows []int) (table [][]int, doubtful int) {
		table = make([][]int, classes)
		for k := range table {
			table[k] = make([]int, classes)
		}
		for _, i := range rows {
			table[p.Classes[i]][decided[i]]++
			if unsure[i] {
				doubtful++
			}
		}
		return table, doubtful
	}
	compare := func(where string, reported rates.Rates, rows []int) [][]int {
		table, doubtful := count(rows)
		shares := sharesOf(table, t.Classes)
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			of := shares[name]
			v, ok := reported[name]
			switch {
			case !ok && of[1] == 0:
			case !ok || of[1] == 0 && doubtful == 0:
				r.problem("%s: %s: summary.json and the check differ in whether there are rows", section, where+name)
			case of[1] > 0:
				share := float64(2*doubtful)/float64(of[1]) + 1e-12
				r.compare(section, fmt.Sprintf("rates.%s %s%s", p.Name, where, name), v.Value,
					number{float64(of[0]) / float64(of[1]), share, true})
				if p.Name != session.Training {
					i := statistics.Count{Hits: of[0], Rows: of[1]}.Interval(rates.Level)
					c.interval(section, fmt.Sprintf("interval of rates.%s %s%s", p.Name, where, name), v.Interval, &[2]float64{i.Low, i.High}, share)
				}
			}
		}
		return table
	}
	table := compare("", t.Overall, all(len(p.Classes)))
	_, doubtful := count(all(len(p.Classes)))
	for a, row := range t.Confusion {
		for d, n := range row {
			if a < classes && d < classes {
				r.compare(section, fmt.Sprintf("confusion.%s[%d][%d]", p.Name, a, d), float64(n), number{float64(table[a][d]), float64(doubtful), true})
			}
		}
	}
	if len(t.ByGroup) != len(p.Groups) {
		r.problem("%s: summary.json has %d groups, the data have %d", section, len(t.ByGroup), len(p.Groups))
		return
	}
	for k, g := range p.Groups {
		r.exact(section, fmt.Sprintf("rows of %s (%s)", g.Name, p.Name), float64(t.ByGroup[k].Rows), float64(len(g.Rows)))
		compare(g.Name+" ", t.ByGroup[k].Rates, g.Rows)
	}
}

// sharesOf returns the rates of a confusion matrix as hits and rows, by name.
func sharesOf(table [][]int, classes []string) map[string][2]int {
	total, right := 0, 0
	actual, decided := make([]int, len(table)), make([]int, len(table))
	for a, row := range table {
		right += row[a]
		for d, n := range row {
			total += n
			actual[a] += n
			decided[d] += n
		}
	}
	list := map[string][2]int{rates.Error: {total - right, total}}
	if len(table) == 2 {
		list[rates.PositiveRate] = [2]int{decided[1], total}
		list[rates.TruePositiveRate] = [2]int{table[1][1], actual[1]}
		list[rates.FalsePositiveRate] = [2]int{table[0][1], actual[0]}
		list[rates.Precision] = [2]int{table[1][1], decided[1]}
		return list
	}
	for k, class := range classes {
		list[rates.RecallOf(class)] = [2]int{table[k][k], actual[k]}
		list[rates.PrecisionOf(class)] = [2]int{table[k][k], decided[k]}
	}
	return list
}
