package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"ppal/internal/config"
)

// SearchPoint is one tried point of the search for a contender's settings. With bounds on
// decisions, objective and violation are those of the counted training decisions. Otherwise they
// are means over the last records of the run, because a single record of a method that switches
// between objective and constraints depends on chance.
type SearchPoint struct {
	Contender    string        `json:"method"`
	Seed         uint64        `json:"seed"`
	Settings     config.Values `json:"settings"`
	Objective    float64       `json:"objective"`
	MaxViolation float64       `json:"max_violation"`
	Feasible     bool          `json:"feasible"`
	Failure      string        `json:"failure,omitempty"`
	Chosen       bool          `json:"chosen"`
}

// judged is the share of a run's last records that determine the result of a point.
const judged = 0.1

// newSearchPoint computes the result of a point from its run.
func newSearchPoint(r *ComparedRun, settings config.Values) SearchPoint {
	t := SearchPoint{Contender: r.Contender, Seed: r.Seed, Settings: settings, Failure: r.Failure}
	if r.onDecisions() {
		t.Objective, t.MaxViolation, t.Feasible = *r.Summary.Outcome.Objective.Train, r.excess(), r.Met()
		return t
	}
	t.Objective, _ = r.Tail(Objective)
	t.MaxViolation, _ = r.Tail(Violation)
	t.Feasible = r.Failure == "" && t.MaxViolation <= r.Config.Session.Settings.FeasibilityTolerance && !r.Last().GivenUp
	return t
}

// finalists is the largest number of grid points that are also tried on the second seed. These are
// the best points on the first seed: a point at the edge of stability may be the best with one seed
// and diverge with another.
const finalists = 4

// extensions is the largest number of times that a grid grows beyond a chosen point on its edge.
const extensions = 4

// search tries every contender's grid on the first seed and the best points on the second seed. A
// grid whose best point has the smallest or the largest number of a setting grows by the next
// number, as long as the best point lies on an edge, at most extensions times. search returns the
// contenders with the chosen settings.
func (r *comparer) search(ctx context.Context, outcome *Compared) ([]Contender, error) {
	contenders := slices.Clone(r.comparison.Contenders)
	fresh, results := make([][]int, len(contenders)), make([]tries, len(contenders))
	for i := range contenders {
		for point := range contenders[i].Grid {
			fresh[i] = append(fresh[i], point)
		}
	}
	some := func(points []int) bool { return len(points) > 0 }
	for round := 0; slices.ContainsFunc(fresh, some); round++ {
		if err := r.tryPoints(ctx, contenders, fresh, results); err != nil {
			return nil, err
		}
		for i := range contenders {
			fresh[i] = nil
			if round < extensions && len(contenders[i].Grid) > 0 {
				c := &contenders[i]
				c.Grid, fresh[i] = c.beyond(results[i].chosen)
				r.runs.Total += len(fresh[i])
			}
		}
		if slices.ContainsFunc(fresh, some) {
			r.runs.Total += r.comparison.seconds(contenders)
		}
	}
	for i := range contenders {
		c := &contenders[i]
		if len(c.Grid) > 0 {
			c.Values = merged(c.Values, c.Grid[results[i].chosen])
		}
		outcome.Search = slices.Concat(outcome.Search, results[i].first, results[i].second)
	}
	return contenders, nil
}

// tries holds the results of a contender's points.
type tries struct {
	first, second []SearchPoint // of all points, and of the finalists
	chosen        int           // point
}

// tryPoints tries the fresh points of the contenders, and chooses among all points.
func (r *comparer) tryPoints(ctx context.Context, contenders []Contender, fresh [][]int, t []tries) error {
	seeds := r.comparison.Seeds
	first, err := r.tryAll(ctx, contenders, fresh, seeds[0])
	if err != nil {
		return err
	}
	finalists := make([][]int, len(contenders))
	for i := range contenders {
		t[i].first = append(t[i].first, first[i]...)
		finalists[i] = ranked(t[i].first)
		finalists[i] = finalists[i][:r.comparison.finalists(len(finalists[i]))]
	}
	second := make([][]SearchPoint, len(contenders))
	if len(seeds) > 1 { // those of an earlier round are found in the folder
		if second, err = r.tryAll(ctx, contenders, finalists, seeds[1]); err != nil {
			return err
		}
	}
	for i := range contenders {
		if len(contenders[i].Grid) > 0 {
			for k := range t[i].first {
				t[i].first[k].Chosen = false
			}
			t[i].second = second[i]
			t[i].chosen = choose(finalists[i], t[i].first, second[i])
		}
	}
	return nil
}

// beyond returns the grid with the points beyond its edges at a point, and the indices of the new
// points. A setting has an edge if it has at least two positive numbers, beside words such as auto.
// The next number continues the ratio of the two outer ones. A number outside the setting's range
// is left out.
func (c *Contender) beyond(point int) (grid []config.Values, fresh []int) {
	grid = slices.Clone(c.Grid)
	for _, key := range slices.Sorted(maps.Keys(grid[point])) {
		next, on := edge(grid, key, grid[point][key])
		if !on {
			continue
		}
		own := merged(grid[point], config.Values{key: fmt.Sprintf("%.3g", next)})
		if slices.ContainsFunc(grid, func(p config.Values) bool { return maps.Equal(p, own) }) {
			continue
		}
		if _, err := resolve(merged(c.Values, own)); err != nil {
			continue
		}
		grid, fresh = append(grid, own), append(fresh, len(grid))
	}
	return grid, fresh
}

// edge returns the number beyond value, which is the smallest or the largest of a grid's numbers of
// a setting; false if it is neither.
func edge(grid []config.Values, key, value string) (next float64, on bool) {
	var numbers []float64
	for _, p := range grid {
		x, err := strconv.ParseFloat(p[key], 64)
		if err == nil && (!(x > 0) || math.IsInf(x, 1)) {
			return 0, false
		}
		if err == nil && !slices.Contains(numbers, x) {
			numbers = append(numbers, x)
		}
	}
	slices.Sort(numbers)
	own, _ := strconv.ParseFloat(value, 64) // one of the numbers, or 0
	switch n := len(numbers); {
	case n < 2:
		return 0, false
	case own == numbers[0]:
		return own * own / numbers[1], true
	case own == numbers[n-1]:
		return own * own / numbers[n-2], true
	}
	return 0, false
}

// edges names the settings of the contender's chosen point that lie on the edge of the search.
func (o *Compared) edges(contender string) (names []string) {
	var points []config.Values
	var chosen config.Values
	for _, t := range o.Search {
		if t.Contender == contender {
			points = append(points, t.Settings)
			if t.Chosen {
				chosen = t.Settings
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(chosen)) {
		if _, on := edge(points, key, chosen[key]); on {
			names = append(names, key)
		}
	}
	return names
}

// finalists returns how many points of a grid are tried on the second seed: at most half of them.
func (s *Comparison) finalists(points int) int {
	if len(s.Seeds) == 1 {
		return min(points, 1)
	}
	return min((points+1)/2, finalists)
}

// seconds returns the number of runs on the second seed in a round of the search.
func (s *Comparison) seconds(contenders []Contender) (n int) {
	if len(s.Seeds) > 1 {
		for _, c := range contenders {
			n += s.finalists(len(c.Grid))
		}
	}
	return n
}

// tryAll runs points of the contenders' grids on one seed.
func (r *comparer) tryAll(ctx context.Context, contenders []Contender, points [][]int, seed uint64) ([][]SearchPoint, error) {
	var jobs []plannedRun
	for i, c := range contenders {
		for _, point := range points[i] {
			jobs = append(jobs, r.comparison.plan(c, seed, point))
		}
	}
	runs, err := r.all(ctx, jobs)
	if err != nil {
		return nil, err
	}
	tried := make([][]SearchPoint, len(points))
	at := 0
	for i, c := range contenders {
		for _, point := range points[i] {
			tried[i] = append(tried[i], newSearchPoint(&runs[at], c.Grid[point]))
			at++
		}
	}
	return tried, nil
}

// choose chooses one of the finalists by the runs of both seeds and marks it. first holds the runs
// of all points, second the runs of the finalists, or nothing if there is only one seed.
func choose(finalists []int, first, second []SearchPoint) (point int) {
	joint := make([]SearchPoint, len(finalists))
	for k, point := range finalists {
		joint[k] = first[point]
		if second != nil {
			joint[k] = overBothSeeds(first[point], second[k])
		}
	}
	k := ranked(joint)[0]
	first[finalists[k]].Chosen = true
	if second != nil {
		second[k].Chosen = true
	}
	return finalists[k]
}

// overBothSeeds combines the results of a point on two seeds: the mean of the objectives, and the
// worse result in all other respects.
func overBothSeeds(a, b SearchPoint) SearchPoint {
	return SearchPoint{Objective: (a.Objective + b.Objective) / 2, MaxViolation: max(a.MaxViolation, b.MaxViolation),
		Feasible: a.Feasible && b.Feasible, Failure: cmp.Or(a.Failure, b.Failure)}
}

// ranked returns the points from the best to the worst: feasible points by objective, then
// infeasible points by violation, then failed points. Equal points keep their order.
func ranked(tried []SearchPoint) []int {
	order := make([]int, len(tried))
	for i := range order {
		order[i] = i
	}
	rank := func(t SearchPoint) int {
		switch {
		case t.Failure != "":
			return 2
		case !t.Feasible:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := tried[a], tried[b]
		if c := cmp.Compare(rank(x), rank(y)); c != 0 {
			return c
		}
		if rank(x) == 0 {
			return cmp.Compare(x.Objective, y.Objective)
		}
		return cmp.Compare(x.MaxViolation, y.MaxViolation)
	})
	return order
}

func merged(a, b config.Values) config.Values {
	all := config.Values{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
