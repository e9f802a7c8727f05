package double

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ppal/cuda/driver"
)

// communicator copies between devices of a machine, and of other machines.
type communicator struct {
	devices      []*Driver
	first, total int      // the number of devices[0] among all devices, and their number
	network      *Network // nil: the devices are all devices
	closed       bool
}

// Join implements driver.Joiner.
func (d *Driver) Join(devices []driver.Driver) (driver.Communicator, error) {
	if err := d.begin(Call{Kind: "Join"}); err != nil {
		return nil, err
	}
	c := &communicator{total: len(devices)}
	if err := c.take(d, devices); err != nil {
		return nil, err
	}
	if !d.options.NCCL {
		return nil, fmt.Errorf("double: %w", driver.ErrNoCommunicator)
	}
	c.join()
	return c, nil
}

// take sets the devices, of which the first is d.
func (c *communicator) take(d *Driver, devices []driver.Driver) error {
	for _, other := range devices {
		o, ok := other.(*Driver)
		if !ok || o.machine != d.machine || slices.Contains(c.devices, o) {
			return d.violation("not different devices of this machine")
		}
		c.devices = append(c.devices, o)
	}
	if len(c.devices) == 0 || c.devices[0] != d {
		return d.violation("the first device is another")
	}
	return nil
}

func (c *communicator) join() {
	for _, o := range c.devices {
		o.joined++
	}
}

// of returns this machine's device with a number among all devices; nil: another machine has it.
func (c *communicator) of(number int) *Driver {
	if k := number - c.first; k >= 0 && k < len(c.devices) {
		return c.devices[k]
	}
	return nil
}

// Library implements driver.Communicator.
func (c *communicator) Library() string { return "the double's NCCL" }

// Transfer implements driver.Communicator. It records a call Send of the device From and a call
// Receive of the device To for each transfer. A Receive follows the earlier work of the sender. A
// Send does not wait for the receiver: the sender may be done before the receiver begins.
func (c *communicator) Transfer(streams []driver.Stream, group []driver.Transfer) error {
	first := c.devices[0]
	if err := first.begin(Call{Kind: "Transfer"}); err != nil {
		c.network.end(err)
		return err
	}
	if c.closed || len(streams) != len(c.devices) {
		return first.violation("a closed communicator, or %d streams of %d devices", len(streams), len(c.devices))
	}
	for i, t := range group {
		switch {
		case min(t.From, t.To) < 0 || max(t.From, t.To) >= c.total || t.From == t.To || t.Bytes <= 0 || c.of(t.From) == nil && c.of(t.To) == nil:
			return first.violation("a transfer of %d bytes from device %d to device %d", t.Bytes, t.From, t.To)
		case slices.ContainsFunc(group[:i], func(u driver.Transfer) bool { return c.conflict(t, u) }):
			return first.violation("two transfers of a group touch the same bytes, and one of them writes there")
		}
	}
	sent := make([]clock, len(group))
	for i, t := range group {
		d := c.of(t.From)
		if d == nil {
			continue
		}
		if err := d.idle(); err != nil {
			return err
		}
		s, reads := streams[t.From-c.first], driver.Span{At: t.Source, Bytes: t.Bytes}
		do := func() error { c.network.send(t, d.heap.contents(reads)); return nil }
		if c.of(t.To) != nil {
			do = nil
		}
		if err := d.work(action{Call: Call{Kind: "Send", Stream: s, Bytes: t.Bytes, Reads: []driver.Span{reads}}, do: do}); err != nil {
			return err
		}
		sent[i] = d.streams[s].clone()
	}
	for i, t := range group {
		d := c.of(t.To)
		if d == nil {
			continue
		}
		if err := d.idle(); err != nil {
			return err
		}
		s, reads, writes := streams[t.To-c.first], driver.Span{At: t.Source, Bytes: t.Bytes}, driver.Span{At: t.Target, Bytes: t.Bytes}
		do := func() error { copy(d.heap.contents(writes), d.heap.contents(reads)); return nil }
		if c.of(t.From) != nil {
			d.streams[s].join(sent[i])
		} else {
			do = func() error { return c.network.receive(t, d.heap.contents(writes)) }
		}
		err := d.work(action{Call: Call{Kind: "Receive", Stream: s, Bytes: t.Bytes, Writes: []driver.Span{writes}}, do: do})
		if err != nil {
			return err
		}
	}
	return nil
}

// Err implements driver.Communicator.
func (c *communicator) Err() error { return c.network.failure() }

// Limit implements driver.Communicator. The double's transfers end at once.
func (c *communicator) Limit(time.Duration) (end func()) {
	_ = c.devices[0].begin(Call{Kind: "Limit"})
	return func() {}
}

// Close implements driver.Communicator.
func (c *communicator) Close() error {
	if c.closed {
		return nil
	}
	if err := c.devices[0].begin(Call{Kind: "CloseCommunicator"}); err != nil {
		return err
	}
	for _, d := range c.devices {
		d.joined--
	}
	c.closed = true
	return nil
}

// Abort implements driver.Communicator.
func (c *communicator) Abort() {
	if c.closed {
		return
	}
	_ = c.devices[0].begin(Call{Kind: "AbortCommunicator"}) // an abort does not fail
	c.network.end(errors.New("its communicator was aborted"))
	for _, d := range c.devices {
		d.joined--
	}
	c.closed = true
}

// conflict reports whether two transfers touch the same bytes of this machine, and one of them
// writes there.
func (c *communicator) conflict(t, u driver.Transfer) bool {
	span := func(at driver.Pointer, of driver.Transfer, number int) driver.Span {
		if c.of(number) == nil {
			return driver.Span{}
		}
		return driver.Span{At: at, Bytes: of.Bytes}
	}
	target, source := span(t.Target, t, t.To), span(t.Source, t, t.From)
	return overlap(target, span(u.Target, u, u.To)) || overlap(target, span(u.Source, u, u.From)) || overlap(source, span(u.Target, u, u.To))
}
