package loader

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/option"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// queryRun is a run of consecutive rows of one query.
type queryRun struct {
	Name string
	Rows int
}

// is reports whether the run belongs to the query with the given name.
func (r *queryRun) is(name []byte) bool { return name != nil && r.Name == string(name) }

// queryList numbers queries in the order of their first rows.
type queryList struct {
	place   map[string]int32
	names   []string
	queryOf []int32
}

// add appends the rows of a run.
func (l *queryList) add(run queryRun) {
	if l.place == nil {
		l.place = map[string]int32{}
	}
	k, known := l.place[run.Name]
	if !known {
		k = int32(len(l.names))
		l.place[run.Name], l.names = k, append(l.names, run.Name)
	}
	for range run.Rows {
		l.queryOf = append(l.queryOf, k)
	}
}

// queries returns the queries of all rows; nil without rows.
func (l *queryList) queries() *tabular.Queries {
	if l.queryOf == nil {
		return nil
	}
	return &tabular.Queries{Names: l.names, Of: l.queryOf}
}

// runsOf returns the runs of rows of the queries; nil for nil.
func runsOf(q *tabular.Queries) (runs []queryRun) {
	if q == nil {
		return nil
	}
	for _, k := range q.Of {
		if last := len(runs) - 1; last >= 0 && runs[last].Name == q.Names[k] {
			runs[last].Rows++
		} else {
			runs = append(runs, queryRun{q.Names[k], 1})
		}
	}
	return runs
}

// queriesOf returns the queries of runs; nil for no runs.
func queriesOf(runs []queryRun) *tabular.Queries {
	var l queryList
	for _, run := range runs {
		l.add(run)
	}
	return l.queries()
}

// takeQueries appends the queries and grades of the rows of a sheet. The label of the sheet must
// have its values as the file has them. takeQueries replaces the values of the query column by one
// value, because two files have different queries.
func (t *UserTable) takeQueries(s *columnar.Sheet) error {
	if t.Opts.Query == "" {
		return nil
	}
	c := s.Column(t.Opts.Query)
	for i := range s.Rows {
		t.queries.add(queryRun{c.Text(i), 1})
	}
	*c = columnar.Column{Name: c.Name, Codes: make([]int32, s.Rows), Values: []string{"of a query"}}
	label := s.Column(t.Label)
	fail := func(row int, err error) error {
		return &dataerr.FileError{Path: s.Name, Offset: -1, Err: fmt.Errorf("column %q, row %d: %w", t.Label, s.Number(row)+1, err)}
	}
	switch {
	case t.positiveGiven(): // setQueries makes two grades of the classes
		return nil
	case label.Codes == nil:
		for i, x := range label.Numbers {
			g, err := tabular.Grade(x)
			if err != nil {
				return fail(i, err)
			}
			t.grades = append(t.grades, g)
		}
		return nil
	}
	grades, failures := make([]uint8, len(label.Values)), make([]error, len(label.Values))
	for k, text := range label.Values {
		if x, ok := textvalue.Number([]byte(text)); ok {
			grades[k], failures[k] = tabular.Grade(x)
		} else {
			failures[k] = tabular.NotAGrade(strconv.Quote(text))
		}
	}
	for i, code := range label.Codes {
		if err := failures[code]; err != nil {
			return fail(i, err)
		}
		t.grades = append(t.grades, grades[code])
	}
	return nil
}

// positiveGiven reports whether the options say which labels are of class +1. The documents then
// have two grades.
func (t *UserTable) positiveGiven() bool { return t.Positive != "" || t.When != nil && !t.graded }

// setQueries sets the queries and grades of the source to those that takeQueries has read.
func (t *UserTable) setQueries(out *Source) {
	if out.queries = t.queries.queries(); out.queries == nil {
		return
	}
	if t.positiveGiven() {
		t.grades = make([]uint8, len(out.Labels))
		for i, y := range out.Labels {
			t.grades[i] = uint8(tabular.ClassOf(y, 2))
		}
	}
	out.queries.Grades, out.queries.Column = t.grades, t.Opts.Query
}

// ParseRelevant parses the value of --relevant. above is the grade above which a document is
// relevant. each is true if each higher grade comes before every lower grade.
func ParseRelevant(text string) (above int, each bool, err error) {
	if text == tabular.EachGrade {
		return 0, true, nil
	}
	above, err = strconv.Atoi(text)
	if err != nil || above < 0 || above >= tabular.MostGrade {
		return 0, false, fmt.Errorf("must be %s, or a grade from 0 to %d", tabular.EachGrade, tabular.MostGrade-1)
	}
	return above, false, nil
}

// relevance returns the two classes of documents and their label, for grades in the named column.
// above is the largest grade of a document that is not relevant.
func relevance(column string, above int) (classes []string, label tabular.Label) {
	name := cmp.Or(column, tabular.GradeName)
	label = tabular.Label{Column: column, Grades: true, Condition: fmt.Sprintf("%s>%d", name, above), Otherwise: fmt.Sprintf("%s<=%d", name, above)}
	return label.Values(), label
}

// checkQueries counts the pairs of each query. It adds notes about queries without pairs and about
// torn queries, and a warning if one query has most pairs. Queries without any pair are an error.
// file is the path of the user's file, or "".
func (s *Source) checkQueries(file string) error {
	q := s.queries
	if q == nil {
		return nil
	}
	s.pairs = q.CountPairs(func(row int) int { return max(0, tabular.ClassOf(s.Labels[row], len(s.Classes))) })
	all, none := 0, 0
	for _, n := range s.pairs {
		all += n
		none += vec.Indicator(n == 0)
	}
	if all == 0 {
		return &dataerr.FileError{Path: cmp.Or(file, s.Name), Offset: -1, Err: fmt.Errorf("%w: all documents of each query are equally relevant", dataerr.ErrPairs),
			Advice: "change --label, --query or --relevant"}
	}
	s.Notes = append(s.Notes, fmt.Sprintf("The rows are documents of %s, with %s of a more relevant and a less relevant document.",
		countQueries(len(q.Names)), option.Counted(all, "pair")))
	if none > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d of %d queries have no pair.", none, len(q.Names)))
	}
	if row, n := q.Torn(); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("The documents of %s are not consecutive in the file, first in row %d. ppal takes the documents of a query together.",
			countQueries(n), s.number(row)+1))
	}
	if most := slices.Max(s.pairs); 2*most > all && len(q.Names) > 1 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("The query %s has %d of the %d pairs, so that it dominates an error over pairs: check the column of --query.", q.Names[slices.Index(s.pairs, most)], most, all))
	}
	return nil
}

// countQueries returns a number of queries in words.
func countQueries(n int) string {
	if n == 1 {
		return "1 query"
	}
	return strconv.Itoa(n) + " queries"
}

// number returns the number of a row in the file, from 0.
func (s *Source) number(row int) int {
	if s.rows == nil {
		return row
	}
	return s.rows[row]
}

// divideQueries distributes whole queries over the parts.
func (s *Source) divideQueries(split tabular.Split, seed uint64) (parts [3][]int, err error) {
	if s.assigned == nil {
		parts = split.Queries(s.queries, s.pairs, seed)
	} else if parts, err = s.assignedQueries(split, seed); err != nil {
		return parts, err
	}
	for p, share := range split.Shares() {
		if len(parts[p]) == 0 && share > 0 && s.assigned == nil {
			return parts, fmt.Errorf("datasets: %s: %w: no query is left for the %s rows of %s; change --split",
				s.Name, dataerr.ErrEmpty, tabular.PartNames[p], countQueries(s.queries.Len()))
		}
	}
	return parts, nil
}

// assignedQueries distributes whole queries over the parts that the file assigns to the rows. The
// split draws the parts of the queries whose rows the file assigns to no part.
func (s *Source) assignedQueries(split tabular.Split, seed uint64) (parts [3][]int, err error) {
	q, partOf := s.queries, make([]int8, s.queries.Len())
	var open []int
	seen := make([]bool, len(partOf))
	for i, k := range q.Of {
		p := s.assigned[i]
		if seen[k] && partOf[k] != p {
			return parts, fmt.Errorf("datasets: %s: %w: the query %s has rows in two parts, the second in row %d; give all rows of a query the same part",
				s.Name, dataerr.ErrSplit, q.Names[k], s.number(i)+1)
		}
		if partOf[k], seen[k] = p, true; p == undecided {
			open = append(open, i)
		}
	}
	rest := q.Restrict(open)
	pairs := make([]int, rest.Len())
	for at, i := range open {
		pairs[rest.Of[at]] = s.pairs[q.Of[i]]
	}
	for p, rows := range split.Queries(rest, pairs, seed) {
		for _, at := range rows {
			parts[p] = append(parts[p], open[at])
		}
	}
	for i, p := range s.assigned {
		if p != undecided {
			parts[p] = append(parts[p], i)
		}
	}
	for p := range parts {
		slices.Sort(parts[p])
	}
	return parts, nil
}
