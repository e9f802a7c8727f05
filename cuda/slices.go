package cuda

import "ppal/cuda/driver"

// slicing divides an addition among the devices. Device k gets slice k of every device's term, adds
// these slices in the order of the devices, and sends the sum to all devices. So one device adds
// each element, in the same order as with PeerSums.
type slicing struct {
	from, to        []int             // of the elements, by device of this process
	terms, complete []driver.Transfer // of the terms, of the sums, with a device of this process
}

// sliceUnit divides the number of elements of each slice but the last, so that the transfers begin
// at multiples of 256 bytes.
const sliceUnit = 64

// sliceOf returns the range of the elements that device k of n adds.
func sliceOf(elements, k, n int) (from, to int) {
	each := ((elements+n-1)/n + sliceUnit - 1) / sliceUnit * sliceUnit
	return min(k*each, elements), min((k+1)*each, elements)
}

// newSlices allocates a place for the term of device k of n, in which the sums replace the terms,
// and places for its slice of the terms of the other devices.
func (p *Program) newSlices(most, k, n int) (err error) {
	_, each := sliceOf(most, 0, n)
	if p.outbox.at[0], err = p.allocate("sums for other devices", most*p.size); err != nil {
		return err
	}
	p.inbox = make([]driver.Pointer, n)
	for j := range p.inbox {
		if j == k {
			continue
		}
		if p.inbox[j], err = p.allocate("terms of other devices", each*p.size); err != nil {
			return err
		}
	}
	return nil
}

// slice plans the transfers of additions.
func (r *shared) slice(list []addition) {
	first, total := r.several.first, r.several.total
	own := func(k int) *Program { // nil: of another process
		if k -= first; k >= 0 && k < len(r.programs) {
			return r.programs[k]
		}
		return nil
	}
	size := r.programs[0].size
	for i := range list {
		s := &list[i].slices
		for k := range total {
			from, to := sliceOf(list[i].elements, k, total)
			bytes := (to - from) * size
			at := func(p *Program) driver.Pointer { // the slice in the outbox
				if p == nil {
					return 0
				}
				return p.outbox.at[0].Offset(from * size)
			}
			if own(k) != nil {
				s.from, s.to = append(s.from, from), append(s.to, to)
			}
			for j := range total {
				if j == k || bytes == 0 || own(j) == nil && own(k) == nil {
					continue
				}
				term := driver.Transfer{From: j, To: k, Source: at(own(j)), Bytes: bytes}
				if own(k) != nil {
					term.Target = own(k).inbox[j]
				}
				s.terms = append(s.terms, term)
				s.complete = append(s.complete, driver.Transfer{From: k, To: j, Source: at(own(k)), Target: at(own(j)), Bytes: bytes})
			}
		}
	}
}

// addSlices adds by kernels, one slice on each device. It does not wait. A stream runs its work in
// order, so the outbox and the inbox need one place only: the next term is written after the
// transfers have read this term.
func (r *shared) addSlices(a *addition) error {
	if err := r.each(func(k int, _ *Program) error { return r.post(a, k, 0) }); err != nil {
		return err
	}
	s := &a.slices
	if err := r.several.communicator.Transfer(r.several.streams, s.terms); err != nil {
		return err
	}
	err := r.each(func(k int, p *Program) error {
		elements := s.to[k] - s.from[k]
		if elements == 0 {
			return nil
		}
		own := p.outbox.at[0].Offset(s.from[k] * p.size)
		copy(r.places, p.inbox)
		r.places[r.several.first+k] = own
		return p.set.VectorSum(&p.device.queue, elements, own, r.ones, r.places)
	})
	if err != nil {
		return err
	}
	if err := r.several.communicator.Transfer(r.several.streams, s.complete); err != nil {
		return err
	}
	return r.each(func(k int, p *Program) error {
		from := p.outbox.at[0]
		for _, t := range a.terms[k] {
			if err := p.device.driver.Copy(p.device.stream, t.address(p), from, t.elements*p.size); err != nil {
				return err
			}
			from = from.Offset(t.elements * p.size)
		}
		return nil
	})
}
