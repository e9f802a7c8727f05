package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
)

// pass is one or several launches, with a description of what they compute.
type pass struct {
	what string
	run  func() error
}

// half holds the passes of the forward or backward half, or of a part of it, and the graphs that
// were captured from the passes.
type half struct {
	passes []pass
	graphs map[driver.Pointer]*replay // by the vector that the half writes
}

// replay records that a half ran for a vector, and the graph that later runs launch.
type replay struct{ graph driver.Graph }

// mostGraphs bounds the number of graphs of a half. Methods alternate between two or three vectors.
const mostGraphs = 8

// run runs a half. The first run for a vector is pass by pass, and allocates all memory. The second
// run captures the passes as a graph, which this run and later runs launch.
func (p *Program) run(h *half, vector driver.Pointer) error {
	r := h.graphs[vector]
	if r == nil {
		h.graphs[vector] = &replay{}
		return h.each()
	}
	if p.device.options.NoGraphs {
		return h.each()
	}
	if len(h.passes) == 0 {
		return nil
	}
	if r.graph == 0 {
		if err := p.captureGraph(h, r); err != nil {
			return err
		}
	}
	return p.device.driver.LaunchGraph(r.graph, p.device.stream)
}

// runFirst runs the first part of the forward half, with the descent that waits for it.
func (p *Program) runFirst(h *half, vector driver.Pointer) error {
	if launched, err := p.chain(h); launched || err != nil {
		return err
	}
	return p.run(h, vector)
}

// target returns where the backward half writes the gradient for a vector: into the vector itself
// for the first vectors, and for all later vectors into one common place, from which Backward
// copies. A graph and the tables of the element-wise passes belong to one place. Without the common
// place, a method with many vectors would never launch a graph again, and the tables would
// accumulate.
func (p *Program) target(vector driver.Pointer) (driver.Pointer, error) {
	if known := p.backward[0].graphs; known[vector] != nil || len(known) < mostGraphs-1 {
		return vector, nil
	}
	if p.common == 0 {
		at, err := p.allocate("a gradient", p.gradientBytes())
		if err != nil {
			return 0, err
		}
		p.common = at
	}
	return p.common, nil
}

// gradientBytes returns the bytes of a gradient.
func (p *Program) gradientBytes() (bytes int) {
	for _, v := range p.plan.Gradients {
		bytes += v.Len() * p.size
	}
	return bytes
}

func (h *half) each() error {
	for _, s := range h.passes {
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

func (p *Program) captureGraph(h *half, r *replay) error {
	d := p.device.driver
	if err := d.BeginCapture(p.device.stream); err != nil {
		return err
	}
	failed := h.each()
	g, err := d.EndCapture(p.device.stream)
	if failed != nil && err == nil {
		err = d.FreeGraph(g)
	}
	if failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	r.graph = g
	return nil
}

// free waits for the device and frees a graph.
func (p *Program) free(r *replay) error {
	if r.graph == 0 {
		return nil
	}
	if err := p.device.driver.Synchronize(p.device.stream); err != nil {
		return err
	}
	return p.device.driver.FreeGraph(r.graph)
}

// forgetGraphs frees all graphs; both halves then start with a first run.
func (p *Program) forgetGraphs() error {
	var failed []error
	for _, h := range slices.Concat(p.forward, p.backward) {
		for _, r := range h.graphs {
			failed = append(failed, p.free(r))
		}
		clear(h.graphs)
	}
	for _, r := range p.links {
		failed = append(failed, p.free(r))
	}
	p.links = map[link]*replay{}
	return errors.Join(failed...)
}
