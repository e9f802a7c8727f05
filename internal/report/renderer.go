package report

import (
	"html/template"

	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// Renderer writes the plots and the page of a run. It is a session.Renderer. The zero value is
// ready for use.
type Renderer struct {
	templates func() (*template.Template, error) // of the page; nil: not parsed yet
}

// NewRenderer returns a renderer for one run. It begins to parse the templates of the run's page,
// while the run reads its data.
func NewRenderer() Renderer { return Renderer{relay.Start(parseTemplates)} }

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
func (r Renderer) Page(dir string, sum *results.Summary) error {
	return writeRun(rundir.Dir(dir), sum, r.templates)
}
