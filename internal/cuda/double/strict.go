package double

import (
	"bytes"
	"fmt"

	"ppal/internal/cuda/driver"
)

// compute runs a kernel on a computing device.
func (d *Driver) compute(l *driver.Launch) error {
	name := d.names[l.Function]
	if !d.options.Strict {
		return d.processor.launch(name, l, false)
	}
	saved, hidden, backwards := make([][]byte, len(d.heap.blocks)), make([][]byte, len(d.heap.blocks)), make([][]byte, len(d.heap.blocks))
	for i, b := range d.heap.blocks {
		saved[i] = bytes.Clone(b.data)
		b.hide(b.outside(l.Reads, l.Writes))
		hidden[i] = bytes.Clone(b.data)
	}
	err := d.processor.launch(name, l, true)
	for i, b := range d.heap.blocks {
		backwards[i] = bytes.Clone(b.data)
		copy(b.data, hidden[i])
	}
	if err == nil {
		err = d.processor.launch(name, l, false)
	}
	for i, b := range d.heap.blocks {
		if !bytes.Equal(backwards[i], b.data) && err == nil {
			err = fmt.Errorf("the contents of the %d bytes of call %d depend on the order of the threads", b.Bytes, b.call)
		}
		if at := b.restore(saved[i], hidden[i], b.outside(l.Writes)); at >= 0 && err == nil {
			err = fmt.Errorf("byte %d of the %d of call %d changed, which the launch does not declare", at, b.Bytes, b.call)
		}
		if !b.intact() && err == nil {
			err = fmt.Errorf("something wrote beside the %d bytes of call %d", b.Bytes, b.call)
		}
	}
	return err
}

// hide poisons bytes that the launch does not declare.
func (b *block) hide(undeclared intervals) {
	for _, s := range undeclared {
		fill(b.data[s.from:s.to], poison)
	}
}

// restore sets bytes that a launch must not write to their saved values. hidden is the contents
// before the launch. restore returns the first of these bytes that the launch changed, or -1.
func (b *block) restore(saved, hidden []byte, undeclared intervals) int {
	changed := -1
	for _, s := range undeclared {
		now, before := b.data[s.from:s.to], hidden[s.from:s.to]
		if changed < 0 && !bytes.Equal(now, before) {
			for changed = s.from; b.data[changed] == hidden[changed]; {
				changed++
			}
		}
		copy(now, saved[s.from:s.to])
	}
	return changed
}

// outside returns the bytes of a block that lie in none of the spans.
func (b *block) outside(lists ...[]driver.Span) (gaps intervals) {
	var inside intervals
	for _, spans := range lists {
		for _, s := range spans {
			if s.At >= b.At && s.At < b.end() {
				inside.add(int(s.At-b.At), int(s.At-b.At)+s.Bytes)
			}
		}
	}
	from := 0
	for _, s := range append(inside, interval{b.Bytes, b.Bytes}) {
		if from < s.from {
			gaps = append(gaps, interval{from, s.from})
		}
		from = s.to
	}
	return gaps
}
