package cuda

import (
	"errors"
	"fmt"

	"ppal/cuda/driver"
)

// pass is one launch, or some: a description and the function that launches.
type pass struct {
	what string
	run  func() error
}

// half is the passes of the forward or the backward half, and the graphs captured from them.
type half struct {
	passes []pass
	graphs map[driver.Pointer]*replay // by the vector that is written
	runs   int
}

// replay is the first run of a half for a vector, and later the graph that is launched for that
// vector.
type replay struct {
	graph driver.Graph
	used  int // the half's run that used it last
}

// mostGraphs is the largest number of vectors with a graph: methods alternate between two or three
// vectors.
const mostGraphs = 8

// run runs a half. The first run for a vector launches pass by pass, which settles all allocations.
// The second run captures the passes as a graph and launches it; later runs launch the graph.
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

// forgetOldest frees the graph that was unused for longest if there are mostGraphs graphs.
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

// free frees a graph after all work has ended.
func (p *Program) free(r *replay) error {
	if r.graph == 0 {
		return nil
	}
	if err := p.device.driver.Synchronize(p.device.stream); err != nil {
		return err
	}
	return p.device.driver.FreeGraph(r.graph)
}

// forgetGraphs frees all graphs; both halves begin again with a first run.
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
