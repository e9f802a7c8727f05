package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// sampleProgram is a program on a sample of the rows.
type sampleProgram struct {
	run   plan.Program
	share float64 // of the rows
}

// otherRows is a program on other rows than those of the problem.
type otherRows struct {
	plan.Program
	rows    int
	watched []plan.View
}

// AddSample compiles the problem on a sample of the rows, as a coarse grade of p (problem.Graded).
// build adds the nodes to a new graph, as for New: the same parameters and constraints, and the
// sample's rows as Inputs[0]. The passes of the sample use p's iterate, and not the values of the
// parameters in build. The sample's share is its number of rows in Inputs[0] over p's. engine is
// p's engine.
//
// Samples are added in the order of their sizes, and before p is used. AddSample returns an error
// that wraps problem.ErrSettings if the engine is not a device, or if the problem of build has
// other parameters, constraints or sizes.
func (p *Problem) AddSample(build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine) error {
	own, run, err := p.onRows("sample", build, engine, func(own *deviceProblem, rows int) bool {
		return rows < p.inputs[0].rows && (len(own.samples) == 0 || float64(rows) > own.samples[len(own.samples)-1].share*float64(p.inputs[0].rows))
	})
	if err != nil {
		return err
	}
	own.samples = append(own.samples, sampleProgram{run.Program, float64(run.rows) / float64(p.inputs[0].rows)})
	own.listGrades()
	return nil
}

// AddBatch compiles the problem on other rows, whose number and labels may differ from those of p.
// It returns a function that switches the passes of p, and the watched values, to these rows, at
// p's iterate. UseOwn switches back to the rows of p. build and the errors are those of AddSample.
func (p *Problem) AddBatch(build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine) (use func(), err error) {
	own, run, err := p.onRows("batch", build, engine, func(*deviceProblem, int) bool { return true })
	if err != nil {
		return nil, err
	}
	return func() { own.batch = run }, nil
}

// UseOwn switches the passes of p back to its own rows: see AddBatch.
func (p *Problem) UseOwn() {
	if own, direct := p.compiled.(*deviceProblem); direct {
		own.batch = nil
	}
}

// onRows compiles the problem on other rows for the vectors of p. what names the rows in errors,
// and suits reports whether their number suits the problem.
func (p *Problem) onRows(what string, build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine, suits func(own *deviceProblem, rows int) bool) (*deviceProblem, *otherRows, error) {
	own, direct := p.compiled.(*deviceProblem)
	device, ok := engine.(deviceEngine)
	if !direct || !ok {
		return nil, nil, fmt.Errorf("graph: %w: only plans on a device have a %s", problem.ErrSettings, what)
	}
	l, lowered, err := device.planOf(build)
	if err != nil {
		return nil, nil, fmt.Errorf("graph: compile the %s: %w", what, err)
	}
	rows := 0
	if len(l.Inputs) > 0 {
		rows, _ = dims(l.Inputs[0].Shape())
	}
	m, n := 0, 0
	for _, size := range l.Sizes {
		m += size
	}
	for _, x := range l.Parameters {
		n += x.Shape().TotalSize()
	}
	if m != own.m || n != own.space.Len() || l.Dtype != own.dtype || rows == 0 || !suits(own, rows) {
		return nil, nil, fmt.Errorf("graph: %w: a %s of %d rows with %d parameters and %d constraints of %v does not suit a problem on %d rows with %d, %d and %v",
			problem.ErrSettings, what, rows, n, m, l.Dtype, p.inputs[0].rows, own.space.Len(), own.m, own.dtype)
	}
	run, err := device.device.Compile(lowered, own.space.Vectors)
	if err != nil {
		return nil, nil, fmt.Errorf("graph: compile the %s: %w", what, err)
	}
	forget(lowered)
	return own, &otherRows{run, rows, lowered.Watched}, nil
}

// roundoffOf returns the roundoff of a program's coarse products; 0 if the program has none.
func roundoffOf(run plan.Program) float64 {
	if g, ok := run.(plan.Grader); ok {
		return g.CoarseRoundoff()
	}
	return 0
}

// listGrades lists the grades: the samples, all rows with coarse products, and the accurate passes.
// The passes become accurate.
func (p *deviceProblem) listGrades() {
	p.grades = nil
	for _, s := range p.samples {
		p.grades = append(p.grades, problem.Grade{Share: s.share, Roundoff: roundoffOf(s.run)})
	}
	if u := roundoffOf(p.run); u > 0 {
		p.grades = append(p.grades, problem.Grade{Share: 1, Roundoff: u})
	}
	p.grades = append(p.grades, problem.Grade{Share: 1})
	p.SetGrade(len(p.grades) - 1)
}

// present returns the program of the present grade.
func (p *deviceProblem) present() plan.Program {
	if p.batch != nil {
		return p.batch.Program
	}
	if p.grade < len(p.samples) {
		return p.samples[p.grade].run
	}
	return p.run
}

// Grades implements problem.Graded.
func (p *deviceProblem) Grades() []problem.Grade { return p.grades }

// SetGrade implements problem.Graded.
func (p *deviceProblem) SetGrade(k int) {
	p.grade = k
	if g, ok := p.present().(plan.Grader); ok && g.CoarseRoundoff() > 0 {
		g.SetCoarse(p.grades[k].Roundoff > 0)
	}
}

// Grade implements problem.Graded.
func (p *deviceProblem) Grade() int { return p.grade }

// planOf builds, differentiates and lowers a graph.
func (e deviceEngine) planOf(build func(g *gorgonia.ExprGraph) (Definition, error)) (*Lagrangian, *plan.Plan, error) {
	building.Lock()
	defer building.Unlock()
	l, err := built(build)
	if err != nil {
		return nil, nil, err
	}
	lowered, err := e.plan(l)
	return l, lowered, err
}
