// Package plots draws the records of runs as SVG plots: losses and their bounds, violations, KKT
// residuals and multipliers, each over iterations and over seconds, and an overview of all four.
package plots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unicode"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ppal/trainer"
)

// Run holds the data of a run's plots.
type Run struct {
	Title       string
	Records     []trainer.Record
	Objective   string    // name of f: the first class's name
	Bounded     string    // name of a bounded quantity in the singular, such as "loss"; empty: "value"
	Constraints []string  // names, one for each constraint
	Bounds      []float64 // kappa, one for each constraint
}

// Sizes of the plots. They are legible at the width of a README's column.
const (
	width          = 6.4 * vg.Inch
	height         = 3.4 * vg.Inch
	overviewWidth  = 11.2 * vg.Inch
	overviewHeight = 6.6 * vg.Inch
	tilePadding    = 0.15 * vg.Inch
)

// The font of the layout, and the fonts for viewers that lack it.
const (
	drawnFont = "font-family:Liberation Sans"
	fonts     = drawnFont + ",Arial,Helvetica,sans-serif"
)

// Overview is the file name of the plot with all four quantities.
const Overview = "overview.svg"

// Write draws the plots into the folder dir, which it creates: <quantity>-<axis>.svg and
// overview.svg. A quantity that the method does not have gets no plot. Write returns the names of
// the files.
func Write(dir string, run Run) ([]string, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	var tiles []*chart
	for _, q := range run.charts() {
		for _, a := range []axis{iterations(), seconds()} {
			c := q.against(a)
			if err := f.saveChart(q.name+"-"+a.name+".svg", c); err != nil {
				return f.names, err
			}
			if a.name == iterations().name {
				tiles = append(tiles, c)
			}
		}
	}
	err = f.saveTiles(tiles)
	return f.names, err
}

// folder collects the plots of one directory.
type folder struct {
	dir   string
	names []string // names of the saved files
}

func newFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("plots: %w", err)
	}
	return &folder{dir: dir}, nil
}

// save writes one plot.
func (f *folder) save(name string, w, h vg.Length, paint func(c draw.Canvas) error) error {
	canvas := vgsvg.New(w, h)
	if err := paint(draw.New(canvas)); err != nil {
		return fmt.Errorf("plots: %s: %w", name, err)
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("plots: %s: %w", name, err)
	}
	svg := bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar // a name with a control character; XML has none
		}
		return r
	}, bytes.ReplaceAll(out.Bytes(), []byte(drawnFont), []byte(fonts)))
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		_ = os.Remove(path) // remove the incomplete file
		return fmt.Errorf("plots: %w", err)
	}
	f.names = append(f.names, name)
	return nil
}

// saveChart writes the plot of one chart.
func (f *folder) saveChart(name string, c *chart) error {
	legend, err := c.legendHeight(width)
	if err != nil {
		return fmt.Errorf("plots: %s: %w", name, err)
	}
	return f.save(name, width, height+legend, c.draw)
}

// saveTiles writes the overview: the charts in two columns.
func (f *folder) saveTiles(charts []*chart) error {
	tiles := draw.Tiles{Cols: 2, Rows: (len(charts) + 1) / 2,
		PadX: tilePadding, PadY: tilePadding,
		PadTop: tilePadding / 2, PadBottom: tilePadding / 2, PadLeft: tilePadding / 2, PadRight: tilePadding / 2}
	var legend vg.Length // height of the tallest legend below a plot
	for _, c := range charts {
		h, err := c.legendHeight((overviewWidth - 2*tilePadding) / 2)
		if err != nil {
			return fmt.Errorf("plots: %s: %w", Overview, err)
		}
		legend = max(legend, h)
	}
	return f.save(Overview, overviewWidth, overviewHeight+vg.Length(tiles.Rows)*legend, func(canvas draw.Canvas) error {
		for i, c := range charts {
			if err := c.draw(tiles.At(canvas, i%2, i/2)); err != nil {
				return err
			}
		}
		return nil
	})
}

// axis is the horizontal axis of a chart.
type axis struct {
	name, label string
	of          func(r *trainer.Record) float64
}

func iterations() axis {
	return axis{"iterations", "iteration", func(r *trainer.Record) float64 { return float64(r.Iteration) }}
}

func gradients() axis {
	return axis{"gradients", "gradient evaluations", func(r *trainer.Record) float64 { return float64(r.GradientEvaluations) }}
}

func seconds() axis {
	return axis{"seconds", "seconds of training", func(r *trainer.Record) float64 { return r.Seconds }}
}
