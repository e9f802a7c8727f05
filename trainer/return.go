package trainer

import "ppal/trainer/problem"

// showReturned moves the iterate to the point that the method would return, and keeps a copy of the
// iterate for hideReturned. showReturned reports whether the returned point differs from the
// iterate.
func (t *run) showReturned() (bool, error) {
	if t.hooks.returner == nil {
		return false, nil
	}
	if t.iterateAt == problem.Iterate {
		t.iterateAt = t.p.Space().New()
	}
	t.p.Space().Combine(t.iterateAt, 1, problem.Iterate, 0, problem.Iterate)
	if !t.hooks.returner.Return(t.p) {
		return false, nil
	}
	if err := t.at.Forward(t.p); err != nil {
		return false, err
	}
	return true, t.at.Check()
}

// hideReturned restores the iterate.
func (t *run) hideReturned() error {
	t.p.Space().Combine(problem.Iterate, 1, t.iterateAt, 0, t.iterateAt)
	return t.at.Forward(t.p)
}

// returned runs measure with accurate passes at the point that the method would return.
func (t *run) returned(measure func() error) error {
	shown, err := t.showReturned()
	if err != nil {
		return err
	}
	if err = t.withAccuratePoint(measure); shown && err == nil {
		err = t.hideReturned()
	}
	return err
}
