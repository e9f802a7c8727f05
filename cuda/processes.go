package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Among returns a device that shares the rows of the data with the GPUs of other processes, one GPU
// for each process. After the regions over the rows, the host adds the sums over the processes in
// the order of their ranks, so that every process has all sums, with the same bits. Every GPU then
// computes the same values and takes the same steps; the processes exchange nothing else.
//
// Each process compiles the same plans with data that have its rows (plan.PartOf). A program's
// Forward, Backward and Contents return when all processes have called them.
func (d *Device) Among(p plan.Processes) plan.Device { return among{d, p} }

// among is a device that shares the rows with the devices of other processes.
type among struct {
	*Device
	processes plan.Processes
}

var _ plan.Device = among{}

// shared is the part of a plan that runs over this process's rows.
type shared struct {
	device            *Device
	processes         plan.Processes
	plan              *plan.Plan
	division          *plan.Division
	program           *Program
	forward, backward []addition // addition i follows part i of the half
	hostAdds          bool       // f and g are sums over the rows that the host adds
	results           []float64  // f and g
}

var _ plan.Program = (*shared)(nil)

// Compile implements plan.Device. The error says why the processes cannot share the rows of the
// plan.
func (a among) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	division, err := p.Divide(a.processes.Size(), a.processes.Rank())
	if err != nil {
		return nil, fmt.Errorf("cuda: several processes cannot share the rows: %w; train with one process", err)
	}
	run := &shared{device: a.Device, processes: a.processes, plan: p, division: division}
	if run.hostAdds = onlyResults(p, division); run.hostAdds {
		division.Forward = nil
	}
	if run.program, err = a.compile(division.Part, x, cuts{regionsOf(division.Forward), regionsOf(division.Backward)}); err != nil {
		return nil, run.failed(err)
	}
	forget(division.Part)
	if err := run.prepare(); err != nil {
		return nil, errors.Join(run.failed(err), run.Close())
	}
	return run, nil
}

// of names the device of an error.
func (r *shared) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda:%d: %w", r.device.Info().Ordinal, err)
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

// addition adds sums over the processes. This process's terms lie in stretches of the device's
// memory.
type addition struct {
	terms    []stretch
	elements int // of all stretches
}

// stretch is a piece of memory.
type stretch struct {
	at       driver.Pointer // in a gradient the offset in the vector
	gradient bool
	elements int
}

// prepare finds the memory of the sums, and allocates the memory for the terms.
func (r *shared) prepare() (err error) {
	r.forward, r.backward = r.program.additions(r.division.Forward), r.program.additions(r.division.Backward)
	most := 1
	for _, a := range slices.Concat(r.forward, r.backward) {
		most = max(most, a.elements)
	}
	r.results = make([]float64, len(r.program.numbers.values))
	if r.program.terms, err = r.device.driver.Pinned(2 * most * r.program.size); err != nil {
		return fmt.Errorf("cuda: pinned memory for sums: %w", err)
	}
	return nil
}

func (p *Program) additions(list []plan.Exchange) (all []addition) {
	for _, e := range list {
		a := addition{terms: p.stretches(e.Sums)}
		for _, t := range a.terms {
			a.elements += t.elements
		}
		all = append(all, a)
	}
	return all
}

// stretches returns the memory of views. Views that follow each other in memory, as all gradients
// do, are one stretch.
func (p *Program) stretches(views []plan.View) (list []stretch) {
	for _, v := range views {
		for i := range v.Rows {
			at := p.storage.base[v.Buffer].Offset((v.Offset + i*v.Stride) * p.size)
			if k := len(list) - 1; k >= 0 && list[k].gradient == p.isGradient(v) && list[k].at.Offset(list[k].elements*p.size) == at {
				list[k].elements += v.Cols
				continue
			}
			list = append(list, stretch{at, p.isGradient(v), v.Cols})
		}
	}
	return list
}

// address returns the present address of a stretch.
func (t stretch) address(p *Program) driver.Pointer {
	if t.gradient {
		return p.storage.gradient + t.at
	}
	return t.at
}

// add replaces this process's terms by the sums over the processes, in the host's memory. Each
// element is added in float64 in the order of the ranks, and rounded once.
func (r *shared) add(a *addition) error {
	p, d, bytes := r.program, r.device, a.elements*r.program.size
	terms, sums := p.terms[:bytes], p.terms[len(p.terms)/2:][:bytes]
	err := a.copy(p, terms, func(host []byte, at driver.Pointer) error { return d.driver.Download(d.stream, host, at) })
	if err != nil {
		return r.failed(err)
	}
	if err := d.driver.Synchronize(d.stream); err != nil {
		return r.failed(err)
	}
	if err := d.hostReads(terms); err != nil {
		return r.failed(err)
	}
	copy(sums, terms)
	if p.dtype == kernels.Float32 {
		err = r.processes.SumFloat32(typed[float32](sums))
	} else {
		err = r.processes.Sum(typed[float64](sums))
	}
	if err != nil {
		return err
	}
	return r.failed(a.copy(p, sums, func(host []byte, at driver.Pointer) error { return d.driver.Upload(d.stream, at, host) }))
}

// copy calls f for each stretch of the terms and its place in the host's memory.
func (a *addition) copy(p *Program, host []byte, f func(host []byte, at driver.Pointer) error) error {
	for _, t := range a.terms {
		n := t.elements * p.size
		if err := f(host[:n], t.address(p)); err != nil {
			return err
		}
		host = host[n:]
	}
	return nil
}

// Forward implements plan.Program. The host adds the processes' shares of f and g in the order of
// the ranks, or all devices compute f and g from the same sums.
func (r *shared) Forward(g []float64) (f float64, err error) {
	for i := range r.program.forward {
		if err := r.program.startPart(i); err != nil {
			return 0, r.failed(err)
		}
		if i < len(r.forward) {
			if err := r.add(&r.forward[i]); err != nil {
				return 0, fmt.Errorf("cuda: forward: %w", err)
			}
		}
	}
	all := r.results
	if all[0], err = r.program.Finish(all[1:]); err != nil {
		return 0, r.failed(err)
	}
	if r.hostAdds {
		if err := r.processes.Sum(all); err != nil {
			return 0, fmt.Errorf("cuda: forward: %w", err)
		}
	}
	copy(g, all[1:])
	return all[0], nil
}

// Backward implements plan.Program. Every device gets the whole gradient.
func (r *shared) Backward(coefficients []float64, d problem.Vector) error {
	if err := r.program.prepareBackward(coefficients, d); err != nil {
		return r.failed(err)
	}
	for i := range r.program.backward {
		if err := r.program.backwardPart(i); err != nil {
			return r.failed(err)
		}
		if i < len(r.backward) {
			if err := r.add(&r.backward[i]); err != nil {
				return fmt.Errorf("cuda: backward: %w", err)
			}
		}
	}
	return r.failed(r.program.endBackward(d))
}

// Contents implements plan.Program. It collects the rows of all processes.
func (r *shared) Contents(v plan.View, dst []float64) error {
	if !r.division.Divides(v) {
		return r.failed(r.program.Contents(v, dst))
	}
	clear(dst)
	if err := r.program.Contents(r.division.View(v), dst[r.division.From*v.Cols:r.division.To*v.Cols]); err != nil {
		return r.failed(err)
	}
	return r.processes.Sum(dst[:v.Len()])
}

// Bind implements plan.Program. The device gets the rows of this process.
func (r *shared) Bind(v plan.View, m matrix.Matrix) error {
	if err := r.plan.CheckBind(v, m); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	if r.division.Divides(v) {
		v, m = r.division.View(v), matrix.Window(m, r.division.From, r.division.To)
	}
	return r.failed(r.program.Bind(v, m))
}

// Stored implements plan.Program: the data are in the device's memory.
func (r *shared) Stored(plan.View) matrix.EightBit { return nil }

// Products implements plan.Program.
func (r *shared) Products() string { return r.program.Products() }

// Close returns the program's memory to the device's pool.
func (r *shared) Close() error { return r.failed(r.program.Close()) }
