package ranks

import (
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// Collective joins the processes of a run. The processes have the ranks 0, 1, ..., Size() - 1. All
// processes call Sum, Broadcast and Barrier in the same order. Each of these calls waits until all
// processes make the call. After an error, the run cannot continue.
type Collective interface {
	// Rank returns the number of this process, from 0.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Sum replaces x by the sum of the x of all processes, which have the same length. Each element
	// is ((x_0 + x_1) + x_2) + ..., in the order of the ranks, so all processes get the same bits.
	Sum(x []float64) error
	// Broadcast replaces x by the x of rank 0, which has the same length.
	Broadcast(x []float64) error
	// Barrier waits until all processes call Barrier.
	Barrier() error
	// Abort ends the run of all processes, with the reason. Calls that wait return an error, or the
	// processes end. Only the first call counts.
	Abort(reason error)
}

// Summed returns the problem whose f and g are the sums of f and g over the processes of c. Each
// process gives its part: the terms of its own rows, divided by the number of rows of all
// processes. One process alone subtracts the bounds. The regularizer and the iterate are not parts:
// they are the same in all processes. For one process, Summed returns part itself.
//
// The numbers that methods see have the same bits in all processes, so each process repeats the
// dual update and the primal step. Forward and Backward sum a checksum of the iterate and the
// coefficients too. If the processes differ, for example because a time limit stops one process
// alone, at least one process returns an error and ends all others. Settings that depend on the
// clock need the same decision in all processes; Summed does not share decisions.
//
// A part must not be a problem.Sampler, whose batches would need an order over all processes. A
// part must not be a problem.Piecewise: a sum of maxima is not the maximum of the sums. Summed
// returns an error that wraps problem.ErrSettings for such parts. Apply problem.MakePiecewise to
// the result instead.
func Summed(part problem.Problem, c Collective) (problem.Problem, error) {
	features := problem.FeaturesOf(part)
	switch {
	case c.Size() == 1:
		return part, nil
	case features.Batches != nil:
		return nil, fmt.Errorf("ranks: %w: mini-batches do not work over several processes: use full batches", problem.ErrSettings)
	case features.Pieces != nil:
		return nil, fmt.Errorf("ranks: %w: the parts of several processes have no maxima: apply MakePiecewise to the sum", problem.ErrSettings)
	}
	n, m := part.Dims()
	return &summed{Problem: part, with: c, n: n, m: m}, nil
}

// summed implements Summed. A message holds a checksum, then the numbers to add.
type summed struct {
	problem.Problem
	with    Collective
	n, m    int
	calls   int
	message []float64
}

// Forward implements problem.Problem. The processes exchange 2 + m numbers.
func (s *summed) Forward(g []float64) (float64, error) {
	f, err := s.Problem.Forward(g)
	if err != nil {
		return 0, s.fail(err)
	}
	x := s.start(s.n)
	s.Space().Read(x, problem.Iterate)
	sum := checksum(x)
	x = s.start(1 + s.m)
	x[0] = f
	copy(x[1:], g)
	if err := s.exchange(sum); err != nil {
		return 0, err
	}
	copy(g, s.message[2:])
	return s.message[1], nil
}

// Backward implements problem.Problem. The processes exchange 1 + n numbers in float64, and round
// once.
func (s *summed) Backward(coefficients []float64, d problem.Vector) error {
	if err := s.Problem.Backward(coefficients, d); err != nil {
		return s.fail(err)
	}
	x := s.start(s.n)
	s.Space().Read(x, d)
	if err := s.exchange(checksum(coefficients)); err != nil {
		return err
	}
	s.Space().Write(d, x)
	if err := s.Space().Err(); err != nil {
		return s.fail(err)
	}
	return nil
}

// NonSmooth implements problem.NonSmooth.
func (s *summed) NonSmooth() bool { return problem.FeaturesOf(s.Problem).Kinks }

// start returns the memory of n numbers of the next message.
func (s *summed) start(n int) []float64 {
	if cap(s.message) < 1+n {
		s.message = make([]float64, 1+max(n, s.n, 1+s.m))
	}
	s.message = s.message[:1+n]
	return s.message[1:]
}

// exchange sums the message. It returns an error if the checksums of the processes differ. A sum of
// checksums is exact, because each is less than 2^32. If the checksums differ, at least one process
// has a checksum that is not the mean, and that process ends all.
func (s *summed) exchange(sum uint32) error {
	s.calls++
	sum = sum*31 + uint32(s.calls)
	s.message[0] = float64(sum)
	if err := s.with.Sum(s.message); err != nil {
		return fmt.Errorf("ranks: sum over %d processes: %w", s.with.Size(), err)
	}
	if s.message[0] != float64(sum)*float64(s.with.Size()) {
		return s.fail(fmt.Errorf("ranks: process %d differs from the others in its weights or its next step", s.with.Rank()))
	}
	return nil
}

// fail ends all processes with the error of this process, and returns the error.
func (s *summed) fail(err error) error {
	s.with.Abort(err)
	return err
}

// checksum returns 32 bits that depend on the bits and the order of x (FNV-1a by numbers).
func checksum(x []float64) uint32 {
	h := uint64(14695981039346656037)
	for _, v := range x {
		h = (h ^ math.Float64bits(v)) * 1099511628211
		h ^= h >> 29
	}
	return uint32(h ^ h>>32)
}
