package tabular

import (
	"fmt"
	"math"

	"ppal/datasets/dataerr"
	"ppal/internal/textvalue"
)

// Queries has the query of each row of a table. The rows are documents, and a ranking compares the
// documents of a query with each other. The documents of a query need not be consecutive.
type Queries struct {
	// Names are the names of the queries, in the order of their first documents.
	Names []string
	// Of is the query of each row, an index into Names.
	Of []int32
	// Grades are the grades of relevance of the rows, 0 to MostGrade. The gain of a grade is
	// 2^grade - 1. The labels of the rows say which documents form pairs: see
	// TableOptions.Relevant. nil: not known.
	Grades []uint8
	// Column is the column of the queries in the file, or QueryID; "": not from a file.
	Column string
}

// MostGrade is the largest grade of a document. Its gain, 2^31 - 1, fits in 32 bits.
const MostGrade = 31

// QueryID is the value of TableOptions.Query for rows in LIBSVM format: the query is the field qid.
const QueryID = "qid"

// GradeName is the name of the label in conditions on rows in LIBSVM format.
const GradeName = "grade"

// EachGrade is the value of TableOptions.Relevant for pairs of documents of any two grades.
const EachGrade = "each"

// Len returns the number of queries; 0 for nil.
func (q *Queries) Len() int {
	if q == nil {
		return 0
	}
	return len(q.Names)
}

// Lists returns the rows of each query, in increasing order.
func (q *Queries) Lists() [][]int {
	sizes := make([]int, len(q.Names))
	for _, k := range q.Of {
		sizes[k]++
	}
	lists, all := make([][]int, len(q.Names)), make([]int, len(q.Of))
	for k, n := range sizes {
		lists[k], all = all[:0:n], all[n:]
	}
	for i, k := range q.Of {
		lists[k] = append(lists[k], i)
	}
	return lists
}

// Torn returns the number of queries whose rows are not consecutive, and the first row that comes
// after rows of other queries. row is -1 if the rows of each query are consecutive.
func (q *Queries) Torn() (row, queries int) {
	row = -1
	torn, last := make([]bool, len(q.Names)), int32(-1)
	for i, k := range q.Of {
		switch {
		case i > 0 && k == q.Of[i-1]:
		case k > last:
			last = k
		case !torn[k]:
			torn[k] = true
			if queries++; row < 0 {
				row = i
			}
		}
	}
	return row, queries
}

// Restrict returns the queries of the given rows, numbered in the order of their first rows.
func (q *Queries) Restrict(rows []int) *Queries {
	out := &Queries{Column: q.Column, Of: make([]int32, len(rows))}
	if q.Grades != nil {
		out.Grades = make([]uint8, len(rows))
	}
	place := make([]int32, len(q.Names)) // from 1
	for at, i := range rows {
		k := q.Of[i]
		if place[k] == 0 {
			out.Names = append(out.Names, q.Names[k])
			place[k] = int32(len(out.Names))
		}
		if out.Of[at] = place[k] - 1; q.Grades != nil {
			out.Grades[at] = q.Grades[i]
		}
	}
	return out
}

// CountPairs returns the number of pairs of each query: two rows with different levels. levels
// returns the level of a row.
func (q *Queries) CountPairs(levels func(row int) int) []int {
	pairs := make([]int, len(q.Names))
	for k, rows := range q.Lists() {
		var counts []int // of the rows of each level
		for _, i := range rows {
			level := levels(i)
			for len(counts) <= level {
				counts = append(counts, 0)
			}
			counts[level]++
		}
		below := 0
		for _, n := range counts {
			pairs[k] += below * n
			below += n
		}
	}
	return pairs
}

// Queries distributes whole queries over the three sets, as Rows distributes rows. pairs has the
// number of pairs of each query. The strata are the queries with pairs and the queries without
// pairs. The result has the rows of each set, in increasing order.
func (s Split) Queries(q *Queries, pairs []int, seed uint64) [3][]int {
	strata := make([]int, len(q.Names))
	for k, n := range pairs {
		if n > 0 {
			strata[k] = 1
		}
	}
	part := make([]int8, len(q.Names))
	for p, list := range s.Rows(strata, seed) {
		for _, k := range list {
			part[k] = int8(p)
		}
	}
	var rows [3][]int
	for i, k := range q.Of {
		rows[part[k]] = append(rows[part[k]], i)
	}
	return rows
}

// Grade converts a number to a grade. A number that is not a whole number from 0 to MostGrade is an
// error.
func Grade(x float64) (uint8, error) {
	if x != math.Trunc(x) || !(x >= 0 && x <= MostGrade) {
		return 0, NotAGrade(textvalue.FormatNumber(x))
	}
	return uint8(x), nil
}

// NotAGrade returns the error of a label that is not a grade.
func NotAGrade(text string) error {
	return fmt.Errorf("%w: the grade %s is not a whole number from 0 to %d (with --query, the label is a grade)", dataerr.ErrLabel, text, MostGrade)
}
