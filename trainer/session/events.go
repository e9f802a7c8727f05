package session

import (
	"fmt"

	"ppal/internal/rundir"
	"ppal/internal/tensorboard"
	"ppal/trainer"
)

// openEvents makes TensorBoard's file if the options ask for it. config is the contents of
// config.yaml, and start the first iteration that the file may hold.
func (s *Session) openEvents(config []byte, start int) (err error) {
	if !s.options.TensorBoard {
		return nil
	}
	d := s.pipeline.Describe()
	s.files.events, err = tensorboard.NewRecorder(string(s.files.dir), d.Constraints, config, start, s.options.Files.Clock)
	return err
}

// resumeEvents makes TensorBoard's file of a run that continues. The steps after the last record
// that the run keeps belong to the new file.
func (s *Session) resumeEvents() error {
	config, err := rundir.Seal{}.Read(s.files.dir.Config())
	if err != nil {
		return err
	}
	start := 0
	if s.last != nil {
		start = s.last.Iteration + 1
	}
	return s.openEvents(config, start)
}

// recordEvent writes a record to TensorBoard's file. If the file system refuses the record, the
// training continues without TensorBoard's file: metrics.jsonl has all records.
func (s *Session) recordEvent(r *trainer.Record) {
	if s.files.events == nil {
		return
	}
	err := s.files.events.Record(r)
	if err == nil {
		return
	}
	_ = s.files.events.Close()
	s.files.events = nil
	if tell := s.options.Settings.Warn; tell != nil {
		tell(trainer.Warning{Code: WarnFiles, Text: fmt.Sprintf("the records for TensorBoard cannot be written: %v; "+
			"the training continues without them, and metrics.jsonl has all records", err)})
	}
}
