package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// sentences begins each sentence on a line of its own.
var sentences = strings.NewReplacer(". ", ".\n")

// Text returns the tables for a terminal: a column for each method.
func (o *Compared) Text() string {
	var out bytes.Buffer
	s := o.Comparison
	fmt.Fprintf(&out, "%s: %g %s a run, seeds %s, mean ± standard deviation\nprimal steps: %s\n%s\n\n",
		s.Title, s.Budget.Amount, s.Budget.Kind, seedText(s.Seeds), o.steps(), sentences.Replace(o.judgedBy()))
	writeColumns(&out, o.table())
	if differences, note := o.differences(); differences != nil {
		fmt.Fprintf(&out, "\nDifference from %s%s:\n\n", s.Contenders[0].Name, sentences.Replace(note))
		writeColumns(&out, differences)
	}
	for _, r := range o.Runs {
		if r.Failure != "" {
			fmt.Fprintf(&out, "\n%s, seed %d failed: %s", r.Contender, r.Seed, r.Failure)
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// JSON returns the table as the contents of summary.json: for each method, each number with its
// mean, its standard deviation and the number of seeds, and the differences from the first method.
func (o *Compared) JSON() ([]byte, error) {
	type method struct {
		Name        string               `json:"name"`
		Settings    map[string]string    `json:"settings"`
		Numbers     map[string]Statistic `json:"numbers"`
		Counts      map[string]string    `json:"counts,omitempty"`
		Differences map[string]Paired    `json:"differences,omitempty"`
	}
	all := struct {
		Title   string   `json:"title"`
		Budget  string   `json:"budget"`
		Seeds   []uint64 `json:"seeds"`
		Methods []method `json:"methods"`
	}{Title: o.Comparison.Title, Budget: o.Comparison.Budget.String(), Seeds: o.Comparison.Seeds}
	compared, _ := o.compared()
	for i, c := range o.Comparison.Contenders {
		m := method{Name: c.Name, Settings: c.Values, Numbers: map[string]Statistic{}, Counts: map[string]string{}, Differences: map[string]Paired{}}
		for _, column := range o.columns() {
			if column.value == nil {
				m.Counts[column.title] = column.text(c.Name)
			} else if s := o.Statistic(c.Name, column.value); s.N > 0 {
				m.Numbers[column.title] = s
			}
		}
		for _, column := range compared {
			if i > 0 {
				m.Differences[column.title] = o.Paired(c.Name, o.Comparison.Contenders[0].Name, column.value)
			}
		}
		all.Methods = append(all.Methods, m)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return append(text, '\n'), nil
}
