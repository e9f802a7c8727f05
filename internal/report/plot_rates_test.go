package report

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/rates"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// drawnRates returns the rates of random decisions that are better than chance.
func drawnRates(t *testing.T, classes []string, groups ...string) Rates {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	all := Rates{Title: "plada on adult"}
	for k, word := range []string{"training", "validation", "test"} {
		n := []int{3000, 600, 400}[k]
		labels, decisions, scores, positive := make([]int, n), make([]int, n), make([]float64, n), make([]bool, n)
		members := make([]results.Group, len(groups))
		for g, name := range groups {
			members[g].Name = name
		}
		for i := range n {
			labels[i] = r.IntN(len(classes))
			positive[i] = labels[i] == 1
			scores[i] = r.NormFloat64() + float64(2*labels[i]) - 1.4
			switch {
			case len(classes) == 2 && scores[i] > 0:
				decisions[i] = 1
			case len(classes) > 2:
				decisions[i] = labels[i]
				if r.Float64() < 0.2 {
					decisions[i] = r.IntN(len(classes))
				}
			}
			if len(groups) > 0 {
				g := r.IntN(len(groups))
				members[g].Rows = append(members[g].Rows, i)
			}
		}
		table := require.Value(rates.NewTable(rates.Rows{Labels: labels, Decisions: decisions}, classes, members, k == 0))(t)
		s := SplitRates{Split: []string{"train", "validation", "test"}[k], Word: word, Trained: k == 0, Table: table}
		if len(classes) == 2 {
			s.ROC = rates.ROC(scores, positive, nil, 400)
		}
		all.Splits = append(all.Splits, s)
	}
	return all
}

func TestWriteRates(t *testing.T) {
	var many []string
	for k := range 30 {
		many = append(many, fmt.Sprintf("racepctblack>q%02d & racePctHisp>q05", k))
	}
	for _, c := range []struct {
		name    string
		classes []string
		groups  []string
		files   []string
		texts   []string
	}{
		{"two", []string{"<=50K", ">50K"}, []string{"sex=Female", "rest"}, []string{"rates.svg", "roc.svg"},
			[]string{"Positive decisions", "True positive rate", "False alarms", "Error", "all rows", "sex=Female", "test rows, 95% interval", "training rows"}},
		{"none", []string{"<=50K", ">50K"}, nil, []string{"rates.svg", "roc.svg"}, []string{"all rows"}},
		{"many", []string{"low", "high"}, many, []string{"rates.svg", "roc.svg"}, []string{"The chart shows 12 of 30"}},
		{"classes", []string{"T-shirt/top", "Trouser", "Pullover", "Dress"}, nil, []string{"rates.svg"},
			[]string{"Pullover", "Precision"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			got := require.Value(WriteRatePlots(dir, drawnRates(t, c.classes, c.groups...)))(t)
			if diff := cmp.Diff(c.files, got); diff != "" {
				t.Error(diff)
			}
			content := wellFormed(t, filepath.Join(dir, "rates.svg"))
			for _, text := range c.texts {
				if !strings.Contains(content, strings.ReplaceAll(strings.ReplaceAll(text, "<", "&lt;"), ">", "&gt;")) {
					t.Errorf("no %q", text)
				}
			}
			if len(got) < 2 {
				return
			}
			content = wellFormed(t, filepath.Join(dir, "roc.svg"))
			for _, text := range []string{"ROC curves", "chosen threshold", "test rows", "false positive rate", "40%"} {
				if !strings.Contains(content, text) {
					t.Errorf("roc.svg: no %q", text)
				}
			}
			if strings.Contains(content, "-0%") {
				t.Error("an axis begins at -0%")
			}
		})
	}
}
