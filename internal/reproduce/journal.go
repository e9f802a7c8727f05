package reproduce

import (
	"encoding/json"
	"fmt"

	"ppal/internal/study"
)

// Journal is what documents cite: the contents of journal.json, from which their tables are written
// (make results).
type Journal struct {
	Name        string              `json:"name"`
	Data        []string            `json:"data,omitempty"`
	Comparisons []JournalComparison `json:"comparisons"`
	Verdicts    []JournalVerdict    `json:"verdicts"`
}

// JournalComparison is a comparison of a figure: the means over the seeds.
type JournalComparison struct {
	Name    string          `json:"name"`
	Budget  string          `json:"budget"`
	Seeds   []uint64        `json:"seeds"`
	Methods []JournalMethod `json:"methods"`
}

// JournalMethod is a row of a table.
type JournalMethod struct {
	Name      string          `json:"name"`
	Loss      study.Statistic `json:"loss"`      // mean of the last tenth
	Violation study.Statistic `json:"violation"` // mean of the last tenth
	Best      study.Statistic `json:"best"`      // best feasible loss
	Met       int             `json:"met"`       // number of runs that are feasible throughout their last tenth
}

// JournalVerdict is the verdict on a claim in a comparison.
type JournalVerdict struct {
	Comparison string       `json:"comparison"`
	Claim      string       `json:"claim"`
	Ruling     study.Ruling `json:"ruling"`
	Numbers    string       `json:"numbers"`
}

// journal returns the contents of journal.json.
func (f Figure) journal(names []string, outcomes []*study.Compared) ([]byte, error) {
	j := Journal{Name: f.Name, Data: f.Data, Verdicts: f.judge(names, outcomes)}
	for i, o := range outcomes {
		c := JournalComparison{Name: names[i], Budget: o.Comparison.Budget.String(), Seeds: o.Comparison.Seeds}
		for _, m := range o.Comparison.Contenders {
			runs := o.Of(m.Name)
			tail := func(n number) study.Statistic {
				return o.Statistic(m.Name, func(r *study.ComparedRun) (float64, bool) { return n.of(o, r) })
			}
			c.Methods = append(c.Methods, JournalMethod{m.Name, tail(tailOf("loss", study.Objective)), tail(tailViolation()), tail(bestObjective()), len(runs) - infeasible(runs)})
		}
		j.Comparisons = append(j.Comparisons, c)
	}
	text, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	return append(text, '\n'), nil
}
