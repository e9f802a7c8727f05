package double_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/cuda/double"
	"ppal/cuda/driver"
)

// A receive follows the sender's earlier work, on the receiver's stream only. A group
// with a conflict, a transfer without memory and a communicator that is not closed are violations.
func TestCommunicator(t *testing.T) {
	for _, c := range []struct {
		name, want string // of the violation; "": none
		work       func(a, b *double.Driver, at, bt driver.Pointer, streams []driver.Stream, c driver.Communicator) error
	}{
		{"a transfer and its use", "", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return errors.Join(a.Clear(s[0], at, 64), c.Transfer(s, []driver.Transfer{{From: 0, To: 1, Source: at, Target: bt, Bytes: 64}}),
				b.Copy(s[1], bt.Offset(64), bt, 64), a.Clear(s[0], at, 64))
		}},
		{"both ways", "", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return errors.Join(a.Clear(s[0], at, 128), b.Clear(s[1], bt, 128), c.Transfer(s, []driver.Transfer{
				{From: 0, To: 1, Source: at, Target: bt.Offset(64), Bytes: 64}, {From: 1, To: 0, Source: bt, Target: at.Offset(64), Bytes: 64}}))
		}},
		{"nothing was written", "nothing wrote", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return c.Transfer(s, []driver.Transfer{{From: 0, To: 1, Source: at, Target: bt, Bytes: 64}})
		}},
		{"another stream", "with no event between", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return errors.Join(a.Clear(s[0], at, 64), c.Transfer(s, []driver.Transfer{{From: 0, To: 1, Source: at, Target: bt, Bytes: 64}}),
				b.Clear(0, bt, 64))
		}},
		{"a conflict", "touch the same bytes", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return errors.Join(a.Clear(s[0], at, 128), b.Clear(s[1], bt, 128), c.Transfer(s, []driver.Transfer{
				{From: 0, To: 1, Source: at, Target: bt, Bytes: 64}, {From: 1, To: 0, Source: bt.Offset(32), Target: at.Offset(64), Bytes: 64}}))
		}},
		{"the other's memory", "the memory of another device", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return errors.Join(b.Clear(s[1], bt, 64), c.Transfer(s, []driver.Transfer{{From: 0, To: 1, Source: bt, Target: bt.Offset(64), Bytes: 64}}))
		}},
		{"to itself", "from device 0 to device 0", func(a, b *double.Driver, at, bt driver.Pointer, s []driver.Stream, c driver.Communicator) error {
			return c.Transfer(s, []driver.Transfer{{From: 0, To: 0, Source: at, Target: at.Offset(64), Bytes: 64}})
		}},
	} {
		machine := double.NewMachine(double.Options{NoPeers: true, NCCL: true}, 2)
		var at []driver.Pointer
		var streams []driver.Stream
		for _, d := range machine {
			p, err := d.Allocate(128)
			s, failed := d.NewStream()
			if err := errors.Join(err, failed); err != nil {
				t.Fatal(err)
			}
			at, streams = append(at, p), append(streams, s)
		}
		joined, err := machine[0].Join([]driver.Driver{machine[0], machine[1]})
		if err != nil {
			t.Fatal(err)
		}
		err = c.work(machine[0], machine[1], at[0], at[1], streams, joined)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		for k, d := range machine {
			_ = errors.Join(d.Synchronize(streams[k]), d.FreeStream(streams[k]), d.Free(at[k]))
			if err := d.Close(); err == nil || !strings.Contains(err.Error(), "not given back: [1 communicators]") {
				t.Errorf("%s: closing: %v", c.name, err)
			}
		}
	}
	one := double.New(double.Options{NCCL: true})
	for _, list := range [][]driver.Driver{nil, {double.New(double.Options{})}, {one, one}, {one, double.New(double.Options{})}} {
		if _, err := one.Join(list); err == nil {
			t.Errorf("%d devices were joined", len(list))
		}
	}
	if slices.Contains(one.Violations(), nil) || len(one.Violations()) != 4 {
		t.Errorf("violations %v", one.Violations())
	}
}
