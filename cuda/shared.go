package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ppal/cuda/driver"
	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// shared is a plan of which every device runs its own part.
type shared struct {
	several           *Several
	plan              *plan.Plan
	division          *plan.Division
	programs          []*Program
	forward, backward []addition // addition i follows part i of the half
	hostAdds          bool       // f and g are sums over the rows that the host adds
	results, g        []float64  // f and g; g of another device

	additions int              // so far
	ones      []float64        // for each device
	places    []driver.Pointer // of a stretch in the devices' outboxes

	single terms[float32] // of a float32 plan
	double terms[float64] // of a float64 plan
}

var _ plan.Program = (*shared)(nil)

// Compile implements plan.Device. The error says why the devices cannot share the rows of the plan.
func (s *Several) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	if h, ok := x.(hostSteps); ok {
		x = h.Vectors
	}
	v, ok := x.(*copies)
	if !ok || v.several != s {
		return nil, fmt.Errorf("cuda: the vectors are %T, want these devices'", x)
	}
	division, err := p.DivideAmong(s.total, s.first, s.first+len(s.devices))
	if err != nil {
		return nil, fmt.Errorf("cuda: several GPUs cannot share the rows: %w; train with one GPU", err)
	}
	run := &shared{several: s, plan: p, division: division}
	if run.hostAdds = onlyResults(p, division); run.hostAdds {
		division.Forward = nil
	}
	at := cuts{regionsOf(division.Forward), regionsOf(division.Backward)}
	for k, d := range s.devices {
		program, err := d.compile(division.Parts[k], v.list[k], at)
		if err != nil {
			return nil, errors.Join(s.of(d, err), run.close())
		}
		run.programs = append(run.programs, program)
		forget(division.Parts[k])
	}
	if err := run.prepare(); err != nil {
		return nil, errors.Join(err, run.close())
	}
	return run, nil
}

// onlyResults reports whether f and g are sums over the rows that the forward half adds at its end,
// and that the backward half does not read.
func onlyResults(p *plan.Plan, d *plan.Division) bool {
	if len(d.Forward) != 1 || d.Forward[0].Before != len(p.Forward) {
		return false
	}
	sums := d.Forward[0].Sums
	for _, v := range append([]plan.View{p.Objective}, p.Constraints...) {
		if !slices.Contains(sums, v) {
			return false
		}
	}
	added := func(v plan.View) bool {
		return slices.ContainsFunc(sums, func(s plan.View) bool { return s.Buffer == v.Buffer })
	}
	for _, r := range p.Backward {
		for _, s := range r.Steps {
			if slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return added(o.View) }) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(p.Watched, added)
}

func regionsOf(list []plan.Exchange) (at []int) {
	for _, e := range list {
		at = append(at, e.Before)
	}
	return at
}

// forget removes a part's references to nodes and data matrices, which its program has uploaded.
// The entries of sparse matrices remain.
func forget(p *plan.Plan) {
	for i := range p.Buffers {
		p.Buffers[i].Node = nil
	}
	for i, data := range p.Data {
		if _, ok := data.(matrix.Sparse); !ok {
			p.Data[i] = nil
		}
	}
}

// each calls f for each device's program until there is an error.
func (r *shared) each(f func(k int, p *Program) error) error {
	for k, p := range r.programs {
		if err := f(k, p); err != nil {
			return r.several.of(r.several.devices[k], err)
		}
	}
	return nil
}

// Forward implements plan.Program. The host adds the devices' shares of f and g in the order of the
// devices, or all devices compute f and g from the same sums. Then values that differ are an error.
func (r *shared) Forward(g []float64) (f float64, err error) {
	defer r.noteFailure(&err)
	for i := range r.programs[0].forward {
		if err := r.each(func(_ int, p *Program) error { return p.startPart(i) }); err != nil {
			return 0, err
		}
		if i < len(r.forward) {
			if err := r.add(&r.forward[i]); err != nil {
				return 0, fmt.Errorf("cuda: forward: %w", err)
			}
		}
	}
	all := r.results
	if all[0], err = r.programs[0].Finish(all[1:]); err != nil {
		return 0, r.several.of(r.several.devices[0], err)
	}
	for k, p := range r.programs[1:] {
		other, err := p.Finish(r.g)
		if err != nil {
			return 0, r.several.of(r.several.devices[k+1], err)
		}
		if r.hostAdds {
			all[0] += other
			for i, v := range r.g {
				all[1+i] += v
			}
			continue
		}
		if !sameNumber(other, all[0]) || !equalBits(r.g, all[1:]) {
			return 0, r.several.differ(k+1, "f and g")
		}
	}
	if c := r.several.communicator; c != nil {
		if err := c.Err(); err != nil {
			return 0, fmt.Errorf("cuda: forward: %w", err)
		}
	}
	if r.hostAdds && r.several.processes != nil {
		if err := r.several.processes.Sum(all); err != nil {
			return 0, fmt.Errorf("cuda: forward: %w", err)
		}
	}
	copy(g, all[1:])
	return all[0], nil
}

// Backward implements plan.Program. Every device gets the whole gradient.
func (r *shared) Backward(coefficients []float64, d problem.Vector) (err error) {
	defer r.noteFailure(&err)
	if err := r.each(func(_ int, p *Program) error { return p.prepareBackward(coefficients, d) }); err != nil {
		return err
	}
	for i := range r.programs[0].backward {
		if err := r.each(func(_ int, p *Program) error { return p.backwardPart(i) }); err != nil {
			return err
		}
		if i < len(r.backward) {
			if err := r.add(&r.backward[i]); err != nil {
				return fmt.Errorf("cuda: backward: %w", err)
			}
		}
	}
	return r.each(func(_ int, p *Program) error { return p.endBackward(d) })
}

// noteFailure notes an error of a half.
func (r *shared) noteFailure(err *error) {
	if *err != nil {
		r.several.failed = true
	}
}

// Contents implements plan.Program. It collects the rows of all devices.
func (r *shared) Contents(v plan.View, dst []float64) error {
	if !r.division.Divides(v) {
		return r.several.of(r.several.devices[0], r.programs[0].Contents(v, dst))
	}
	if r.several.processes != nil {
		clear(dst)
	}
	err := r.each(func(k int, p *Program) error {
		from, to := r.division.Rows(k)
		return p.Contents(r.division.Part(v, k), dst[from*v.Cols:to*v.Cols])
	})
	if err != nil || r.several.processes == nil {
		return err
	}
	return r.several.processes.Sum(dst[:v.Len()])
}

// Bind implements plan.Program. Each device gets its own rows.
func (r *shared) Bind(v plan.View, m matrix.Matrix) error {
	if err := r.plan.CheckBind(v, m); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return r.each(func(k int, p *Program) error {
		if !r.division.Divides(v) {
			return p.Bind(v, m)
		}
		from, to := r.division.Rows(k)
		return p.Bind(r.division.Part(v, k), matrix.Window(m, from, to))
	})
}

// Stored implements plan.Program: the data are in the devices' memory.
func (r *shared) Stored(plan.View) matrix.EightBit { return nil }

// Products implements plan.Program.
func (r *shared) Products() string { return r.programs[0].Products() }

// Close returns the programs' memory to the devices' pools.
func (r *shared) Close() error { return r.close() }

func (r *shared) close() error {
	if len(r.programs) == 0 {
		return nil
	}
	failed := r.several.wait() // a device may still read the memory of another
	for _, p := range r.programs {
		failed = append(failed, r.several.of(p.device, p.Close()))
	}
	r.programs = nil
	return errors.Join(failed...)
}
