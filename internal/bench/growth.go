package bench

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/stat"
)

// Growth is the time of an iteration as a function of the number of rows, with the least-squares
// line.
type Growth struct {
	Rows      []int     `json:"rows"`
	Iteration []float64 `json:"iteration_ms"` // medians
	Slope     float64   `json:"ms_per_1000_rows"`
	Intercept float64   `json:"intercept_ms"`
	RSquared  float64   `json:"r_squared"` // share of the times' variance that the line explains
	Features  int       `json:"features"`
	Width     int       `json:"width"`
}

// GrowthRows returns the numbers of rows, all multiples of the ten classes.
func GrowthRows() []int { return []int{1000, 2000, 5000, 10000, 20000, 40000, 60000} }

// growthClasses is the number of classes over which the rows are distributed.
const growthClasses = 10

// MeasureGrowth times iterations on random images of Fashion-MNIST's shape in ten classes, with 256
// hidden units, for each of the numbers of rows, in turns. o.Time is the total time.
func MeasureGrowth(ctx context.Context, o Options, rows []int) (Growth, error) {
	g := Growth{Rows: rows}
	var activities []activity
	for _, n := range rows {
		w, err := growthCase(n).prepare(ctx, o)
		if err != nil {
			return Growth{}, err
		}
		g.Features, g.Width = w.shape.Features, w.shape.Width
		activities = append(activities, w.iterate)
	}
	times, err := alternate(ctx, o.Time, activities)
	if err != nil {
		return Growth{}, err
	}
	for i := range times {
		g.Iteration = append(g.Iteration, newTiming(times[i]).Median)
	}
	g.fit()
	return g, nil
}

// growthCase returns the case with n rows.
func growthCase(n int) Case {
	perClass := n / growthClasses
	c := imageCase(fmt.Sprintf("growth-%d", n), "auto", "", "fashion-mnist", perClass, 1, "classes", "0,1,2,3,4,5,6,7,8,9")
	c.open = func(ctx context.Context, s setting) (*workload, error) { return openRandomImages(ctx, s, 1) }
	return c
}

// fit computes the least-squares line.
func (g *Growth) fit() {
	x := make([]float64, len(g.Rows))
	for i, n := range g.Rows {
		x[i] = float64(n) / 1000
	}
	g.Intercept, g.Slope = stat.LinearRegression(x, g.Iteration, nil, false)
	g.RSquared = stat.RSquared(x, g.Iteration, nil, g.Intercept, g.Slope)
}
