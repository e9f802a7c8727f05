package plots

import (
	"fmt"
	"path/filepath"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"ppal/trainer"
)

// WriteMultipliers draws lambda, mu and |lambda - mu| of one run over its iterations into an SVG
// file: above, the multipliers on a linear axis; below, their gap on a logarithmic axis.
func WriteMultipliers(path, title string, records []trainer.Record) error {
	f, err := newFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	values, gaps := &chart{title: title + ": multipliers", axis: iterations().label, label: "multiplier"},
		&chart{title: title + ": |lambda - mu|", axis: iterations().label, label: "|lambda - mu|", logarithmic: true}
	for j := range records[len(records)-1].Multipliers {
		lambda, mu, gap := curve{name: fmt.Sprintf("lambda %d", j+1), style: constraintStyle(j)},
			curve{name: fmt.Sprintf("mu %d", j+1), style: constraintStyle(j).dashed()}, curve{name: fmt.Sprintf("constraint %d", j+1), style: constraintStyle(j)}
		for i := range records {
			r, x := &records[i], float64(records[i].Iteration)
			if j >= len(r.Multipliers) || j >= len(r.Auxiliary) {
				continue
			}
			lambda.points = append(lambda.points, plotter.XY{X: x, Y: r.Multipliers[j]})
			mu.points = append(mu.points, plotter.XY{X: x, Y: r.Auxiliary[j]})
			gap.points = append(gap.points, plotter.XY{X: x, Y: max(r.Multipliers[j]-r.Auxiliary[j], r.Auxiliary[j]-r.Multipliers[j])})
		}
		values.curves, gaps.curves = append(values.curves, lambda, mu), append(gaps.curves, gap)
	}
	return f.save(filepath.Base(path), width, 2*height, func(c draw.Canvas) error {
		tiles := draw.Tiles{Cols: 1, Rows: 2, PadY: tilePadding, PadTop: tilePadding / 2, PadBottom: tilePadding / 2, PadLeft: tilePadding / 2, PadRight: tilePadding / 2}
		if err := values.finish().draw(tiles.At(c, 0, 0)); err != nil {
			return err
		}
		return gaps.finish().draw(tiles.At(c, 0, 1))
	})
}
