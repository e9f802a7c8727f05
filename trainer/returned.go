package trainer

// showReturned moves the iterate to the point that the method would return, and keeps the iterate for hideReturned. It says whether
// there is such a point.
func (t *run) showReturned() (bool, error) {
	r, ok := t.m.(Returner)
	if !ok {
		return false, nil
	}
	if t.iterateAt == Iterate {
		t.iterateAt = t.p.NewVector()
	}
	t.p.Combine(t.iterateAt, 1, Iterate, 0, Iterate)
	if !r.Return(t.p) {
		return false, nil
	}
	if err := t.at.forward(t.p); err != nil {
		return false, err
	}
	return true, t.at.check()
}

// hideReturned brings the iterate back.
func (t *run) hideReturned() error {
	t.p.Combine(Iterate, 1, t.iterateAt, 0, t.iterateAt)
	return t.at.forward(t.p)
}
