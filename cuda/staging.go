package cuda

import (
	"fmt"

	"ppal/internal/cuda/driver"
)

// stageBytes is the size of a pinned buffer: large enough for the full rate of the bus, small
// enough to be filled while the other buffer is copied.
const stageBytes = 4 << 20

// stage is a pinned buffer with its own stream. The buffer is filled again when its last copy is
// done.
type stage struct {
	host   []byte
	stream driver.Stream
	done   driver.Event
}

// staging is a pair of stages: one is filled while the other is copied.
type staging struct {
	d      *Device
	stages [2]stage
	before driver.Event // the point of the compute stream at which an upload begins
}

func newStaging(d *Device) (s *staging, err error) {
	s = &staging{d: d}
	if s.before, err = d.driver.NewEvent(); err != nil {
		return s, fmt.Errorf("cuda: %w", err)
	}
	for i := range s.stages {
		t := &s.stages[i]
		if t.host, err = d.driver.Pinned(stageBytes); err != nil {
			return s, fmt.Errorf("cuda: pinned memory for uploads: %w", err)
		}
		if t.stream, err = d.driver.NewStream(); err != nil {
			return s, fmt.Errorf("cuda: %w", err)
		}
		if t.done, err = d.driver.NewEvent(); err != nil {
			return s, fmt.Errorf("cuda: %w", err)
		}
	}
	return s, nil
}

// upload copies count items of size bytes to the device; fill writes the items from to to-1 to dst.
// The upload is ordered after the work that is queued on the compute stream, and before the work
// that is queued next. The host is at most two buffers ahead of the device.
func (s *staging) upload(at driver.Pointer, count, size int, fill func(dst []byte, from, to int)) error {
	dev := s.d.driver
	if err := dev.Record(s.before, s.d.stream); err != nil {
		return err
	}
	for i := range s.stages {
		if err := dev.Wait(s.stages[i].stream, s.before); err != nil {
			return err
		}
	}
	most := stageBytes / size
	if most == 0 {
		return fmt.Errorf("cuda: %d bytes in one piece, at most %d can be uploaded", size, stageBytes)
	}
	for from, k := 0, 0; from < count; from, k = from+most, k+1 {
		t, to := &s.stages[k%2], min(from+most, count)
		if err := dev.Synchronize(t.stream); err != nil {
			return err
		}
		host := t.host[:(to-from)*size]
		fill(host, from, to)
		if err := dev.Upload(t.stream, at.Offset(from*size), host); err != nil {
			return err
		}
	}
	for i := range s.stages {
		if err := dev.Record(s.stages[i].done, s.stages[i].stream); err != nil {
			return err
		}
		if err := dev.Wait(s.d.stream, s.stages[i].done); err != nil {
			return err
		}
	}
	return nil
}

// download copies count items of size bytes from the device; take reads the items from to to-1 from
// src. The download is ordered after the work that is queued on the compute stream, and waits for
// that work.
func (s *staging) download(at driver.Pointer, count, size int, take func(src []byte, from, to int)) error {
	dev, t, most := s.d.driver, &s.stages[0], stageBytes/size
	if err := dev.Synchronize(t.stream); err != nil {
		return err
	}
	for from := 0; from < count; from += most {
		to := min(from+most, count)
		host := t.host[:(to-from)*size]
		if err := dev.Download(s.d.stream, host, at.Offset(from*size)); err != nil {
			return err
		}
		if err := dev.Synchronize(s.d.stream); err != nil {
			return err
		}
		if err := s.d.hostReads(host); err != nil {
			return err
		}
		take(host, from, to)
	}
	return nil
}

// close releases everything that was allocated.
func (s *staging) close() (failed error) {
	keep := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	dev := s.d.driver
	for _, t := range s.stages {
		if t.stream != 0 {
			keep(dev.Synchronize(t.stream))
			keep(dev.FreeStream(t.stream))
		}
		if t.host != nil {
			keep(dev.FreePinned(t.host))
		}
		if t.done != 0 {
			keep(dev.FreeEvent(t.done))
		}
	}
	if s.before != 0 {
		keep(dev.FreeEvent(s.before))
	}
	return failed
}
