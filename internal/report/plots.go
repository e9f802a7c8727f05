package report

import (
	"math"
	"path/filepath"
	"slices"

	"ppal/internal/chart"
	"ppal/trainer"
)

// overview is the file name of the picture with several charts.
const overview = "overview.svg"

// axis is a horizontal axis of records. name is the axis in the names of files, or "" if there is
// no file for the axis.
type axis struct {
	name, label string
	value       func(r *trainer.Record) float64
}

// axes are the horizontal axes of the charts of records, one for each view.
func axes() []axis {
	return []axis{
		{"iterations", "iteration", func(r *trainer.Record) float64 { return float64(r.Iteration) }},
		{"seconds", "seconds of training", func(r *trainer.Record) float64 { return r.Seconds }},
		{"gradients", "gradient evaluations", func(r *trainer.Record) float64 { return float64(r.GradientEvaluations) }},
	}
}

// number reads a number of a record; known is false if the record does not have the number.
type number func(r *trainer.Record) (value float64, known bool)

// always returns the reader of a number that all records have.
func always(value func(r *trainer.Record) float64) number {
	return func(r *trainer.Record) (float64, bool) { return value(r), true }
}

// element returns the reader of element j of a list, which a record may lack.
func element(values func(r *trainer.Record) []float64, j int) number {
	return func(r *trainer.Record) (float64, bool) {
		if v := values(r); j < len(v) {
			return v[j], true
		}
		return 0, false
	}
}

// measure returns the reader of a measure.
func measure(name string) number {
	return func(r *trainer.Record) (float64, bool) { return r.Measured(name) }
}

// column returns a number of every record, with NaN for unknown numbers.
func (value number) column(records []trainer.Record) []float64 {
	list := make([]float64, len(records))
	for i := range records {
		v, known := value(&records[i])
		if !known {
			v = math.NaN()
		}
		list[i] = v
	}
	return list
}

// thin returns the first and the last element and an even selection of the others, at most most.
func thin[T any](list []T, most int) []T {
	every := (len(list) + most - 2) / (most - 1)
	if every <= 1 {
		return list
	}
	var kept []T
	for i := 0; i < len(list)-1; i += every {
		kept = append(kept, list[i])
	}
	return append(kept, list[len(list)-1])
}

// folder collects the pictures of one directory.
type folder struct {
	dir   string
	names []string // names of the written files
}

// write writes one picture.
func (f *folder) write(name string, picture interface{ Write(path string) error }) error {
	if err := picture.Write(filepath.Join(f.dir, name)); err != nil {
		return err
	}
	f.names = append(f.names, name)
	return nil
}

// writeCharts writes <name>-<axis>.svg for each chart over the first axes.
func (f *folder) writeCharts(head string, charts []*chart.Chart, axes []axis) error {
	for _, c := range charts {
		for k, a := range axes {
			if err := f.write(c.Name+"-"+a.name+".svg", &chart.Picture{Head: head, Charts: []*chart.Chart{c.Over(k)}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeOverview writes overview.svg with the charts in two columns over the axis k.
func (f *folder) writeOverview(head string, charts []*chart.Chart, k int) error {
	if len(charts) == 0 {
		return nil
	}
	p := &chart.Picture{Head: head, Columns: 2}
	for _, c := range charts {
		p.Charts = append(p.Charts, c.Over(k))
	}
	return f.write(overview, p)
}

// named returns the charts with the names, in the order of the charts.
func named(charts []*chart.Chart, names ...string) []*chart.Chart {
	return slices.DeleteFunc(slices.Clone(charts), func(c *chart.Chart) bool { return !slices.Contains(names, c.Name) })
}
