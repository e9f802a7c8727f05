package cuda

import (
	"errors"
	"fmt"

	"ppal/cuda/driver"
)

// pass is one or several launches, with a description of what they compute.
type pass struct {
	what string
	run  func() error
}

// half holds the passes of the forward or backward half, and the graphs captured from the passes.
type half struct {
	passes []pass
	graphs map[driver.Pointer]*replay // by the vector that the half writes
	runs   int
}

// replay records that a half ran for a vector, and the graph that later runs launch.
type replay struct {
	graph driver.Graph
	used  int // the number of the half's last run for the vector
}

// mostGraphs bounds the number of vectors with a graph. Methods alternate between two or three
// vectors.
const mostGraphs = 8

// run runs a half. The first run for a vector is pass by pass, and allocates all memory. The second
// run captures the passes as a graph, which this run and later runs launch.
func (p *Program) run(h *half, vector driver.Pointer) error {
	h.runs++
	r := h.graphs[vector]
	if r == nil {
		if err := p.forgetOldest(h); err != nil {
			return err
		}
		h.graphs[vector] = &replay{used: h.runs}
		return h.each()
	}
	r.used = h.runs
	if r.graph == 0 {
		if err := p.captureGraph(h, r); err != nil {
			return err
		}
	}
	return p.device.driver.LaunchGraph(r.graph, p.device.stream)
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
	if failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	r.graph = g
	return nil
}

// forgetOldest frees the least recently used graph if there are mostGraphs.
func (p *Program) forgetOldest(h *half) error {
	if len(h.graphs) < mostGraphs {
		return nil
	}
	var oldest driver.Pointer
	first := true
	for v, r := range h.graphs {
		if first || r.used < h.graphs[oldest].used {
			oldest, first = v, false
		}
	}
	err := p.free(h.graphs[oldest])
	delete(h.graphs, oldest)
	return err
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
	for _, h := range []*half{&p.forward, &p.backward} {
		for _, r := range h.graphs {
			failed = append(failed, p.free(r))
		}
		h.graphs = map[driver.Pointer]*replay{}
	}
	return errors.Join(failed...)
}
