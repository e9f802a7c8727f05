package session

import (
	"time"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// recordSample has the rows of each split that records before the last one measure
// (trainer.Sample): a random part of each stratum, for a problem in blocks that keeps no layers.
type recordSample struct {
	splits  []*split        // the training rows first; all have blocks
	problem problem.Problem // the task on the training rows of the sample
}

// sampleRows is about the largest number of rows of a split in a sample.
const sampleRows = 1024

// The estimates from which records of a run on mini-batches measure a sample: if records that a run
// takes in any case (sampledRecords) would take more than build.RecordShare of the training and
// more than sampledWork nanoseconds of one thread.
const (
	sampledRecords = 10
	sampledWork    = 1e9
)

// Records of a sample take at most sampledShare of the training time, beyond freeSampled in all.
const (
	sampledShare = 0.2
	freeSampled  = 3 * time.Second
)

// needsSample reports whether records of all rows cost too much.
func (a *assembly) needsSample() bool {
	train := a.splits[0]
	if a.batches == nil || a.devices.Team != nil || train.Queries != nil || a.onDecisions() || train.Len() <= sampleRows {
		return false
	}
	work, _ := a.recordWork()
	work *= sampledRecords
	return work > build.RecordShare*float64(a.options.Settings.Iterations) && work*a.stepWork() > sampledWork
}

// sampleRecords builds the sample of the records. weights are the initial weights as trained.
func (a *assembly) sampleRecords(weights models.Weights) error {
	own := &recordSample{}
	for _, s := range a.splits {
		list := build.SampleOf(s.Stratified(), min(1, sampleRows/float64(s.Len())), a.options.Settings.Seed)
		part := *s.Split
		part.Rows = s.Pick(list, build.PickData(s.Data, list))
		picked := &split{Split: &part}
		var err error
		if picked.blocks, err = a.builder.NewBlocks(part.Data, a.dtype, weights); err != nil {
			return err
		}
		picked.blocks.Keep()
		a.builder.byStrata(picked, picked.blocks)
		if picked.measure, err = a.builder.measurer(part.Rows); err != nil {
			return err
		}
		own.splits = append(own.splits, picked)
	}
	x, err := models.Stack(a.builder.Model, weights)
	if err != nil {
		return err
	}
	rows := own.splits[0]
	if rows.head, err = a.builder.Head(a.builder.rows(rows.Rows)); err != nil {
		return err
	}
	own.problem, err = a.builder.statement.complete(build.NewExact(a.builder.Builder, rows.blocks, rows.head, x))
	a.recorded = own
	return err
}

// rest gives back the memory of the layers until the next record of the sample.
func (r *recordSample) rest() {
	if r == nil {
		return
	}
	for _, s := range r.splits {
		s.blocks.Rest()
	}
}

// settings adds the sample to the settings of a training.
func (r *recordSample) settings(a *assembly, s *trainer.Settings) {
	if r == nil {
		return
	}
	if s.Samples() {
		s.RecordShare, s.FreeRecords = sampledShare, freeSampled
	}
	s.Sample = &trainer.Sample{Problem: r.problem, Rows: r.splits[0].Len(), Measure: func() (map[string]float64, error) {
		return a.measureAll(r.splits, r.problem)
	}}
}
