// Package plots draws a run's records as SVG pictures: losses against their bounds, violations, KKT residuals and multipliers, each
// against iterations and against seconds, and the four side by side.
package plots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ppal/trainer"
)

// Run is what the pictures show.
type Run struct {
	Title       string
	Records     []trainer.Record
	Objective   string    // what f is: the first class's name
	Bounded     string    // what bounds are on, in the singular: "loss"; "" is "value"
	Constraints []string  // names, one for each constraint
	Bounds      []float64 // kappa, one for each constraint
}

// Sizes of the pictures, legible at the width of a README's column.
const (
	width          = 6.4 * vg.Inch
	height         = 3.4 * vg.Inch
	overviewWidth  = 11.2 * vg.Inch
	overviewHeight = 6.6 * vg.Inch
	tilePadding    = 0.15 * vg.Inch
)

// fonts follow the one that the pictures are laid out with, for viewers that lack it.
const (
	drawnFont = "font-family:Liberation Sans"
	fonts     = drawnFont + ",Arial,Helvetica,sans-serif"
)

// Overview is the name of the picture with all four quantities.
const Overview = "overview.svg"

// Write draws the pictures into the folder dir, which it makes: <quantity>-<axis>.svg and overview.svg. A quantity that the method
// lacks has no picture. It returns the files' names.
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

// folder is where pictures go.
type folder struct {
	dir   string
	names []string // saved
}

func newFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("plots: %w", err)
	}
	return &folder{dir: dir}, nil
}

// save writes one picture.
func (f *folder) save(name string, w, h vg.Length, paint func(c draw.Canvas) error) error {
	canvas := vgsvg.New(w, h)
	if err := paint(draw.New(canvas)); err != nil {
		return fmt.Errorf("plots: %s: %w", name, err)
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return fmt.Errorf("plots: %s: %w", name, err)
	}
	svg := bytes.ReplaceAll(out.Bytes(), []byte(drawnFont), []byte(fonts))
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		_ = os.Remove(path) // half a picture is none
		return fmt.Errorf("plots: %w", err)
	}
	f.names = append(f.names, name)
	return nil
}

// saveChart writes the picture of one chart.
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
	var legend vg.Length // the tallest below a plot
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

// axis is what a record is drawn against.
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
