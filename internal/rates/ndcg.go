package rates

import (
	"math"
	"slices"

	"ppal/datasets/tabular"
)

// places are the numbers of documents of Gains.
var places = [2]int{5, 10}

// Gains returns NDCG of the first 5 and of the first 10 documents, by this number; nil if the
// grades are not known or no document has a grade above 0. The normalized discounted cumulative
// gain of the first k documents of a query is, for documents in the order of decreasing scores, and
// of the rows for equal scores,
//
//	DCG = sum over the places p = 1..k of (2^grade - 1) / log2(p + 1),   NDCG = DCG / largest DCG.
//
// The value is the mean over the queries with a document of a grade above 0. (Järvelin and
// Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.)
func Gains(q *tabular.Queries, scores []float64) map[int]float64 {
	if q.Grades == nil {
		return nil
	}
	var sums [len(places)]float64
	queries := 0
	for _, rows := range q.Lists() {
		best := dcg(q, top(rows, func(row int) float64 { return float64(q.Grades[row]) }))
		if best[0] == 0 {
			continue
		}
		queries++
		for k, v := range dcg(q, top(rows, func(row int) float64 { return scores[row] })) {
			sums[k] += v / best[k]
		}
	}
	if queries == 0 {
		return nil
	}
	gains := map[int]float64{}
	for k, sum := range sums {
		gains[places[k]] = sum / float64(queries)
	}
	return gains
}

// top returns the rows with the largest numbers, as many as the last of places, by decreasing
// number. Rows of equal numbers keep their order.
func top(rows []int, number func(row int) float64) (list []int) {
	most := places[len(places)-1]
	list = make([]int, 0, most)
	for _, row := range rows {
		x := number(row)
		at := len(list)
		for at > 0 && number(list[at-1]) < x {
			at--
		}
		if at == most {
			continue
		}
		list = slices.Insert(list[:min(len(list), most-1)], at, row)
	}
	return list
}

// dcg returns DCG of the rows, in their order, for each of places.
func dcg(q *tabular.Queries, rows []int) (list [len(places)]float64) {
	for p, row := range rows {
		gain := (math.Exp2(float64(q.Grades[row])) - 1) / math.Log2(float64(p+2))
		for k, most := range places {
			if p < most {
				list[k] += gain
			}
		}
	}
	return list
}
