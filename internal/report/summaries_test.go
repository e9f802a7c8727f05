package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// TestSummaries compares what is said of summaries with testdata/summaries.txt. The input of a case
// has keys of summary.json. The commands are the parts of the program that show a summary.
func TestSummaries(t *testing.T) {
	require.Cases(t, "testdata/summaries.txt", func(t *testing.T, c *require.Case) string {
		var s results.Summary
		require.NoError(t, json.Unmarshal([]byte(c.Input), &s))
		var b strings.Builder
		line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
		switch c.Command {
		case "certificate":
			line("%s", Certificate(&s))
			line("%s", certified(&s))
			for _, r := range residuals(&s) {
				line("%s %s: %s", r.Name, r.Value, r.Meaning)
			}
		case "status", "counted":
			ended := endedStatus(&s, 1e-3)
			if c.Command == "counted" {
				ended = countedStatus(s.Outcome)
			}
			line("%s: %s; %s; %s", ended.Kind, ended.Text, ended.Lead, ended.Exit)
		case "exit":
			if list := Failing(s.Outcome, c.Has("strict")); list != nil {
				line("%v", &Unmet{Outcome: s.Outcome, List: list})
			}
		case "view":
			v := NewView(s.Outcome, s.Rates)
			v.Note(c.Arg("note"))
			for _, r := range append(v.Rows, v.Objective, v.Positive) {
				text := ""
				for _, x := range r.Values {
					text += fmt.Sprintf(" %s %s [%s]", x.Split, r.Of(x.Split), Span(r.IntervalOf(x.Split)))
				}
				line("%s %s:%s: %s", r.Name, r.Bound, text, strings.Join(append([]string{r.Cell}, r.Notes...), " | "))
			}
			for _, r := range v.More {
				line("more: %s", r.Name)
			}
			for _, sentence := range v.Sentences {
				line("%s: %s", sentence.Name, sentence.Text)
			}
			b.WriteString(NeverDecided(s.Rates[results.Training]) + v.Text("nothing"))
		default:
			t.Fatalf("unknown command %s", c.Command)
		}
		return b.String()
	})
}

// Numbers of rows have separators of thousands, and small intervals more decimals.
func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -100: "-100", -1000: "-1,000", 1234567: "1,234,567"} {
		if got := rowCount(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	for want, i := range map[string][2]float64{"0.100 to 0.200": {0.1, 0.2}, "0.250 to 0.260": {0.25, 0.26}, "0.1000 to 0.1090": {0.1, 0.109},
		"0.50000 to 0.50090": {0.5, 0.5009}, "0.500000 to 0.500000": {0.5, 0.5000000001}, "0.500 to 0.500": {0.5, 0.5}} {
		if got := Span(&i); got != want {
			t.Errorf("Span(%v) = %s, want %s", i, got, want)
		}
	}
	if Span(nil) != "" || Number(nil) != "" {
		t.Error("a value that is missing has a text")
	}
}
