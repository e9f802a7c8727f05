package save

import (
	"time"

	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/trainer/session/results"
)

// Finish holds the contents of the files of a certified run.
type Finish struct {
	Model   Model
	Details rundir.Details
	// Rates draws the plots of the rates after the plots of the records; nil: no plots.
	Rates func() error
	// Summary returns the summary. saving is the time that the files before the summary took.
	Summary func(saving time.Duration) *results.Summary
	// Page writes report.html before the summary and after the other files. err says why
	// details.json is missing.
	Page func(sum *results.Summary, err error)
	// Config returns the contents of config.yaml for another directory, if the run's own refuses the
	// model.
	Config func() ([]byte, error)
	// Continues says that the run can continue from its checkpoint.
	Continues bool
}

// Save writes the weights and, at the same time, details.json and the plots, then the page and the
// summary, and closes the directory. If a file cannot be written, Save still tries the others; the
// weights and the summary count for more than the plots. If the directory refuses the weights or
// the summary, Save writes both into the user's cache, and rescued is the directory there.
func (d *Directory) Save(f *Finish) (rescued string, err error) {
	began := time.Now()
	curves := d.curves
	drawing := relay.Go(func() error {
		if curves == nil {
			return nil
		}
		if err := curves(); err != nil {
			return err
		}
		return f.Rates()
	})
	detailing := relay.Go(func() error { return d.Path.WriteDetails(f.Details) })
	failure := d.saveModel(&f.Model)
	detailed, drawn := detailing(), drawing()
	d.curves = nil                                        // a second Save draws again
	if failure != nil && d.Path.RemovePictures() == nil { // the weights count for more
		failure = d.saveModel(&f.Model)
		detailed = d.Path.WriteDetails(f.Details)
	}
	lost := failure != nil
	sum := f.Summary(time.Since(began))
	write := d.Path.BeginSummary() // beside the page, which has no checksum
	f.Page(sum, detailed)
	written := write(sum)
	if written != nil && d.Path.RemovePictures() == nil { // the summary counts for more
		written = d.Path.WriteSummary(sum)
	}
	failure = Join(Join(failure, drawn), written)
	if lost || written != nil {
		rescued, failure = d.saveElsewhere(f, sum, failure)
	}
	if failure == nil && !f.Continues && !d.keeper.ends(f.Model.Training) {
		failure = rundir.RemoveCheckpoint(string(d.Path)) // the run needs none
	}
	return rescued, Join(failure, d.Close())
}

// SaveFailed writes the best feasible weights and the summary of a failed run.
func (d *Directory) SaveFailed(m *Model, sum *results.Summary) error {
	return Join(m.saveBest(d.Path), d.Path.WriteSummary(sum))
}
