package save

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ppal/internal/disk"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// Extendable reports whether a finished run with the status can continue with longer limits.
func Extendable(status trainer.Status) bool {
	return status == trainer.IterationLimit || status == trainer.TimeLimit
}

// Extension extends a finished run by longer limits.
type Extension struct {
	Before int // the run's limit of iterations
	// Differs says why the run may differ from an uninterrupted run with the new limits; "": it does
	// not.
	Differs string
	// Config returns the contents of config.yaml with the new limits.
	Config func(e *results.Extended) ([]byte, error)
}

// extend makes the finished run one with the new limits that was interrupted at the checkpoint c.
// It removes summary.json before it writes config.yaml: after a crash, the run therefore continues
// with the old or the new limits.
func (d *Directory) extend(c *rundir.Checkpoint, x *Extension, from func(first int) error) error {
	e := &results.Extended{Config: c.Config, Iterations: x.Before}
	if d.extended != nil {
		e.Iterations, e.Notes = d.extended.Iterations, slices.Clip(d.extended.Notes)
	}
	if x.Differs != "" {
		e.Notes = append(e.Notes, fmt.Sprintf("The run was extended after %d iterations: an uninterrupted run with the new limits may differ, because %s.",
			c.At.Iteration, x.Differs))
	}
	if err := d.continueFrom(from, e.Iterations); err != nil {
		return err
	}
	config, err := x.Config(e)
	if err != nil {
		return err
	}
	if err := disk.Local.Remove(d.Path.Summary()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session: %w", err)
	}
	if err := disk.SyncFolder(d.Path.Summary()); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if err := rundir.WriteFile(d.Path.Config(), config); err != nil {
		return err
	}
	d.config, d.extended = disk.Sum(config), e
	return nil
}
