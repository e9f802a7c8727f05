package cuda

import (
	"fmt"
	"slices"

	"ppal/internal/plan"
)

// sliceable refuses to take rows by slices where a step reads all of what is there only a slice at a time.
func (p *Program) sliceable() error {
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			for _, o := range slices.Concat(s.Reads(), s.Writes()) {
				b := p.plan.Buffers[o.Buffer]
				if p.storage.sliced[o.Buffer] && (r.Rows != b.Rows || o.Access != plan.ByRow) {
					return fmt.Errorf("cuda: --micro-batch %d: %v reads all rows of %s at once; train with --micro-batch 0",
						p.device.options.MicroBatch, s, p.describe(o.Buffer))
				}
			}
		}
	}
	return nil
}

// again lists the steps that a slice of a region needs once more: those row-wise ones of the regions before, in their order, from which
// it has its rows. The whole reductions among them are not repeated.
func (p *Program) again(before []plan.Region, r plan.Region) []plan.Step {
	needed := map[int]bool{}
	need := func(s plan.Step) {
		for _, o := range s.Reads() {
			if p.storage.sliced[o.Buffer] {
				needed[o.Buffer] = true
			}
		}
	}
	own := map[int]bool{} // written by the region itself first
	for _, s := range r.Steps {
		for _, o := range s.Reads() {
			if p.storage.sliced[o.Buffer] && !own[o.Buffer] {
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
