package trainer

import (
	"fmt"
	"maps"
	"slices"

	"ppal/trainer/problem"
)

// State holds everything that a run needs to continue from an iterate: named numbers, and named
// vectors of x's length. The vector "iterate" is the iterate. A State holds copies. A state from a
// Checkpointer also has the progress of the run, and texts.
type State struct {
	Method  string // Method.Name
	Numbers map[string][]float64
	Vectors map[string][]float64
	Texts   map[string][]string // nil or empty: no texts
}

// newState returns a state without parts.
func newState(method string) *State {
	return &State{Method: method, Numbers: map[string][]float64{}, Vectors: map[string][]float64{}, Texts: map[string][]string{}}
}

// Capture copies the iterate and the state of m.
func Capture(p problem.Problem, m Method) *State { return capture(p, m.Name(), m.VisitState) }

// capture copies the iterate and the state that visit shows.
func capture(p problem.Problem, name string, visit func(problem.StateVisitor)) *State {
	s := newState(name)
	v := &saver{s: s, p: p}
	v.Vector(iterateName, problem.Iterate)
	visit(v)
	return s
}

// iterateName is the name of the iterate in State.Vectors.
const iterateName = "iterate"

// Restore sets the iterate and the state of m, after m.Init on a problem of the same shape. The
// error wraps problem.ErrSettings if s belongs to another method, primal step or problem; the
// iterate and the state of m are then undefined.
func (s *State) Restore(p problem.Problem, m Method) error {
	return s.restore(p, m.Name(), m.VisitState)
}

// restore sets the iterate and the state that visit shows. name is the name of the method.
func (s *State) restore(p problem.Problem, name string, visit func(problem.StateVisitor)) error {
	if s.Method != name {
		return fmt.Errorf("trainer: %w: the state belongs to the method %q, not %q", problem.ErrSettings, s.Method, name)
	}
	v := &restorer{s: s, p: p, used: map[string]bool{}}
	v.Vector(iterateName, problem.Iterate)
	visit(v)
	return v.finish()
}

// saver is a progressVisitor that copies the state to s. prefix begins the names in s.
type saver struct {
	s      *State
	p      problem.Problem
	prefix string
}

func (v *saver) Number(name string, x *float64) { v.Numbers(name, []float64{*x}) }
func (v *saver) Count(name string, n *int)      { v.Numbers(name, []float64{float64(*n)}) }
func (v *saver) Numbers(name string, x []float64) {
	v.s.Numbers[v.prefix+name] = append([]float64{}, x...)
}
func (v *saver) Vector(name string, x problem.Vector) {
	n, _ := v.p.Dims()
	own := make([]float64, n)
	v.p.Space().Read(own, x)
	v.s.Vectors[v.prefix+name] = own
}
func (v *saver) List(name string, x *[]float64) { v.Numbers(name, *x) }
func (v *saver) Copy(name string, x *[]float64) {
	if *x != nil {
		v.s.Vectors[v.prefix+name] = slices.Clone(*x)
	}
}
func (v *saver) Texts(name string, x *[]string) { v.s.Texts[v.prefix+name] = slices.Clone(*x) }

// restorer is a progressVisitor that sets the state from s. prefix begins the names in s, and used
// holds the names that the visit asked for.
type restorer struct {
	s      *State
	p      problem.Problem
	prefix string
	used   map[string]bool
	err    error
}

// finish returns the error of the visit, or an error if s contains parts that the visit did not ask
// for.
func (v *restorer) finish() error {
	for _, names := range []map[string][]float64{v.s.Numbers, v.s.Vectors} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if v.err == nil && !v.used[name] {
				v.err = fmt.Errorf("trainer: %w: the state contains %q, which %s with these settings does not use", problem.ErrSettings, name, v.s.Method)
			}
		}
	}
	return v.err
}

// find returns the n numbers with the name. find sets v.err and returns nil if the numbers are
// missing or their count differs.
func (v *restorer) find(in map[string][]float64, name string, n int) []float64 {
	name = v.prefix + name
	v.used[name] = true
	x, ok := in[name]
	if v.err == nil && (!ok || len(x) != n) {
		v.err = fmt.Errorf("trainer: %w: the state's %q has %d numbers, want %d: the state belongs to other settings or another problem",
			problem.ErrSettings, name, len(x), n)
	}
	if v.err != nil {
		return nil
	}
	return x
}

func (v *restorer) Number(name string, x *float64) {
	if s := v.find(v.s.Numbers, name, 1); s != nil {
		*x = s[0]
	}
}

func (v *restorer) Count(name string, n *int) {
	if s := v.find(v.s.Numbers, name, 1); s != nil {
		*n = int(s[0])
	}
}

func (v *restorer) Numbers(name string, x []float64) { copy(x, v.find(v.s.Numbers, name, len(x))) }

func (v *restorer) Vector(name string, x problem.Vector) {
	n, _ := v.p.Dims()
	if s := v.find(v.s.Vectors, name, n); s != nil {
		v.p.Space().Write(x, s)
	}
}

func (v *restorer) List(name string, x *[]float64) {
	if own := v.find(v.s.Numbers, name, len(v.s.Numbers[v.prefix+name])); v.err == nil {
		*x = nil
		if len(own) > 0 {
			*x = slices.Clone(own)
		}
	}
}

func (v *restorer) Copy(name string, x *[]float64) {
	*x = nil
	if _, ok := v.s.Vectors[v.prefix+name]; ok {
		n, _ := v.p.Dims()
		*x = slices.Clone(v.find(v.s.Vectors, name, n))
	}
}

func (v *restorer) Texts(name string, x *[]string) { *x = slices.Clone(v.s.Texts[v.prefix+name]) }
