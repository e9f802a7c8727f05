package plots

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Sweep is the curve of an objective against a bounded measure.
type Sweep struct {
	Title, Objective, Measure string
	Curves                    []SweepCurve
}

// SweepCurve is the curve on one split.
type SweepCurve struct {
	Split  string // training, validation, test
	Points []SweepPoint
}

// SweepPoint is the result for one bound.
type SweepPoint struct {
	Rate, Objective float64
	Interval        *[2]float64 // of the objective; nil: none
}

// SweepFile is the file name of the picture.
const SweepFile = "trade-off.svg"

// Size of the picture.
const (
	sweepWidth  = 7.2 * vg.Inch
	sweepHeight = 4.4 * vg.Inch
)

// WriteSweep draws the objective over the measure on each split, with a mark for each bound and a
// band of the objective's 95% intervals, into the folder dir, which it creates. It returns the
// names of the files.
func WriteSweep(dir string, t Sweep) ([]string, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	c := &chart{title: t.Title, axis: t.Measure, label: t.Objective, percent: true, below: true}
	for _, own := range t.Curves {
		points := slices.Clone(own.Points)
		slices.SortStableFunc(points, func(a, b SweepPoint) int { return cmp.Compare(a.Rate, b.Rate) })
		line := curve{name: own.Split + " rows", style: splitStyle(own.Split).fill, marked: true}
		var high plotter.XYs
		for _, p := range points {
			line.points = append(line.points, plotter.XY{X: p.Rate, Y: p.Objective})
			if p.Interval != nil {
				line.band = append(line.band, plotter.XY{X: p.Rate, Y: p.Interval[0]})
				high = append(high, plotter.XY{X: p.Rate, Y: p.Interval[1]})
			}
		}
		if len(line.band) > 1 {
			line.name += ", band: 95% interval"
			slices.Reverse(high)
			line.band = append(line.band, high...)
		} else {
			line.band = nil
		}
		c.curves = append(c.curves, line)
	}
	c.finish()
	legend, err := c.legendHeight(sweepWidth)
	if err != nil {
		return nil, err
	}
	err = f.save(SweepFile, sweepWidth, sweepHeight+legend, c.draw)
	return f.names, err
}
