package testkit

import (
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Checkpoints is a trainer.Checkpointer and a trainer.Recorder that keeps all states and records.
type Checkpoints struct {
	// Asked are the numbers, from 1, of the calls of Due that ask for a checkpoint.
	Asked   []int
	States  []*trainer.State
	Points  []problem.Point
	Records []trainer.Record
	before  []int // the number of records before each state
	dues    int
}

// Due implements trainer.Checkpointer.
func (c *Checkpoints) Due() bool {
	c.dues++
	return slices.Contains(c.Asked, c.dues)
}

// Checkpoint implements trainer.Checkpointer.
func (c *Checkpoints) Checkpoint(s *trainer.State, at problem.Point) {
	c.States, c.Points, c.before = append(c.States, s), append(c.Points, at), append(c.before, len(c.Records))
}

// Record implements trainer.Recorder.
func (c *Checkpoints) Record(r *trainer.Record) error {
	own := *r
	own.Seconds = 0
	own.Constraints, own.Multipliers = slices.Clone(r.Constraints), slices.Clone(r.Multipliers)
	own.Auxiliary, own.Slack = slices.Clone(r.Auxiliary), slices.Clone(r.Slack)
	c.Records = append(c.Records, own)
	return nil
}

// After returns the records after state i.
func (c *Checkpoints) After(i int) []trainer.Record { return c.Records[c.before[i]:] }
