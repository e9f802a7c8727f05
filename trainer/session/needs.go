package session

import "ppal/constraints"

// needs returns the properties of the rows that the task's constraints use.
func (o *Options) needs() constraints.Needs {
	if t, ok := o.Task.(Needing); ok {
		return t.Needs()
	}
	return constraints.Needs{}
}
