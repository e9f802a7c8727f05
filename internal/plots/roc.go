package plots

import (
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ppal/internal/rates"
)

// trainingColor is the colour of training rows.
func trainingColor() color.Color { return color.Gray{0x50} }

// lightened mixes a colour (of color.Color's RGBA) with white.
func lightened(r, g, b uint32) color.Color {
	mix := func(v uint32) uint8 { return uint8((v>>8)*11/20 + 255*9/20) }
	return color.RGBA{mix(r), mix(g), mix(b), 0xFF}
}

// whiten fills the canvas with white.
func whiten(canvas draw.Canvas) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
}

// rocSize is the side of the picture without its legend.
const rocSize = 4.6 * vg.Inch

// saveROC writes the ROC curves, with a mark at the chosen threshold.
func (f *folder) saveROC(r Rates) error {
	c := &chart{title: r.Title + ": ROC curves", axis: "false positive rate", label: "true positive rate", percent: true, below: true}
	c.curves = append(c.curves, curve{name: "chance", style: style{color: color.Gray{0xB0}, width: vg.Points(1)}.dashed(),
		points: plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}})
	for _, s := range r.Splits {
		line := curve{name: s.Name + " rows", style: splitStyle(s.Name).fill}
		for _, p := range s.ROC {
			line.points = append(line.points, plotter.XY{X: p.FPR, Y: p.TPR})
		}
		c.curves = append(c.curves, line)
	}
	name := "chosen threshold"
	for _, s := range r.Splits {
		fpr, known := s.Table.Overall[rates.FalsePositiveRate]
		tpr, both := s.Table.Overall[rates.TruePositiveRate]
		if known && both {
			c.curves = append(c.curves, curve{name: name, style: splitStyle(s.Name).fill, large: true,
				points: plotter.XYs{{X: fpr.Value, Y: tpr.Value}}})
			name = "" // one entry in the legend for all splits
		}
	}
	c.finish()
	legend, err := c.legendHeight(rocSize)
	if err != nil {
		return err
	}
	return f.save(ROCFile, rocSize, rocSize+legend, c.draw)
}
