package predictor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/rates"
	"ppal/trainer/session/results"
)

// Ranks reports whether the model ranks the documents of a query, by decreasing scores.
func (m *Model) Ranks() bool { return m.description.Decision.Rule == results.RuleRank }

// Query returns the column of the queries of a model that ranks documents, or tabular.QueryID for
// rows in LIBSVM format; "" if the run did not read the rows from a file.
func (m *Model) Query() string { return m.description.Query }

// Ranks returns the ranks of the documents of a query by their scores, from 1 for the highest.
// Documents with equal scores share the smallest rank.
func Ranks(scores []float64) []int {
	order, ranks := make([]int, len(scores)), make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	for place, i := range order {
		if ranks[i] = place + 1; place > 0 && scores[order[place-1]] == scores[i] {
			ranks[i] = ranks[order[place-1]]
		}
	}
	return ranks
}

// RankedEvaluation describes how a model ranks the documents of queries. An error is a share of the
// pairs of a more and a less relevant document of one query. Intervals are for new queries, at 95%.
type RankedEvaluation struct {
	Queries int `json:"queries"`
	// Paired is the number of queries with a pair.
	Paired int `json:"queries_with_pairs"`
	// Error is the pair error of all pairs, and Pairs has the error by group pair.
	Error PairShare   `json:"pair_error"`
	Pairs []PairShare `json:"pair_errors"`
	// NDCG has the normalized discounted cumulative gains of the first 5 and 10 documents; nil
	// without grades.
	NDCG map[string]float64 `json:"ndcg,omitempty"`
	// PerQuery describes, for each attribute, the gaps between the errors of the queries' pairs
	// across groups.
	PerQuery []QueryGaps `json:"per_query,omitempty"`
}

// PairShare is an error of some pairs.
type PairShare struct {
	// Relevant is the group of the more relevant document, and Other that of the other one; "" for all
	// documents.
	Relevant string      `json:"relevant,omitempty"`
	Other    string      `json:"other,omitempty"`
	Pairs    int64       `json:"pairs"`
	Error    *float64    `json:"error"` // nil without pairs
	Interval *[2]float64 `json:"interval"`
}

// QueryGaps describes the gaps |err(a > not a) - err(b > not b)| of the queries that have these
// pairs of two groups a and b.
type QueryGaps struct {
	Attribute string  `json:"attribute"`
	Groups    string  `json:"groups"`
	Queries   int     `json:"queries"`
	Mean      float64 `json:"mean"`
	P90       float64 `json:"p90"` // the 90th percentile
	Largest   float64 `json:"largest"`
}

// setQueries sets the queries of rows, from their names.
func (l *labelled) setQueries(names []string) {
	l.queries = &tabular.Queries{}
	place := map[string]int32{}
	for _, name := range names {
		k, known := place[name]
		if !known {
			k = int32(len(place))
			place[name], l.queries.Names = k, append(l.queries.Names, name)
		}
		l.queries.Of = append(l.queries.Of, k)
	}
}

// setGrades sets the grades of rows, from the texts of their labels. A label that is no grade means
// no grades.
func (l *labelled) setGrades(labels []string) {
	l.queries.Grades = nil
	grades := make([]uint8, len(labels))
	for i, text := range labels {
		x, err := strconv.ParseFloat(text, 64)
		if err == nil {
			grades[i], err = tabular.Grade(x)
		}
		if err != nil {
			return
		}
	}
	l.queries.Grades = grades
}

// evaluateRanking counts the pairs of the rows.
func (m *Model) evaluateRanking(r io.Reader, name string, o EvaluateOptions) (*Evaluation, error) {
	subject, smooth := o.Subject, []string(nil)
	if subject == nil {
		subject, smooth = m.subject()
	}
	by, crossed, err := o.groupedBy()
	if err != nil {
		return nil, err
	}
	if len(crossed) > 0 {
		return nil, fmt.Errorf("predictor: groups: %w", errors.New("pairs are counted by single attributes"))
	}
	rows, err := m.labelled(r, name, o, m.attributes(subject, by))
	if err != nil {
		return nil, err
	}
	p := m.population(rows)
	p.Queries, p.QueryNames = rows.queries.Of, rows.queries.Names
	e := &Evaluation{Rows: len(rows.Labels), Unknown: rows.unknown, LeftOut: rows.missing, Classes: rows.Classes, Constraints: []Checked{}}
	for _, c := range subject {
		sample, err := m.sample(c, p)
		e.Constraints = append(e.Constraints, m.checked(c, rows, sample, err))
	}
	for _, text := range smooth {
		e.Constraints = append(e.Constraints, Checked{Constraint: text, Reason: "it bounds a smooth function of the scores, not a rate of decisions"})
	}
	e.Ranking, err = rankedEvaluation(p, rows)
	return e, err
}

// rankedEvaluation counts the pairs of a population by the groups of each attribute.
func rankedEvaluation(p *constraints.Population, rows *labelled) (*RankedEvaluation, error) {
	e := &RankedEvaluation{Queries: len(p.QueryNames)}
	for k, v := range rates.Gains(rows.queries, rows.scores) {
		if e.NDCG == nil {
			e.NDCG = map[string]float64{}
		}
		e.NDCG["@"+strconv.Itoa(k)] = v
	}
	d := constraints.Documents{Queries: p.Queries, Levels: p.Labels}
	pairs, err := constraints.NewPairs(d, 1, false)
	if errors.Is(err, constraints.ErrNoPairs) {
		return e, nil
	} else if err != nil {
		return nil, err
	}
	counted, err := pairs.Errors(rows.scores)
	if err != nil {
		return nil, err
	}
	e.Paired = len(counted.Queries)
	e.Error = share(counted, "", "", 0)
	for k, a := range p.Attributes {
		same := func(other constraints.Attribute) bool { return slices.Equal(other.Of, a.Of) }
		if slices.ContainsFunc(p.Attributes[:k], same) { // the groups, under another name
			continue
		}
		groups := slices.Clone(a.Of)
		names := append(slices.Clip(a.Values), "") // of documents without a value
		for i, k := range groups {
			if k < 0 {
				groups[i] = len(a.Values)
			}
		}
		d.Groups = groups
		if pairs, err = constraints.NewPairs(d, len(names), false); err != nil {
			return nil, err
		}
		if counted, err = pairs.Errors(rows.scores); err != nil {
			return nil, err
		}
		for x := range a.Values {
			for y := range a.Values {
				e.Pairs = append(e.Pairs, share(counted, constraints.GroupName(a.Name, names[x]), constraints.GroupName(a.Name, names[y]), x*len(names)+y))
			}
		}
		e.PerQuery = append(e.PerQuery, queryGaps(a, counted)...)
	}
	return e, nil
}

// share returns the error of the pairs of a cell.
func share(e *constraints.PairErrors, relevant, other string, cell int) PairShare {
	v, standardError := e.Estimate(constraints.PairTerm{Weight: 1, Cells: []int{cell}})
	_, pairs := e.Counts(cell)
	s := PairShare{Relevant: relevant, Other: other, Pairs: pairs}
	if pairs > 0 {
		s.Error, s.Interval = &v, rates.IntervalAround(v, standardError, rates.Level)
	}
	return s
}

// queryGaps returns the gaps of each two values of an attribute.
func queryGaps(a constraints.Attribute, e *constraints.PairErrors) (list []QueryGaps) {
	for x := range a.Values {
		for y := range x {
			if n, mean, p90, largest := e.QueryGaps(x, y); n > 0 {
				list = append(list, QueryGaps{a.Name, a.Values[y] + ", " + a.Values[x], n, mean, p90, largest})
			}
		}
	}
	return list
}

// labelTexts reads the labels of LIBSVM rows as texts.
func labelTexts(labels []float64) []string {
	texts := make([]string, len(labels))
	for i, y := range labels {
		texts[i] = fmt.Sprint(y)
	}
	return texts
}
