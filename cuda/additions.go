package cuda

import (
	"fmt"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// terms holds the terms and the sums of an addition in each device's pinned memory. Terms and sums
// have separate memory, because the device may still read the last sum when it writes the next
// term.
type terms[T plan.Float] struct{ terms, sums [][]T }

func (t *terms[T]) append(host []byte) {
	all := typed[T](host)
	t.terms, t.sums = append(t.terms, all[:len(all)/2]), append(t.sums, all[len(all)/2:])
}

// add sets the first n elements of every device's sum. over adds them over processes; nil: there is
// one process.
func (t *terms[T]) add(n int, over func(x []T) error) error {
	if len(t.terms) == 0 {
		return nil
	}
	for i := range n {
		sum := 0.0
		for _, term := range t.terms {
			sum += float64(term[i])
		}
		t.sums[0][i] = T(sum)
	}
	if over != nil {
		if err := over(t.sums[0][:n]); err != nil {
			return err
		}
	}
	for _, s := range t.sums[1:] {
		copy(s[:n], t.sums[0])
	}
	return nil
}

// addition adds sums over the devices. The terms of a device lie in stretches of its memory.
type addition struct {
	terms    [][]stretch // by device
	elements int         // of a device's term
	slices   slicing     // for NCCLSums
}

// outbox holds a device's term in one piece, for the other devices. With PeerSums, two places take
// turns. A device writes a place again after the other devices have written their next terms. By
// then they have read this place.
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

// prepare finds the memory of the sums, and allocates the memory for the terms.
func (r *shared) prepare() error {
	r.forward, r.backward = r.additionsOf(r.division.Forward), r.additionsOf(r.division.Backward)
	most := 1
	for _, list := range [][]addition{r.forward, r.backward} {
		for _, a := range list {
			most = max(most, a.elements)
		}
	}
	n := len(r.programs[0].numbers.values)
	r.results, r.g = make([]float64, n), make([]float64, n-1)
	r.places = make([]driver.Pointer, r.several.total)
	for range r.places {
		r.ones = append(r.ones, 1)
	}
	for k, p := range r.programs {
		var err error
		switch r.several.sums {
		case PeerSums:
			err = p.newOutbox(most * p.size)
		case NCCLSums:
			err = p.newSlices(most, r.several.first+k, r.several.total)
		default:
			err = r.newTerms(p, most)
		}
		if err != nil {
			return r.several.of(r.several.devices[k], err)
		}
	}
	if r.several.sums == NCCLSums {
		r.slice(r.forward)
		r.slice(r.backward)
	}
	return nil
}

// newTerms allocates the host's memory for a device's terms and sums.
func (r *shared) newTerms(p *Program, elements int) (err error) {
	if p.terms, err = p.device.driver.Pinned(2 * elements * p.size); err != nil {
		return fmt.Errorf("cuda: pinned memory for sums: %w", err)
	}
	if p.dtype == kernels.Float32 {
		r.single.append(p.terms)
	} else {
		r.double.append(p.terms)
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

// add replaces every device's term by the sum of the terms. Each element is added in float64 in the
// order of the devices, and rounded once.
func (r *shared) add(a *addition) error {
	switch r.several.sums {
	case PeerSums:
		return r.addOnDevices(a)
	case NCCLSums:
		return r.addSlices(a)
	}
	return r.addOnHost(a)
}

// addOnDevices adds by kernels that read the terms in the memory of all devices. It does not wait.
func (r *shared) addOnDevices(a *addition) error {
	turn := r.additions % 2
	r.additions++
	err := r.each(func(k int, p *Program) error {
		if err := r.post(a, k, turn); err != nil {
			return err
		}
		return p.device.driver.Record(p.outbox.written, p.device.stream)
	})
	if err != nil {
		return err
	}
	return r.each(func(k int, p *Program) error { return r.sum(p, a.terms[k], turn) })
}

// post copies a device's term to a place of its outbox.
func (r *shared) post(a *addition, k, turn int) error {
	p := r.programs[k]
	to := p.outbox.at[turn]
	for _, t := range a.terms[k] {
		if err := p.device.driver.Copy(p.device.stream, to, t.address(p), t.elements*p.size); err != nil {
			return err
		}
		to = to.Offset(t.elements * p.size)
	}
	return nil
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

// addOnHost adds in the host's memory, over all processes.
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
	var double func(x []float64) error
	var single func(x []float32) error
	if p := r.several.processes; p != nil {
		double, single = p.Sum, p.SumFloat32
	}
	if err := r.single.add(a.elements, single); err != nil {
		return err
	}
	if err := r.double.add(a.elements, double); err != nil {
		return err
	}
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
