package predictor_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// ranking is a CSV of documents with their queries, and the same in LIBSVM format.
type ranking struct {
	csv, libsvm    string
	grades, groups []int
	queries        []int
	features       [][2]float64
}

func newRanking(seed uint64) *ranking {
	rng := rand.New(rand.NewPCG(seed, 4))
	r := &ranking{csv: "q,grade,site,x,z\n"}
	for q := range 40 {
		for range 6 + rng.IntN(8) {
			group, x, z, grade := rng.IntN(2), rng.NormFloat64(), rng.NormFloat64(), 0
			if y := x + rng.NormFloat64() + 0.5*float64(group); y > 1.5 {
				grade = 2
			} else if y > 0.4 {
				grade = 1
			}
			r.csv += fmt.Sprintf("q%d,%d,%s,%.4f,%.4f\n", q, grade, []string{"low", "high"}[group], x, z)
			r.libsvm += fmt.Sprintf("%d qid:%d 1:%.4f 2:%.4f 3:%d\n", grade, q, x, z, group)
			var own [2]float64
			for k, v := range []float64{x, z} {
				fmt.Sscan(fmt.Sprintf("%.4f", v), &own[k])
			}
			r.features = append(r.features, own)
			r.grades, r.groups, r.queries = append(r.grades, grade), append(r.groups, group), append(r.queries, q)
		}
	}
	return r
}

// A model that ranks documents scores CSV and LIBSVM rows, and its evaluation agrees with loops
// over the pairs and with the summary of the run.
func TestRanking(t *testing.T) {
	r := newRanking(1)
	for _, format := range []string{"csv", "libsvm"} {
		text, attribute, source := r.csv, "site", session.CSV("", "grade", "site=low", "site=high")
		if format == "libsvm" {
			text, attribute, source = r.libsvm, "3", session.LIBSVM("", "3")
		}
		path := filepath.Join(t.TempDir(), "documents")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		source.File, source.Relevant, source.Split = path, "0", tabular.Split{Train: 100}
		source.Query = map[string]string{"csv": "q", "libsvm": tabular.QueryID}[format]
		gap := constraints.Gap(constraints.CrossPairError, attribute).AtMost(0.05)
		dir, _ := train(t, source, session.Decisions{Minimize: constraints.PairError(), SubjectTo: []constraints.Constraint{gap}})
		m, err := predictor.Load(dir)
		require.NoError(t, err)
		if !m.Ranks() || m.Query() != source.Query {
			t.Errorf("%s: ranks: %t, by %q", format, m.Ranks(), m.Query())
		}
		var scores []float64
		var queries []string
		err = m.Read(strings.NewReader(text), "rows", predictor.Options{Keep: []string{m.Query()}}, func(b *predictor.Batch) error {
			scores, queries = append(scores, b.Scores...), append(queries, b.Kept[0]...)
			return nil
		})
		if err != nil || len(scores) != len(r.grades) || strings.TrimPrefix(queries[len(queries)-1], "q") != "39" {
			t.Fatalf("%s: %d scores, the last of query %s, %v", format, len(scores), queries[len(queries)-1], err)
		}
		e, err := m.Evaluate(strings.NewReader(text), "rows", predictor.EvaluateOptions{})
		require.NoError(t, err)
		wrong, pairs := map[[2]int]float64{}, map[[2]int]float64{}
		for i := range scores {
			for j := range scores {
				if r.queries[i] != r.queries[j] || r.grades[i] == 0 || r.grades[j] > 0 {
					continue
				}
				cell := [2]int{r.groups[i], r.groups[j]}
				if pairs[cell]++; scores[i] < scores[j] {
					wrong[cell]++
				}
			}
		}
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: %s is %v, by loops %v", format, what, got, want)
			}
		}
		share := func(a, b int) float64 { return wrong[[2]int{a, b}] / pairs[[2]int{a, b}] }
		if e.Ranking == nil || e.Ranking.Queries != 40 || len(e.Ranking.PerQuery) != 1 || len(e.Ranking.NDCG) != 2 {
			t.Fatalf("%s: %+v", format, e.Ranking)
		}
		for _, s := range e.Ranking.Pairs {
			a, b := textOf(s.Relevant), textOf(s.Other)
			near(s.Relevant+" > "+s.Other, *s.Error, share(a, b))
			near("the pairs of "+s.Relevant, float64(s.Pairs), pairs[[2]int{a, b}])
		}
		near("the gap", *e.Constraints[0].Value, math.Abs(share(0, 1)-share(1, 0)))
		if c := e.Constraints[0]; !*c.Met || c.Interval == nil {
			t.Errorf("%s: %+v", format, c)
		}
		r.checkONNX(t, m, format, scores)
		if format == "libsvm" {
			plain := strings.ReplaceAll(text, " qid:", " ")
			if _, err := m.Evaluate(bytes.NewReader([]byte(plain)), "rows", predictor.EvaluateOptions{}); err == nil {
				t.Error("no error without qid")
			}
		}
	}
}

// checkONNX compares the scores of the model's ONNX graph with those of the model. The graph takes
// the columns of a document, and has no other output.
func (r *ranking) checkONNX(t *testing.T, m *predictor.Model, format string, scores []float64) {
	t.Helper()
	n := len(scores)
	x, z, site := value{shape: []int{n, 1}}, value{shape: []int{n, 1}}, value{shape: []int{n, 1}}
	all := value{shape: []int{n, 3}}
	for i, f := range r.features {
		x.x, z.x, site.s = append(x.x, f[0]), append(z.x, f[1]), append(site.s, []string{"low", "high"}[r.groups[i]])
		all.x = append(all.x, f[0], f[1], float64(r.groups[i]))
	}
	inputs := map[string]value{"x": x, "z": z, "site": site}
	if format == "libsvm" {
		inputs = map[string]value{"x": all}
	}
	tolerance := 1e-12
	if format == "libsvm" { // the model standardises rows of queries in float32
		tolerance = 1e-6
	}
	out := run(t, exported(t, m, predictor.ONNXOptions{}), inputs)
	for i, want := range scores {
		if got := out["score"].x[i]; math.Abs(got-want) > tolerance*(1+math.Abs(want)) {
			t.Fatalf("%s: ONNX's score of document %d is %v, want %v", format, i, got, want)
		}
	}
	if _, decides := out["decision"]; decides {
		t.Errorf("%s: the graph decides, and the model ranks", format)
	}
}

// textOf is the group with the name, as in newRanking.
func textOf(name string) int {
	if strings.HasSuffix(name, "high") || strings.HasSuffix(name, "feature 3") {
		return 1
	}
	return 0
}

// Documents with equal scores share the smallest rank.
func TestRanks(t *testing.T) {
	if got := predictor.Ranks([]float64{1, 3, 2, 3, 0, 1}); !slices.Equal(got, []int{4, 1, 3, 1, 6, 4}) {
		t.Error(got)
	}
}
