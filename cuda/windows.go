package cuda

import (
	"fmt"
	"slices"

	"ppal/internal/plan"
)

// checkWindows returns an error if a step reads all rows of a buffer that holds one window at a
// time.
func (p *Program) checkWindows() error {
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				b := p.plan.Buffers[o.Buffer]
				if p.storage.windowed[o.Buffer] && (r.Rows != b.Rows || o.Access != plan.ByRow) {
					return fmt.Errorf("cuda: --micro-batch %d: %v reads all rows of %s at once; train with --micro-batch 0",
						p.device.options.MicroBatch, s, p.describe(o.Buffer))
				}
			}
		}
	}
	return nil
}

// repeated lists the steps that run again for each window of region r: the row-wise steps of
// earlier regions on which the window's rows depend, in order. Reductions over all rows are not
// repeated.
func (p *Program) repeated(before []plan.Region, r plan.Region) []plan.Step {
	needed := map[int]bool{}
	need := func(s plan.Step) {
		for _, o := range s.Reads() {
			if p.storage.windowed[o.Buffer] {
				needed[o.Buffer] = true
			}
		}
	}
	own := map[int]bool{} // written by r before they are read
	for _, s := range r.Steps {
		for _, o := range s.Reads() {
			if p.storage.windowed[o.Buffer] && !own[o.Buffer] {
				needed[o.Buffer] = true
			}
		}
		own[s.Writes()[0].Buffer] = true
	}
	var steps []plan.Step
	for _, earlier := range slices.Backward(before) {
		for _, s := range slices.Backward(earlier.Steps) {
			if o := s.Writes()[0]; needed[o.Buffer] && o.Access == plan.ByRow {
				need(s)
				steps = append(steps, s)
			}
		}
	}
	slices.Reverse(steps)
	return steps
}
