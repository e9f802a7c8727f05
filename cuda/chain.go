package cuda

import (
	"fmt"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/trainer/problem"
)

// chained is a descent whose size the device computes, postponed until the next forward half, so
// that both are one graph. An iteration then launches two graphs: the backward half while the
// device is idle, and this one while the device computes the backward half.
type chained struct {
	v     *vectors // nil: no descent is postponed
	input kernels.StepInput
	link  link
}

// link is everything of a chained descent that a graph contains. The numbers that change from
// iteration to iteration are in mapped memory.
type link struct {
	previous    driver.Pointer
	descent     descent
	regularizer problem.RegularizerKind
}

// mostLinks bounds the number of graphs of a descent and a forward half: two directions in turn,
// with and without momentum.
const mostLinks = 4

// postpone keeps a descent for the next forward half. It reports whether it can do so.
func (d *Device) postpone(c chained) bool {
	if d.options.NoGraphs || c.input.Rule.Start != nil || c.v.numbers == 0 {
		return false
	}
	d.waiting = c
	return true
}

// settle runs the postponed descent. All other work on the device begins with
// it.
func (d *Device) settle() {
	c := d.waiting
	if c.v == nil {
		return
	}
	d.waiting = chained{}
	c.v.do("the proximal step", func() error { return c.v.descendSized(&c.link, &c.input) })
}

// chain launches the graph of the postponed descent and of the forward half, if there is such a
// graph or can be one. The first run of a link is launch by launch.
func (p *Program) chain(h *half) (launched bool, err error) {
	d, c := p.device, p.device.waiting
	if c.v == nil {
		return false, nil
	}
	whole, r := h.graphs[0], p.links[c.link]
	if whole == nil || whole.graph == 0 || r == nil {
		if r == nil && len(p.links) < mostLinks {
			p.links[c.link] = &replay{}
		}
		d.settle()
		return false, c.v.err
	}
	d.waiting = chained{}
	rule := kernels.SizingRule(&c.input.Rule, c.input.Weight)
	copy(c.v.rule, rule[:])
	if r.graph == 0 {
		move := pass{"the proximal step", func() error { return c.v.descendSized(&c.link, &kernels.StepInput{Numbers: c.v.numbers}) }}
		both := half{passes: append([]pass{move}, h.passes...)}
		err = p.captureGraph(&both, r)
	}
	if err == nil {
		err = d.driver.LaunchGraph(r.graph, d.stream)
	}
	if err != nil && c.v.err == nil { // the vectors lack the descent from now on
		c.v.err = fmt.Errorf("cuda: the proximal step: %w", err)
	}
	return err == nil, err
}
