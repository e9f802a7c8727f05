package trainer

import "fmt"

// StateVisitor is shown each part of a state by name: on saving it copies the part out, on restoring it sets it.
type StateVisitor interface {
	Number(name string, x *float64)
	Count(name string, n *int)
	Numbers(name string, x []float64)
	Vector(name string, v Vector)
}

// State is everything that a run needs to go on from an iterate: numbers by name and vectors of x's size by name
// ("iterate" among them). It holds copies.
type State struct {
	Numbers map[string][]float64
	Vectors map[string][]float64
}

// Capture copies the iterate and m's state.
func Capture(p Problem, m Method) *State {
	s := &State{Numbers: map[string][]float64{}, Vectors: map[string][]float64{}}
	v := &saver{s: s, p: p}
	v.Vector(iterateName, Iterate)
	m.VisitState(v)
	return s
}

const iterateName = "iterate"

// Restore sets the iterate and m's state, after m.Init on a problem of the same shape.
func (s *State) Restore(p Problem, m Method) error {
	v := &restorer{s: s, p: p}
	v.Vector(iterateName, Iterate)
	m.VisitState(v)
	return v.err
}

type saver struct {
	s *State
	p Problem
}

func (v *saver) Number(name string, x *float64) { v.s.Numbers[name] = []float64{*x} }
func (v *saver) Count(name string, n *int)      { v.s.Numbers[name] = []float64{float64(*n)} }
func (v *saver) Numbers(name string, x []float64) {
	v.s.Numbers[name] = append([]float64{}, x...)
}
func (v *saver) Vector(name string, x Vector) {
	n, _ := v.p.Dims()
	v.s.Vectors[name] = make([]float64, n)
	v.p.Read(v.s.Vectors[name], x)
}

type restorer struct {
	s   *State
	p   Problem
	err error
}

func (v *restorer) find(in map[string][]float64, name string, n int) []float64 {
	x, ok := in[name]
	if v.err == nil && (!ok || len(x) != n) {
		v.err = fmt.Errorf("trainer: %w: the state's %q has %d numbers, want %d: it belongs to another method or problem", ErrSettings, name, len(x), n)
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

func (v *restorer) Vector(name string, x Vector) {
	n, _ := v.p.Dims()
	if s := v.find(v.s.Vectors, name, n); s != nil {
		v.p.Write(x, s)
	}
}
