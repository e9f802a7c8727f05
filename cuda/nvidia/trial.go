//go:build gpu

package nvidia

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ppal/cuda/driver"
)

// testedBytes is the size of a tested transfer: more than a packet of NCCL's protocol for small
// messages. With many devices, the transfers to a device have mostTested bytes together, but each
// has at least leastTested.
const (
	testedBytes = 1 << 20
	leastTested = 64 << 10
	mostTested  = 16 << 20
)

// tested returns the bytes that a device sends in the test.
func tested(number, total int) []byte {
	sent := make([]byte, min(testedBytes, max(leastTested, mostTested/total)))
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	for i := range sent {
		sent[i] = byte(rng.Uint32())
	}
	return sent
}

// test lets every device send random bytes to all others, and compares what arrives at the devices
// of this process. It aborts the communicators if the transfers take longer than patience.
func (c *communicator) test(patience time.Duration) (err error) {
	n := len(c.devices)
	size := len(tested(0, c.total))
	streams, outbox, inbox := make([]driver.Stream, n), make([]driver.Pointer, n), make([]driver.Pointer, n)
	for k, d := range c.devices {
		if streams[k], err = d.NewStream(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.FreeStream(streams[k])) }()
		if outbox[k], err = d.Allocate(size); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Free(outbox[k])) }()
		if inbox[k], err = d.Allocate(c.total * size); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Free(inbox[k])) }()
		if err := d.Upload(streams[k], outbox[k], tested(c.first+k, c.total)); err != nil {
			return err
		}
	}
	var group, arriving []driver.Transfer
	for from := range c.total {
		for to := range c.total {
			t := driver.Transfer{From: from, To: to, Bytes: size}
			if c.has(from) {
				t.Source = outbox[from-c.first]
			}
			if c.has(to) {
				t.Target = inbox[to-c.first].Offset(from * size)
			}
			if to != from && (c.has(from) || c.has(to)) {
				group = append(group, t)
				if c.has(to) {
					arriving = append(arriving, t)
				}
			}
		}
	}
	late := func() error {
		return fmt.Errorf("the first transfers of %s did not end within %v (%s=none leaves NCCL out)", c.Library(), patience, NCCLFile)
	}
	if err := c.within(patience, func() error { return c.Transfer(streams, group) }, late); err != nil {
		return err
	}
	aborted := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		c.Abort() // the waits below end
		close(aborted)
	})
	defer func() {
		if !timer.Stop() {
			<-aborted // all of them, before the streams are freed
			err = late()
		}
	}()
	for _, t := range arriving {
		to := t.To - c.first
		d, got := c.devices[to], make([]byte, size)
		if err := errors.Join(d.Download(streams[to], got, t.Target), d.Synchronize(streams[to])); err != nil {
			return err
		}
		if !bytes.Equal(got, tested(t.From, c.total)) {
			return fmt.Errorf("%s changed the bytes that %s sent to cuda:%d", c.Library(), c.name(t.From), d.info.Ordinal)
		}
	}
	return nil
}

// has reports whether a device belongs to this process.
func (c *communicator) has(number int) bool {
	return number >= c.first && number < c.first+len(c.devices)
}

// name names a device.
func (c *communicator) name(number int) string {
	if !c.has(number) {
		return fmt.Sprintf("GPU %d of all processes", number)
	}
	return fmt.Sprintf("cuda:%d", c.devices[number-c.first].info.Ordinal)
}

// within calls a function of NCCL that may wait for other devices. If it does not return within
// patience, nobody can end the call, and within returns the error late.
func (c *communicator) within(patience time.Duration, call func() error, late func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		c.lost = true
		return late()
	}
}
