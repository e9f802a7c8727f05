// Package study runs many trainings and keeps their records: it is the engine under ppal compare,
// sweep and reproduce. A Comparison runs several methods, a Sweep trains for several bounds of one
// constraint, and a Choice tries settings and chooses one by rows that do not train.
//
// A Job yields the record of one training. A Study executes jobs, several at a time, and keeps the
// records in a Store, so that an interrupted study continues with the missing jobs. A Journal is a
// Store in one file. Locked and description protect the directory of a study: from other processes,
// and from another study. Python runs the libraries with which ppal is compared.
package study

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"ppal/internal/relay"
)

// Job is one training of a study.
type Job[T any] struct {
	Key  string // identifies the job, with all settings on which its record depends
	Name string // name of the job in Study.Progress
	// Do yields the record. worker is less than Study.Workers, and different for jobs at the same
	// time.
	Do func(ctx context.Context, worker int) (T, error)
}

// ErrNoRecord is the error of a Job that has no record, although nothing has failed.
var ErrNoRecord = errors.New("study: the job has no record")

// Store keeps the records of jobs. Its methods may be called by several goroutines at the same
// time.
type Store[T any] interface {
	// Find returns the record of the job with a key; false if the job must be done.
	Find(key string) (T, bool)
	// Add keeps the record of a job that is done.
	Add(key string, record T) error
}

// Shared is a Store that several processes may use at the same time.
type Shared interface {
	// Claim gives the job with a key to this process, until release. ok is false while another
	// process has the job.
	Claim(key string) (release func() error, ok bool, err error)
}

// errTaken says that another process does the job.
var errTaken = errors.New("study: another process does the job")

// look is the time between two looks at the jobs of other processes.
const look = 200 * time.Millisecond

// Progress is called with the number of finished jobs, fractions included. Calls do not overlap.
type Progress func(done float64, total int, running string)

// Study executes jobs. The fields are set before the first call of Run.
type Study[T any] struct {
	Store    Store[T]
	Workers  int      // largest number of jobs at a time; 0: 1
	Total    int      // number of the jobs of all calls of Run
	Progress Progress // called when a job begins, goes on (Share) or ends; may be nil

	mu       sync.Mutex
	finished int
	shares   map[string]float64 // finished share of each running job
}

// Run executes the jobs that the store lacks, in their order, and returns the records of all jobs
// in the order of the jobs. The record of a job without a record (ErrNoRecord) is the zero value.
// After the first error of a job, Run cancels the jobs at work, waits for them and returns that
// error. If ctx is cancelled, Run returns the cause. The store keeps the records of the jobs that
// ended before. With a Shared store, Run waits for the jobs that other processes do.
func (s *Study[T]) Run(ctx context.Context, jobs []Job[T]) ([]T, error) {
	records := make([]T, len(jobs))
	todo := make([]int, len(jobs))
	for i := range todo {
		todo[i] = i
	}
	for {
		taken, err := s.pass(ctx, jobs, todo, records)
		switch {
		case err != nil:
			return nil, err
		case len(taken) == 0:
			return records, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
		todo = taken
	}
}

// pass executes the jobs todo, and returns those that other processes do, in their order.
func (s *Study[T]) pass(ctx context.Context, jobs []Job[T], todo []int, records []T) (taken []int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	var panics relay.Relay
	for worker := range min(max(1, s.Workers), len(todo)) {
		workers.Go(func() {
			for i := range next {
				err := panics.Do(func() (err error) {
					records[i], err = s.one(ctx, jobs[i], worker)
					return err
				})
				if errors.Is(err, errTaken) {
					s.mu.Lock()
					taken = append(taken, i)
					s.mu.Unlock()
				} else if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, i := range todo {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	panics.Throw()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.Sort(taken)
	return taken, nil
}

// one returns the record of a job from the store, or executes the job.
func (s *Study[T]) one(ctx context.Context, j Job[T], worker int) (record T, err error) {
	if ctx.Err() != nil {
		return record, context.Cause(ctx)
	}
	record, ok := s.Store.Find(j.Key)
	if shared, is := s.Store.(Shared); is && !ok {
		release, free, claimErr := shared.Claim(j.Key)
		switch {
		case claimErr != nil:
			return record, claimErr
		case !free:
			return record, errTaken
		}
		defer func() { err = errors.Join(err, release()) }()
		record, ok = s.Store.Find(j.Key) // another process may have done it meanwhile
	}
	if ok {
		s.end(j)
		return record, nil
	}
	s.begin(j)
	record, err = j.Do(ctx, worker)
	switch {
	case errors.Is(err, ErrNoRecord):
		record, err = *new(T), nil
	case err == nil:
		err = s.Store.Add(j.Key, record)
	}
	if err != nil {
		return record, err
	}
	s.end(j)
	return record, nil
}

// begin reports that a job begins.
func (s *Study[T]) begin(j Job[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(j.Name)
}

// end reports the end of a job.
func (s *Study[T]) end(j Job[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shares, j.Name)
	s.finished++
	s.tell(j.Name)
}

// Share reports the finished share of a running job, a number from 0 to 1. A study that reports
// shares has jobs with different names.
func (s *Study[T]) Share(name string, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shares == nil {
		s.shares = map[string]float64{}
	}
	s.shares[name] = share
	s.tell(name)
}

// tell calls Progress. The caller holds the lock.
func (s *Study[T]) tell(running string) {
	if s.Progress == nil {
		return
	}
	done := float64(s.finished)
	for _, share := range s.shares {
		done += share
	}
	s.Progress(done, s.Total, running)
}
