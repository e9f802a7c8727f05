package save

import (
	"fmt"

	"ppal/internal/rundir"
	"ppal/trainer"
)

// openEvents makes TensorBoard's file if the options ask for it. config is the contents of
// config.yaml, and start the first iteration that the file may hold.
func (d *Directory) openEvents(config []byte, start int) (err error) {
	if !d.options.TensorBoard {
		return nil
	}
	d.events, err = NewEventRecorder(string(d.Path), d.options.Constraints, config, start, d.options.Clock)
	return err
}

// resumeEvents makes TensorBoard's file of a run that continues after the record last, or from the
// start. The steps after the last record that the run keeps belong to the new file.
func (d *Directory) resumeEvents(last *trainer.Record) error {
	config, err := rundir.Seal{}.Read(d.Path.Config())
	if err != nil {
		return err
	}
	start := 0
	if last != nil {
		start = last.Iteration + 1
	}
	return d.openEvents(config, start)
}

// recordEvent writes a record to TensorBoard's file. If the file system refuses the record, the
// training continues without TensorBoard's file: metrics.jsonl has all records.
func (d *Directory) recordEvent(r *trainer.Record) {
	if d.events == nil {
		return
	}
	err := d.events.Record(r)
	if err == nil {
		return
	}
	_ = d.events.Close()
	d.events = nil
	d.options.Warn(fmt.Sprintf("the records for TensorBoard cannot be written: %v; the training continues without them, and metrics.jsonl has all records", err))
}
