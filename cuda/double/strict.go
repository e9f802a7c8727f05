package double

import (
	"bytes"
	"fmt"

	"ppal/cuda/driver"
)

// compute runs a kernel on a computing device.
func (d *Driver) compute(l *driver.Launch) error {
	name := d.names[l.Function]
	if !d.options.Strict {
		return d.processor.launch(name, l, false)
	}
	saved := make([][]byte, len(d.heap.blocks))
	touched, written := make([][]bool, len(saved)), make([][]bool, len(saved))
	for i, b := range d.heap.blocks {
		saved[i] = bytes.Clone(b.data)
		touched[i], written[i] = b.covered(l.Reads, l.Writes), b.covered(l.Writes)
	}
	d.hide(touched)
	err := d.processor.launch(name, l, true)
	backwards := make([][]byte, len(saved))
	for i, b := range d.heap.blocks {
		backwards[i] = bytes.Clone(b.data)
		copy(b.data, saved[i])
	}
	d.hide(touched)
	if err == nil {
		err = d.processor.launch(name, l, false)
	}
	for i, b := range d.heap.blocks {
		if !bytes.Equal(backwards[i], b.data) && err == nil {
			err = fmt.Errorf("the contents of the %d bytes of call %d depend on the order of the threads", b.Bytes, b.call)
		}
		if at := b.restore(saved[i], touched[i], written[i]); at >= 0 && err == nil {
			err = fmt.Errorf("byte %d of the %d of call %d changed, which the launch does not declare", at, b.Bytes, b.call)
		}
		if !b.intact() && err == nil {
			err = fmt.Errorf("something wrote beside the %d bytes of call %d", b.Bytes, b.call)
		}
	}
	return err
}

// hide poisons all memory that the launch does not declare.
func (d *Driver) hide(touched [][]bool) {
	for i, b := range d.heap.blocks {
		for k, t := range touched[i] {
			if !t {
				b.data[k] = poison
			}
		}
	}
}

// restore sets the bytes that a launch must not write to their saved values. It returns the first
// of these bytes that the launch changed, or -1.
func (b *block) restore(saved []byte, touched, written []bool) int {
	changed := -1
	for i, x := range b.data {
		if written[i] {
			continue
		}
		expected := saved[i]
		if !touched[i] {
			expected = poison
		}
		if x != expected && changed < 0 {
			changed = i
		}
		b.data[i] = saved[i]
	}
	return changed
}

// covered marks the bytes of a block that lie in the spans.
func (b *block) covered(lists ...[]driver.Span) []bool {
	m := make([]bool, b.Bytes)
	for _, spans := range lists {
		for _, s := range spans {
			if s.At < b.At || s.At >= b.end() {
				continue
			}
			lo := int(s.At - b.At)
			for i := lo; i < lo+s.Bytes; i++ {
				m[i] = true
			}
		}
	}
	return m
}
