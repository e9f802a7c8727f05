package save

import (
	"fmt"
	"time"

	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// checkpointShare is the largest share of a training's wall time that checkpoints after the first
// one take.
const checkpointShare = 0.05

// Progress is the part of a run before its training, or before a checkpoint of it.
type Progress struct {
	Program  string           // the version of the program
	Warnings trainer.Warnings // so far
	Spent    time.Duration    // wall time
}

// keeper writes the checkpoints of a run.
type keeper struct {
	d        *Directory
	progress func() Progress
	next     time.Time     // when the next checkpoint is due
	every    time.Duration // least time between checkpoints
	written  bool          // the directory has a checkpoint of this run
	at       int           // iteration of that checkpoint
	failed   bool          // the last write failed
	writer   rundir.CheckpointWriter
}

var _ trainer.Checkpointer = (*keeper)(nil)

// Keep returns the checkpointer of a training that begins now. every is the least time between
// checkpoints.
func (d *Directory) Keep(every time.Duration, progress func() Progress) trainer.Checkpointer {
	d.keeper = &keeper{d: d, progress: progress, next: time.Now().Add(every), every: every, writer: rundir.CheckpointWriter{Dir: string(d.Path)}}
	return d.keeper
}

// Resumable reports whether the directory has a checkpoint of this run.
func (d *Directory) Resumable() bool { return d != nil && d.keeper != nil && d.keeper.written }

// Due implements trainer.Checkpointer.
func (k *keeper) Due() bool { return !time.Now().Before(k.next) }

// Checkpoint implements trainer.Checkpointer. A checkpoint that cannot be written causes a warning;
// the training continues.
func (k *keeper) Checkpoint(state *trainer.State, at problem.Point) {
	began := time.Now()
	err := k.write(state, at)
	cost := time.Since(began)
	k.next = began.Add(max(k.every, time.Duration(float64(cost)/checkpointShare)))
	if err == nil {
		k.written, k.at = true, at.Iteration
	}
	if err != nil && !k.failed {
		k.d.options.Warn(fmt.Sprintf("a checkpoint cannot be written: %v; the training continues (--checkpoint-every 0 writes none)", err))
	}
	k.failed = err != nil
}

// ends reports whether the last checkpoint is the end of a run that can be extended.
func (k *keeper) ends(r *trainer.Result) bool {
	return k != nil && k.written && k.at == r.Iterations && Extendable(r.Status)
}

// write makes the records durable and then writes the checkpoint.
func (k *keeper) write(state *trainer.State, at problem.Point) error {
	size, sum, err := k.d.metrics.Sync()
	if err != nil {
		return err
	}
	p := k.progress()
	return k.writer.Write(&rundir.Checkpoint{
		Program: p.Program, Config: k.d.config, Records: rundir.RecordPrefix{Bytes: size, SHA256: sum},
		Warnings: p.Warnings.Encode(), Spent: p.Spent, At: at, State: state,
	})
}
