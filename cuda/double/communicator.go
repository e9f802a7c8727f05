package double

import (
	"fmt"
	"slices"

	"ppal/cuda/driver"
)

// communicator copies between devices of a machine.
type communicator struct {
	devices []*Driver
	closed  bool
}

// Join implements driver.Joiner.
func (d *Driver) Join(devices []driver.Driver) (driver.Communicator, error) {
	if err := d.begin(Call{Kind: "Join"}); err != nil {
		return nil, err
	}
	c := &communicator{}
	for _, other := range devices {
		o, ok := other.(*Driver)
		if !ok || o.machine != d.machine || slices.Contains(c.devices, o) {
			return nil, d.violation("not different devices of this machine")
		}
		c.devices = append(c.devices, o)
	}
	if len(c.devices) == 0 || c.devices[0] != d {
		return nil, d.violation("the first device is another")
	}
	if !d.options.NCCL {
		return nil, fmt.Errorf("double: %w", driver.ErrNoCommunicator)
	}
	for _, o := range c.devices {
		o.joined++
	}
	return c, nil
}

// Library implements driver.Communicator.
func (c *communicator) Library() string { return "the double's NCCL" }

// Transfer implements driver.Communicator. It records a call Send of the device From and a call
// Receive of the device To for each transfer. A Receive follows the earlier work of the sender. A
// Send does not wait for the receiver: the sender may be done before the receiver begins.
func (c *communicator) Transfer(streams []driver.Stream, group []driver.Transfer) error {
	first := c.devices[0]
	if err := first.begin(Call{Kind: "Transfer"}); err != nil {
		return err
	}
	if c.closed || len(streams) != len(c.devices) {
		return first.violation("a closed communicator, or %d streams of %d devices", len(streams), len(c.devices))
	}
	for i, t := range group {
		switch {
		case min(t.From, t.To) < 0 || max(t.From, t.To) >= len(c.devices) || t.From == t.To || t.Bytes <= 0:
			return first.violation("a transfer of %d bytes from device %d to device %d", t.Bytes, t.From, t.To)
		case slices.ContainsFunc(group[:i], func(u driver.Transfer) bool { return conflict(t, u) }):
			return first.violation("two transfers of a group touch the same bytes, and one of them writes there")
		}
	}
	sent := make([]clock, len(group))
	for i, t := range group {
		d, s := c.devices[t.From], streams[t.From]
		if err := d.idle(); err != nil {
			return err
		}
		if err := d.work(action{Call: Call{Kind: "Send", Stream: s, Bytes: t.Bytes, Reads: []driver.Span{{At: t.Source, Bytes: t.Bytes}}}}); err != nil {
			return err
		}
		sent[i] = d.streams[s].clone()
	}
	for i, t := range group {
		d, s := c.devices[t.To], streams[t.To]
		if err := d.idle(); err != nil {
			return err
		}
		reads, writes := driver.Span{At: t.Source, Bytes: t.Bytes}, driver.Span{At: t.Target, Bytes: t.Bytes}
		d.streams[s].join(sent[i])
		err := d.work(action{Call: Call{Kind: "Receive", Stream: s, Bytes: t.Bytes, Writes: []driver.Span{writes}},
			do: func() error { copy(d.heap.contents(writes), d.heap.contents(reads)); return nil }})
		if err != nil {
			return err
		}
	}
	return nil
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
	for _, d := range c.devices {
		d.joined--
	}
	c.closed = true
}

// conflict reports whether two transfers touch the same bytes, and one of them writes there.
func conflict(t, u driver.Transfer) bool {
	span := func(at driver.Pointer, of driver.Transfer) driver.Span { return driver.Span{At: at, Bytes: of.Bytes} }
	return overlap(span(t.Target, t), span(u.Target, u)) || overlap(span(t.Target, t), span(u.Source, u)) ||
		overlap(span(t.Source, t), span(u.Target, u))
}
