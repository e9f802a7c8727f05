package session

import (
	"fmt"
	"time"

	"ppal/internal/checkpoint"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// checkpointShare is the largest share of a training's wall time that checkpoints after the first
// one take.
const checkpointShare = 0.05

// keeper writes the checkpoints of a run.
type keeper struct {
	s       *Session
	began   time.Time     // start of Optimize
	next    time.Time     // when the next checkpoint is due
	every   time.Duration // least time between checkpoints
	written bool          // the directory has a checkpoint of this run
	at      int           // iteration of that checkpoint
	failed  bool          // the last write failed
	writer  checkpoint.Writer
}

var _ trainer.Checkpointer = (*keeper)(nil)

// newKeeper returns the keeper of a session whose training begins now; nil if the session keeps no
// checkpoints.
func newKeeper(s *Session, began time.Time) *keeper {
	every := s.options.CheckpointEvery
	if s.files == nil || every <= 0 {
		return nil
	}
	return &keeper{s: s, began: began, next: began.Add(every), every: every,
		writer: checkpoint.Writer{Dir: string(s.files.dir)}}
}

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
	if err != nil && !k.failed && k.s.options.Settings.Warn != nil {
		k.s.options.Settings.Warn(trainer.Warning{Code: WarnFiles, Text: fmt.Sprintf("a checkpoint cannot be written: %v; "+
			"the training continues (--checkpoint-every 0 writes none)", err)})
	}
	k.failed = err != nil
}

// ends reports whether the last checkpoint is the end of a run that can be extended.
func (k *keeper) ends(r *trainer.Result) bool {
	return k != nil && k.written && k.at == r.Iterations && Extendable(r.Status)
}

// write makes the records durable and then writes the checkpoint.
func (k *keeper) write(state *trainer.State, at problem.Point) error {
	f := k.s.files
	size, sum, err := f.metrics.Sync()
	if err != nil {
		return err
	}
	return k.writer.Write(&checkpoint.Checkpoint{
		Program: k.s.options.Files.Version, Config: f.config, Records: checkpoint.Prefix{Bytes: size, SHA256: sum},
		Warnings: k.s.warnings, Spent: k.s.spent + time.Since(k.began), At: at, State: state,
	})
}

// Resumable reports whether the run's directory has a checkpoint from which Resume continues the
// run.
func (s *Session) Resumable() bool {
	return s.files != nil && s.files.keeper != nil && s.files.keeper.written
}
