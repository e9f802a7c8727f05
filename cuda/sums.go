package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ppal/cuda/driver"
)

// SumsSetting is the environment variable that ChosenSums reads.
const SumsSetting = "PPAL_GPU_SUMS"

// Sums is a way in which several GPUs add their sums. All ways give the same bits. The empty string
// means the first way of the following list that the machine supports.
type Sums string

// The ways to add sums.
const (
	// PeerSums: a kernel on every GPU reads the terms in the memory of all GPUs.
	PeerSums Sums = "peers"
	// NCCLSums: NCCL sends every GPU a slice of the terms of all GPUs, and then the sums of all
	// slices.
	NCCLSums Sums = "nccl"
	// HostSums: the host adds the terms.
	HostSums Sums = "host"
)

// ChosenSums returns the value of the environment variable SumsSetting.
func ChosenSums() (Sums, error) {
	known := []Sums{"", PeerSums, NCCLSums, HostSums}
	if s := Sums(os.Getenv(SumsSetting)); slices.Contains(known, s) {
		return s, nil
	}
	return "", fmt.Errorf("cuda: %s=%s: want peers, nccl or host", SumsSetting, os.Getenv(SumsSetting))
}

// connect chooses how the devices add sums, and prepares the devices for this way.
func (s *Several) connect() error {
	chosen := s.devices[0].options.GPUSums
	if s.sums = chosen; chosen == HostSums || s.devices[0].options.Processes {
		return nil
	}
	var err error
	if chosen != NCCLSums {
		if s.sums, err = PeerSums, s.enablePeers(); err == nil || chosen == "" && !errors.Is(err, driver.ErrNoPeer) {
			return err
		}
	}
	if chosen != PeerSums {
		if s.sums, err = NCCLSums, s.join(); err == nil || chosen == "" && !errors.Is(err, driver.ErrNoCommunicator) {
			return err
		}
	}
	if chosen != "" {
		return fmt.Errorf("%s=%s: %w", SumsSetting, chosen, err)
	}
	s.sums, s.without = HostSums, err
	return nil
}

// enablePeers lets every device read the memory of all others. The error wraps ErrNoPeer if the
// machine does not allow this.
func (s *Several) enablePeers() error {
	for _, d := range s.devices {
		for _, other := range s.devices {
			if other == d {
				continue
			}
			err := driver.ErrNoPeer
			if p, ok := d.driver.(driver.Peers); ok {
				err = p.EnablePeer(other.driver)
			}
			if errors.Is(err, driver.ErrNoPeer) {
				return fmt.Errorf("cuda:%d and cuda:%d: %w", d.Info().Ordinal, other.Info().Ordinal, err)
			}
			if err != nil {
				return s.of(d, err)
			}
		}
	}
	return nil
}

// join joins the devices in a communicator.
func (s *Several) join() (err error) {
	j, ok := s.devices[0].driver.(driver.Joiner)
	if !ok {
		return s.of(s.devices[0], driver.ErrNoCommunicator)
	}
	var list []driver.Driver
	for _, d := range s.devices {
		list = append(list, d.driver)
		s.streams = append(s.streams, d.stream)
	}
	s.communicator, err = j.Join(list)
	return err
}

// Path says how the devices add sums: "reading each other's memory", "with NCCL 2.21.5", or
// "through the host's memory" with the reason why NCCL is not used.
func (s *Several) Path() string {
	switch {
	case s.sums == PeerSums:
		return "reading each other's memory"
	case s.sums == NCCLSums:
		return "with " + s.communicator.Library()
	case s.without != nil:
		return fmt.Sprintf("through the host's memory (%s)", strings.Join(strings.Fields(s.without.Error()), " "))
	}
	return "through the host's memory"
}
