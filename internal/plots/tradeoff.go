package plots

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// TradeOff is the curve of an objective against a bounded measure.
type TradeOff struct {
	Title, Objective, Measure string
	Curves                    []TradeOffCurve
}

// TradeOffCurve is the curve on one split.
type TradeOffCurve struct {
	Split  string // training, validation, test
	Points []TradeOffPoint
}

// TradeOffPoint is the result for one bound.
type TradeOffPoint struct {
	Rate, Objective float64
	Interval        *[2]float64 // of the objective; nil: none
}

// TradeOffFile is the file name of the picture.
const TradeOffFile = "trade-off.svg"

// Size of the picture.
const (
	tradeOffWidth  = 7.2 * vg.Inch
	tradeOffHeight = 4.4 * vg.Inch
)

// WriteTradeOff draws the objective over the measure on each split, with a mark for each bound and a
// band of the objective's 95% intervals, into the folder dir, which it creates. It returns the names
// of the files.
func WriteTradeOff(dir string, t TradeOff) ([]string, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	c := &chart{title: t.Title, axis: t.Measure, label: t.Objective, percent: true, below: true}
	for _, own := range t.Curves {
		points := slices.Clone(own.Points)
		slices.SortStableFunc(points, func(a, b TradeOffPoint) int { return cmp.Compare(a.Rate, b.Rate) })
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
	legend, err := c.legendHeight(tradeOffWidth)
	if err != nil {
		return nil, err
	}
	err = f.save(TradeOffFile, tradeOffWidth, tradeOffHeight+legend, c.draw)
	return f.names, err
}
