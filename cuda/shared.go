package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
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
	g                 []float64  // of another device

	additions int              // so far
	ones      []float64        // for each device
	places    []driver.Pointer // of a stretch in the devices' outboxes

	single terms[float32] // of a float32 plan
	double terms[float64] // of a float64 plan
}

var _ plan.Program = (*shared)(nil)

// terms are the terms and the sums of an addition in each device's pinned memory. They do not share
// memory, because the device may still read the last sum when it writes the next term.
type terms[T plan.Float] struct{ terms, sums [][]T }

func (t *terms[T]) append(host []byte) {
	all := typed[T](host)
	t.terms, t.sums = append(t.terms, all[:len(all)/2]), append(t.sums, all[len(all)/2:])
}

// add sets the first n elements of every device's sum.
func (t *terms[T]) add(n int) {
	if len(t.terms) == 0 {
		return
	}
	for i := range n {
		sum := 0.0
		for _, term := range t.terms {
			sum += float64(term[i])
		}
		t.sums[0][i] = T(sum)
	}
	for _, s := range t.sums[1:] {
		copy(s[:n], t.sums[0])
	}
}

// addition adds sums over the devices. The terms of a device lie in stretches of its memory.
type addition struct {
	terms    [][]stretch // by device
	elements int         // of a device's term
}

// outbox is where other devices read a device's term. Two places take turns: a device writes a
// place again after the others have written their next terms, and thus after they have read this
// one.
type outbox struct {
	at      [2]driver.Pointer
	written driver.Event
}

// stretch is a piece of memory.
type stretch struct {
	at       driver.Pointer // in a gradient the offset in the vector
	gradient bool
	elements int
}

// Compile implements plan.Device. The error says why the devices cannot share the rows of the plan.
func (s *Several) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	if h, ok := x.(hostSteps); ok {
		x = h.Vectors
	}
	v, ok := x.(*copies)
	if !ok || v.several != s {
		return nil, fmt.Errorf("cuda: the vectors are %T, want these devices'", x)
	}
	division, err := p.Divide(len(s.devices))
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

// prepare finds the memory of the sums, and allocates the host's memory for the terms.
func (r *shared) prepare() error {
	r.forward, r.backward = r.additionsOf(r.division.Forward), r.additionsOf(r.division.Backward)
	most := 1
	for _, list := range [][]addition{r.forward, r.backward} {
		for _, a := range list {
			most = max(most, a.elements)
		}
	}
	r.g = make([]float64, len(r.programs[0].numbers.values)-1)
	for k, p := range r.programs {
		d := r.several.devices[k]
		var err error
		if r.several.peers {
			if err := p.newOutbox(most * p.size); err != nil {
				return r.several.of(d, err)
			}
			r.ones, r.places = append(r.ones, 1), append(r.places, 0)
			continue
		}
		if p.terms, err = d.driver.Pinned(2 * most * p.size); err != nil {
			return r.several.of(d, fmt.Errorf("cuda: pinned memory for sums: %w", err))
		}
		if p.dtype == kernels.Float32 {
			r.single.append(p.terms)
		} else {
			r.double.append(p.terms)
		}
	}
	return nil
}

func (p *Program) newOutbox(bytes int) (err error) {
	for i := range p.outbox.at {
		if p.outbox.at[i], err = p.allocate("sums for other devices", bytes); err != nil {
			return err
		}
	}
	p.outbox.written, err = p.device.driver.NewEvent()
	return err
}

func (r *shared) additionsOf(list []plan.Exchange) (all []addition) {
	for _, e := range list {
		var a addition
		for _, p := range r.programs {
			terms := p.stretches(e.Sums)
			a.terms = append(a.terms, terms)
			a.elements = 0 // the same for every device
			for _, t := range terms {
				a.elements += t.elements
			}
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
	if f, err = r.programs[0].Finish(g); err != nil {
		return 0, r.several.of(r.several.devices[0], err)
	}
	for k, p := range r.programs[1:] {
		other, err := p.Finish(r.g)
		if err != nil {
			return 0, r.several.of(r.several.devices[k+1], err)
		}
		if r.hostAdds {
			f += other
			for i := range min(len(g), len(r.g)) {
				g[i] += r.g[i]
			}
			continue
		}
		if n := min(len(g), len(r.g)); !sameNumber(other, f) || !equalBits(g[:n], r.g[:n]) {
			return 0, r.several.differ(k+1, "f and g")
		}
	}
	return f, nil
}

// Backward implements plan.Program. Every device gets the whole gradient.
func (r *shared) Backward(coefficients []float64, d problem.Vector) error {
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

// add replaces every device's term by the sum of the terms. Each element is added in float64 in the
// order of the devices, and rounded once.
func (r *shared) add(a *addition) error {
	if r.several.peers {
		return r.addOnDevices(a)
	}
	return r.addOnHost(a)
}

// addOnDevices adds by kernels that read the terms in the memory of all devices. It does not wait.
func (r *shared) addOnDevices(a *addition) error {
	turn := r.additions % 2
	r.additions++
	for k, p := range r.programs {
		if err := p.post(a.terms[k], turn); err != nil {
			return r.several.of(r.several.devices[k], err)
		}
	}
	for k, p := range r.programs {
		if err := r.sum(p, a.terms[k], turn); err != nil {
			return r.several.of(r.several.devices[k], err)
		}
	}
	return nil
}

// post copies the device's term to its outbox.
func (p *Program) post(list []stretch, turn int) error {
	d, to := p.device.driver, p.outbox.at[turn]
	for _, t := range list {
		if err := d.Copy(p.device.stream, to, t.address(p), t.elements*p.size); err != nil {
			return err
		}
		to = to.Offset(t.elements * p.size)
	}
	return d.Record(p.outbox.written, p.device.stream)
}

// sum waits on the device for the outboxes of all devices, and adds their terms.
func (r *shared) sum(p *Program, list []stretch, turn int) error {
	for _, other := range r.programs {
		if other == p {
			continue
		}
		if err := p.device.driver.Wait(p.device.stream, other.outbox.written); err != nil {
			return err
		}
	}
	offset := 0
	for _, t := range list {
		for j, other := range r.programs {
			r.places[j] = other.outbox.at[turn].Offset(offset)
		}
		if err := p.set.VectorSum(&p.device.queue, t.elements, t.address(p), r.ones, r.places); err != nil {
			return err
		}
		offset += t.elements * p.size
	}
	return nil
}

// addOnHost adds in the host's memory.
func (r *shared) addOnHost(a *addition) error {
	err := r.each(func(k int, p *Program) error {
		return r.copy(a, k, p.terms, func(host []byte, at driver.Pointer) error { return p.device.driver.Download(p.device.stream, host, at) })
	})
	if err != nil {
		return err
	}
	err = r.each(func(_ int, p *Program) error {
		if err := p.device.driver.Synchronize(p.device.stream); err != nil {
			return err
		}
		return p.device.hostReads(p.terms[:a.elements*p.size])
	})
	if err != nil {
		return err
	}
	r.single.add(a.elements)
	r.double.add(a.elements)
	return r.each(func(k int, p *Program) error {
		return r.copy(a, k, p.terms[len(p.terms)/2:], func(host []byte, at driver.Pointer) error {
			return p.device.driver.Upload(p.device.stream, at, host)
		})
	})
}

// copy calls f for each stretch of a device's term and its place in the host's memory.
func (r *shared) copy(a *addition, k int, host []byte, f func(host []byte, at driver.Pointer) error) error {
	p := r.programs[k]
	for _, t := range a.terms[k] {
		n := t.elements * p.size
		if err := f(host[:n], t.address(p)); err != nil {
			return err
		}
		host = host[n:]
	}
	return nil
}

// Contents implements plan.Program. It collects the rows of all devices.
func (r *shared) Contents(v plan.View, dst []float64) error {
	if !r.division.Divides(v) {
		return r.several.of(r.several.devices[0], r.programs[0].Contents(v, dst))
	}
	return r.each(func(k int, p *Program) error {
		from, to := r.division.Rows(k)
		return p.Contents(r.division.Part(v, k), dst[from*v.Cols:to*v.Cols])
	})
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
	var failed []error
	for _, p := range r.programs { // a device may still read the memory of another
		failed = append(failed, r.several.of(p.device, p.device.driver.Synchronize(p.device.stream)))
	}
	for _, p := range r.programs {
		failed = append(failed, r.several.of(p.device, p.Close()))
	}
	r.programs = nil
	return errors.Join(failed...)
}
