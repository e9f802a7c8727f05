//go:build gpu

package emulator

import (
	"bytes"
	"slices"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/cuda/kernels/device"
)

// The device's limits.
const (
	maxThreads = 1024
	maxGrid    = 65535
)

// entries lists the kernels of a module.
func entries(ptx string) []kernels.Entry { return kernels.Entries(ptx) }

// Launch implements driver.Driver.
func (d *Driver) Launch(s driver.Stream, l *driver.Launch) error {
	if l.Function == 0 || int(l.Function) > len(d.functions) {
		return failed("launch "+l.Name, invalidHandle, "no function %d", l.Function)
	}
	k := d.functions[l.Function-1]
	if len(l.Args) != len(k.Params) {
		return failed("launch "+l.Name, invalidValue, "%d arguments for %s, want %d", len(l.Args), k.Name, len(k.Params))
	}
	if err := limits(l); err != nil {
		return err
	}
	copied := *l
	copied.Args, copied.Reads, copied.Writes = slices.Clone(l.Args), slices.Clone(l.Reads), slices.Clone(l.Writes)
	return d.enqueue(s, "launch "+l.Name, func() error { return d.run(k, &copied) })
}

func limits(l *driver.Launch) error {
	for i := range 3 {
		if l.Grid[i] < 1 || l.Block[i] < 1 || (i > 0 && l.Grid[i] > maxGrid) {
			return failed("launch "+l.Name, invalidValue, "a grid of %v blocks of %v threads", l.Grid, l.Block)
		}
	}
	if l.Block[0]*l.Block[1]*l.Block[2] > maxThreads {
		return failed("launch "+l.Name, invalidValue, "a block of %v threads", l.Block)
	}
	if l.Shared != 0 {
		return failed("launch "+l.Name, invalidValue, "%d bytes of dynamic shared memory: the emulator has none", l.Shared)
	}
	return nil
}

// run runs a kernel and checks what it did.
func (d *Driver) run(k device.Kernel, l *driver.Launch) error {
	for _, spans := range [][]driver.Span{l.Reads, l.Writes} {
		for _, s := range spans {
			if _, err := d.heap.bytes("launch "+l.Name, s.At, s.Bytes); err != nil {
				return err
			}
		}
	}
	if !d.set.Strict {
		if err := k.Launch(l.Grid, l.Block, l.Args, false); err != nil {
			return failed("launch "+l.Name, launchFailed, "%v", err)
		}
		return nil
	}
	return d.runAlone(k, l)
}

// runAlone runs a kernel while all memory but what it declares is poison, twice, in two orders of its blocks and threads.
func (d *Driver) runAlone(k device.Kernel, l *driver.Launch) error {
	saved := make([][]byte, len(d.heap.live))
	touched, written := make([][]bool, len(saved)), make([][]bool, len(saved))
	for i, a := range d.heap.live {
		saved[i] = bytes.Clone(a.data)
		touched[i], written[i] = marked(a, l.Reads, l.Writes), marked(a, l.Writes)
	}
	d.hide(touched)
	err := k.Launch(l.Grid, l.Block, l.Args, true)
	backwards := make([][]byte, len(saved))
	for i, a := range d.heap.live {
		backwards[i] = bytes.Clone(a.data)
		copy(a.data, saved[i])
	}
	d.hide(touched)
	if err == nil {
		err = k.Launch(l.Grid, l.Block, l.Args, false)
	}
	if err != nil {
		err = failed("launch "+l.Name, launchFailed, "%v", err)
	}
	for i, a := range d.heap.live {
		if !bytes.Equal(backwards[i], a.data) && err == nil {
			err = failed("launch "+l.Name, launchFailed, "what is in the %d bytes at %#x depends on the order of the threads", len(a.data), a.at)
		}
		if b := a.compare(saved[i], touched[i], written[i]); b >= 0 && err == nil {
			err = failed("launch "+l.Name, illegalAddress, "byte %d of %d at %#x changed, which is not among what it writes", b, len(a.data), a.at)
		}
		if !a.intact() && err == nil {
			err = failed("launch "+l.Name, illegalAddress, "something wrote beside the %d bytes at %#x", len(a.data), a.at)
		}
	}
	return err
}

// hide poisons all memory that is not touched.
func (d *Driver) hide(touched [][]bool) {
	for i, a := range d.heap.live {
		for b, t := range touched[i] {
			if !t {
				a.data[b] = poison
			}
		}
	}
}

// compare restores what was not to be written, and returns the first such byte that was, -1 where there is none.
func (a *allocation) compare(saved []byte, touched, written []bool) int {
	changed := -1
	for b, x := range a.data {
		if written[b] {
			continue
		}
		expected := saved[b]
		if !touched[b] {
			expected = poison
		}
		if x != expected && changed < 0 {
			changed = b
		}
		a.data[b] = saved[b]
	}
	return changed
}

// marked says which bytes of an allocation the spans hold.
func marked(a *allocation, lists ...[]driver.Span) []bool {
	m := make([]bool, len(a.data))
	for _, spans := range lists {
		for _, s := range spans {
			if s.At < a.at || s.At >= a.end() {
				continue
			}
			lo := int(s.At - a.at)
			for b := lo; b < lo+s.Bytes; b++ {
				m[b] = true
			}
		}
	}
	return m
}
