package report

import (
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// Renderer writes the plots and the page of a run. It is a session.Renderer.
type Renderer struct{}

// Curves writes the plots of the records.
func (Renderer) Curves(dir string, l results.Legend) error {
	records, err := rundir.ReadMetrics(rundir.Dir(dir).Metrics())
	if err != nil {
		return err
	}
	_, err = WritePlots(rundir.Dir(dir).Plots(), PlottedRun{
		Title: l.Title, Records: records, Objective: l.Objective, Constraints: l.Constraints, Bounded: l.Bounded, Bounds: l.Bounds,
	})
	return err
}

// Rates writes the plots of the rates of decisions and of the ROC curves; none without rates.
func (Renderer) Rates(dir, title string, tables map[results.Split]*results.RateTable, roc map[results.Split][][2]float64) error {
	all := splitRates(tables, roc)
	if all.Splits == nil {
		return nil
	}
	all.Title = title
	_, err := WriteRatePlots(rundir.Dir(dir).Plots(), all)
	return err
}

// Page writes report.html from the files of the run and its summary.
func (Renderer) Page(dir string, sum *results.Summary) error { return WriteRun(rundir.Dir(dir), sum) }
