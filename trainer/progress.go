package trainer

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"ppal/trainer/problem"
)

// Checkpointer keeps the whole state of a run from time to time, so that another process can
// continue the run.
type Checkpointer interface {
	// Due reports whether the run must call Checkpoint before the next iteration.
	Due() bool
	// Checkpoint receives the state before an iteration, and before the record of the iterate. A run
	// calls Checkpoint when Due says so, when its context is cancelled, and when a limit ends the run.
	// at is the iterate's point. The state holds copies. With s and at as Settings.Resume and
	// ResumeAt, a new run continues to the same bits, its records and the selected iterate included.
	Checkpoint(s *State, at problem.Point)
}

// progressPrefix begins the names of the parts of a State that belong to the run and not to the
// method. Only the states of a Checkpointer have these parts.
const progressPrefix = "run."

// progressVisitor visits each part of a run's progress by name.
type progressVisitor interface {
	problem.StateVisitor
	// List visits numbers of any count. nil and no numbers are the same.
	List(name string, x *[]float64)
	// Copy visits a copy of an iterate on the host, or nil. The state keeps it among its vectors.
	Copy(name string, x *[]float64)
	// Texts visits texts of any count.
	Texts(name string, x *[]string)
}

// checkpoint passes the state of the run to the checkpointer.
func (t *run) checkpoint() {
	s := Capture(t.p, t.m)
	t.visitProgress(&saver{s: s, p: t.p, prefix: progressPrefix})
	t.set.Checkpointer.Checkpoint(s, problem.Point{Iteration: t.at.Iteration, GradientEvaluations: t.at.GradientEvaluations})
}

// restoreProgress sets the progress from the parts of a state, and reports whether the state has
// them.
func (t *run) restoreProgress(s *State) (restored bool, err error) {
	if len(s.Numbers) == 0 {
		return false, nil
	}
	v := &restorer{s: s, p: t.p, prefix: progressPrefix, used: map[string]bool{}}
	t.visitProgress(v)
	return true, v.finish()
}

// cutProgress separates the parts of the run's progress from the method's state.
func (s *State) cutProgress() (own, progress *State) {
	own, progress = newState(s.Method), newState(s.Method)
	to := func(name string) *State {
		if strings.HasPrefix(name, progressPrefix) {
			return progress
		}
		return own
	}
	for name, x := range s.Numbers {
		to(name).Numbers[name] = x
	}
	for name, x := range s.Vectors {
		to(name).Vectors[name] = x
	}
	for name, x := range s.Texts {
		to(name).Texts[name] = x
	}
	return own, progress
}

// visitProgress shows to v everything that the run keeps between iterations beside the method's
// state. Times of day are not part of it.
func (t *run) visitProgress(v progressVisitor) {
	v.Number("seconds", &t.seconds)
	v.Number("recorded.seconds", &t.last.Seconds)
	v.Count("recorded", &t.recorded)
	v.Count("from", &t.from)
	v.Number("gradients.part", &t.at.Part)
	v.Number("near.rho", &t.set.Near.RhoHat)
	warnings := t.warnings.Encode()
	v.Texts("warnings", &warnings)
	t.warnings = DecodeWarnings(warnings)
	t.residuals.visit(v)
	visitBest(v, &t.best)
	t.conflict.visit(v)
	t.trend.visit(v)
	t.selection.visit(v)
	if t.set.Output == OutputRandom {
		visitGenerator(v, t.source)
		v.Count("drawn", &t.drawn)
		v.Number("drawn.weights", &t.weight)
		v.List("drawn.nu", &t.drawnNu)
		v.Vector("drawn.at", t.drawnAt)
	}
}

// visit shows the sums to v.
func (s *residuals) visit(v progressVisitor) {
	v.Count("residuals", &s.count)
	v.Numbers("residuals.sum", s.sum[:])
	v.Numbers("residuals.squares", s.squares[:])
	for i, name := range [3]string{"stationarity", "infeasibility", "complementarity"} {
		f := &s.fits[i]
		x := []float64{f.n, f.x, f.y, f.xx, f.xy}
		v.Numbers("residuals."+name, x)
		*f = logFit{x[0], x[1], x[2], x[3], x[4]}
	}
}

// visitBest shows the best feasible record to v.
func visitBest(v progressVisitor, best **Best) {
	var x []float64
	if b := *best; b != nil {
		x = []float64{float64(b.Iteration), b.Objective}
	}
	var at []float64
	if *best != nil {
		at = (*best).X
	}
	v.List("best", &x)
	v.Copy("best.x", &at)
	if *best = nil; len(x) == 2 {
		*best = &Best{int(x[0]), x[1], at}
	}
}

// visit shows the searches to v. A proof ends the run, so that no run continues with a proof.
func (c *conflict) visit(v progressVisitor) {
	v.List("conflict.recent", &c.recent)
	v.Number("conflict.before", &c.before)
	problem.VisitFlag(v, "conflict.started", &c.started)
	v.Number("conflict.spent", &c.spent)
	problem.VisitFlag(v, "conflict.attained", &c.attained)
	problem.VisitFlag(v, "conflict.met", &c.met)
}

// visit shows the multipliers and the iterate of earlier records to v.
func (w *trend) visit(v progressVisitor) {
	v.Count("trend.old", &w.old.iteration)
	v.List("trend.old.multipliers", &w.old.multipliers)
	v.Count("trend.recent", &w.recent.iteration)
	v.List("trend.recent.multipliers", &w.recent.multipliers)
	v.List("trend.before", &w.before)
	v.Number("trend.moved", &w.moved)
}

// visit shows the selected iterate and the merits to v.
func (c *selection) visit(v progressVisitor) {
	if c.at != problem.Iterate {
		v.Vector("selection.at", c.at)
	}
	v.List("selection.nu", &c.nu)
	v.Count("selection.iteration", &c.iteration)
	problem.VisitFlag(v, "selection.chosen", &c.chosen)
	problem.VisitFlag(v, "selection.started", &c.started)
	for name, m := range map[string]*Merit{"selection.merit": &c.merit, "selection.validation": &c.validation} {
		x := []float64{m.Violation, m.Objective}
		v.Numbers(name, x)
		m.Violation, m.Objective = x[0], x[1]
	}
	v.Count("selection.waited", &c.waited)
}

// visitGenerator shows the state of a random generator to v, as 32-bit parts. The text form of the
// state is "pcg:" and two big-endian 64-bit numbers.
func visitGenerator(v progressVisitor, source *rand.PCG) {
	const form = "pcg:"
	state, err := source.MarshalBinary()
	if err != nil {
		panic(err) // PCG has no errors
	}
	x := make([]float64, (len(state)-len(form))/4)
	for i := range x {
		x[i] = float64(binary.BigEndian.Uint32(state[len(form)+4*i:]))
	}
	v.Numbers("generator", x)
	for i := range x {
		binary.BigEndian.PutUint32(state[len(form)+4*i:], uint32(x[i]))
	}
	if err := source.UnmarshalBinary(state); err != nil {
		panic(err) // the form is unchanged
	}
}
