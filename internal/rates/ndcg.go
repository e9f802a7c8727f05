package rates

import (
	"cmp"
	"math"
	"slices"

	"ppal/datasets/tabular"
)

// Gains returns NDCG of the first 5 and of the first 10 documents, by this number; nil if the
// grades are not known or no document has a grade above 0.
func Gains(q *tabular.Queries, scores []float64) map[int]float64 {
	if !slices.ContainsFunc(q.Grades, func(grade uint8) bool { return grade > 0 }) {
		return nil
	}
	return map[int]float64{5: ndcg(q, scores, 5), 10: ndcg(q, scores, 10)}
}

// ndcg returns the normalized discounted cumulative gain of the first k documents of each query,
// for documents in the order of decreasing scores, and of the rows for equal scores:
//
//	DCG = sum over the places p = 1..k of (2^grade - 1) / log2(p + 1),   NDCG = DCG / largest DCG.
//
// The value is the mean over the queries with a document of a grade above 0; NaN without such a
// query. (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.)
func ndcg(q *tabular.Queries, scores []float64, k int) float64 {
	sum, queries := 0.0, 0
	gain := func(row int) float64 { return math.Exp2(float64(q.Grades[row])) - 1 }
	dcg := func(rows []int) (sum float64) {
		for p, row := range rows[:min(k, len(rows))] {
			sum += gain(row) / math.Log2(float64(p+2))
		}
		return sum
	}
	for _, rows := range q.Lists() {
		best := slices.Clone(rows)
		slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(q.Grades[b], q.Grades[a]) })
		most := dcg(best)
		if most == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		sum, queries = sum+dcg(rows)/most, queries+1
	}
	return sum / float64(queries)
}
