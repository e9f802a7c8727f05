package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppal/cuda/driver"
	"ppal/internal/plan"
)

// Among makes the GPUs share the rows with the GPUs of other processes. The GPUs of all processes
// are numbered in the order of the ranks: this process's from first on, of total. The sums go over
// NCCL or through the host's memory, by Options.GPUSums: NCCLSums if this works in all processes,
// else HostSums. All processes call Among, with the same result.
//
// Processes with one GPU each have the bits of one process with all GPUs. With HostSums and several
// GPUs for each process, the host first adds and rounds over its own GPUs, so the last bits differ.
//
// Each process compiles the same plans with data that have its rows (plan.PartOf). Among comes
// before NewVectors. A program's Forward, Backward and Contents return when all processes have
// called them.
func (s *Several) Among(p plan.Processes, first, total int) error {
	s.processes, s.first, s.total = p, first, total
	chosen, err := s.sameSums()
	if err != nil {
		return err
	}
	s.sums = HostSums
	if chosen == HostSums {
		return nil
	}
	soft, err := s.gather()
	switch {
	case err == nil:
		s.sums = NCCLSums
		return nil
	case chosen == NCCLSums:
		return fmt.Errorf("%s=%s: %w", SumsSetting, chosen, err)
	case soft:
		s.without = err
		return nil
	}
	return err
}

// sameSums returns the way to add sums that all processes chose.
func (s *Several) sameSums() (Sums, error) {
	known := []Sums{"", NCCLSums, HostSums}
	all := make([]float64, s.processes.Size())
	own := slices.Index(known, s.devices[0].options.GPUSums)
	all[s.processes.Rank()] = float64(own)
	if err := s.processes.Sum(all); err != nil {
		return "", err
	}
	for rank, number := range all {
		switch {
		case number < 0:
			return "", fmt.Errorf("cuda: %s=%s: several processes add sums by nccl or host", SumsSetting, PeerSums)
		case number != all[0]:
			return "", fmt.Errorf("cuda: %s is %q in process 0 and %q in process %d: give all processes the same value (mpirun -x %[1]s)",
				SumsSetting, known[int(all[0])], known[int(number)], rank)
		}
	}
	return known[own], nil
}

// gather joins the devices of all processes in a communicator. The error is the same in all
// processes: the first process's that has one. soft says that the error wraps
// driver.ErrNoCommunicator in that process.
func (s *Several) gather() (soft bool, err error) {
	var list []driver.Driver
	for _, d := range s.devices {
		list = append(list, d.driver)
		s.streams = append(s.streams, d.stream)
	}
	g, ok := s.devices[0].driver.(driver.Gatherer)
	if !ok {
		err = driver.ErrNoCommunicator
	}
	var meeting []byte
	if err == nil {
		meeting, err = g.Meet(s.processes.Rank() == 0)
	}
	if soft, err = s.agree(err); err != nil {
		return soft, err
	}
	if meeting, err = s.fromLeader(meeting); err != nil {
		return false, err
	}
	c, err := g.Gather(meeting, list, s.first, s.total)
	if soft, err = s.agree(err); err != nil {
		if c != nil {
			c.Abort() // does not wait for the others
		}
		return soft, err
	}
	s.communicator = c
	return false, nil
}

// mostReason is the longest text of an error that the processes exchange, in bytes.
const mostReason = 400

// agree returns the error of the first process that has one, and whether that error wraps
// driver.ErrNoCommunicator.
func (s *Several) agree(err error) (soft bool, all error) {
	const failed, softly = 1, 2
	codes := make([]float64, s.processes.Size())
	if err != nil {
		codes[s.processes.Rank()] = failed
		if errors.Is(err, driver.ErrNoCommunicator) {
			codes[s.processes.Rank()] = softly
		}
	}
	if err := s.processes.Sum(codes); err != nil {
		return false, err
	}
	one := slices.IndexFunc(codes, func(code float64) bool { return code != 0 })
	if one < 0 {
		return false, nil
	}
	text := make([]float64, mostReason)
	if one == s.processes.Rank() {
		for i, b := range []byte(strings.Join(strings.Fields(err.Error()), " ")) {
			if i < len(text) {
				text[i] = float64(b)
			}
		}
	}
	if err := s.processes.Sum(text); err != nil {
		return false, err
	}
	reason := strings.Builder{}
	for _, b := range text {
		if b != 0 {
			reason.WriteByte(byte(b))
		}
	}
	return codes[one] == softly, fmt.Errorf("process %d: %s", one, reason.String())
}

// fromLeader returns what process 0 passes. All processes pass the same number of bytes.
func (s *Several) fromLeader(own []byte) ([]byte, error) {
	all := make([]float64, len(own))
	for i, b := range own {
		if s.processes.Rank() == 0 {
			all[i] = float64(b)
		}
	}
	if err := s.processes.Sum(all); err != nil {
		return nil, err
	}
	for i, v := range all {
		own[i] = byte(v)
	}
	return own, nil
}
