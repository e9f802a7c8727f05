package session

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/trainer/option"
	"ppal/trainer/problem"
)

// Task is what is learnt on a model's scores: an objective f and constraints g <= 0. NeymanPearson,
// DemographicParity, EqualizedOdds and Intersectional are tasks, and so is a *Statement of the
// caller's own.
type Task interface {
	// State states the task for the classes and groups of the training rows. smooth says that the
	// method takes differentiable constraints only.
	State(train Rows, smooth bool) (*Statement, error)
}

// The names of the tasks in a run's files and on the command line.
const (
	NameNeymanPearson     = option.NeymanPearson
	NameDemographicParity = option.DemographicParity
	NameEqualizedOdds     = option.EqualizedOdds
	NameIntersectional    = option.Intersectional
)

// Statement is a task for rows whose classes and groups are known. It states the objective and the
// constraints as Gorgonia nodes; the same statement serves training, the certificate in float64 and
// the measures of held-out rows. Name, Constraints and Nodes are needed.
type Statement struct {
	// Name stands in the run's files and in the name of its directory.
	Name string
	// Objective says in a word what f is; "" is "objective".
	Objective string
	// Constraints are the names and bounds of g_1..g_m.
	Constraints []Constraint
	// Outputs is the number of scores of a row; 0 means 1.
	Outputs int
	// Nodes adds the scalar f and the constraints g, scalars or vectors with the bounds subtracted,
	// to the graph of the scores [n, Outputs]. With Pieces the nodes are the terms of the pieces.
	// It is called for float32 and float64 scores and for several sets of rows.
	Nodes func(scores *gorgonia.Node, rows Rows) (objective *gorgonia.Node, constraints gorgonia.Nodes, err error)
	// NonSmooth says that f or the nodes of g have kinks in the scores.
	NonSmooth bool
	// Pieces are the smooth pieces of constraints that are maxima; nil: the nodes are the constraints.
	Pieces []problem.Piece
	// Measures returns what evaluates the scores of some rows; nil reports f, g and the largest
	// violation, computed in float64 by the nodes.
	Measures func(rows Rows) (func(scores []float64) (Measures, error), error)
	// CollapseAbove is the objective of a worthless stationary point; 0: none is known.
	CollapseAbove float64
	// Warnings are sentences about the task's settings.
	Warnings []string

	sampled *constraints.Intersectional // one group is drawn at each iteration; nil: all count
}

// State implements Task: a statement is its own.
func (s *Statement) State(Rows, bool) (*Statement, error) { return s, nil }

// Constraint is a name and a bound. For the values that are reported, g_j + Bound is compared with
// Bound.
type Constraint struct {
	Name  string
	Bound float64
}

// Measures are what is reported of the rows of a split.
type Measures struct {
	// Named are the measures by their names in the run's files, without the split's.
	Named map[string]float64
	// Values are f, then g_j + Bound_j.
	Values []float64
	// Decisions are what each of Values stands for on the model's decisions: error rates, gaps. nil
	// where the task has none.
	Decisions []float64
}

// Class is a class of the rows.
type Class struct {
	Name   string
	Label  int // its value in Rows.Labels
	Number int // pictures: the class's number in the data set
}

// Rows is what a task knows of the rows of a split or of a mini-batch.
type Rows struct {
	Labels  []int   // one a row. Pictures: the place of its class in Classes; tables: -1 or +1
	Classes []Class // in the order of Source
	Groups  []constraints.Group
}

// bounds are the constraints' bounds.
func (s *Statement) bounds() []float64 {
	list := make([]float64, len(s.Constraints))
	for j, c := range s.Constraints {
		list[j] = c.Bound
	}
	return list
}

// names are the constraints' names.
func (s *Statement) names() []string {
	list := make([]string, len(s.Constraints))
	for j, c := range s.Constraints {
		list[j] = c.Name
	}
	return list
}

// check refuses a statement that lacks what is needed.
func (s *Statement) check() error {
	if s.Name == "" || s.Nodes == nil {
		return fmt.Errorf("session: %w: a statement needs a Name and Nodes", ErrOptions)
	}
	return nil
}

// complete makes the statement's constraints of a problem whose constraints are its nodes.
func (s *Statement) complete(p problem.Problem) (problem.Problem, error) {
	if s.Pieces == nil {
		return p, nil
	}
	return problem.MakePiecewise(p, s.Pieces)
}

// named pairs names with bounds.
func named(names []string, bounds []float64) []Constraint {
	list := make([]Constraint, len(names))
	for j, name := range names {
		list[j] = Constraint{name, bounds[j]}
	}
	return list
}

// Surrogate names a surrogate of the 0-1 loss, see constraints.Phi. The empty string means the task's
// default.
type Surrogate string

// The surrogates.
const (
	Sigmoid  Surrogate = "sigmoid"
	Logistic Surrogate = "logistic"
	Hinge    Surrogate = "hinge"
)

// or returns the surrogate, or the default.
func (s Surrogate) or(other Surrogate) (constraints.Phi, error) {
	if s == "" {
		s = other
	}
	return constraints.ParsePhi(string(s))
}

// pair checks that the groups are two that share the rows out.
func (r Rows) pair() error {
	t := datasets.Table{Labels: r.Labels}
	for _, g := range r.Groups {
		t.Groups = append(t.Groups, datasets.Group{Name: g.Name, Rows: g.Rows})
	}
	_, _, err := t.Partition()
	return err
}

// groupNames are the groups' names.
func (r Rows) groupNames() []string {
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Name)
	}
	return names
}

// fair is what the problems of package constraints know of the rows.
func (r Rows) fair() constraints.Rows { return constraints.Rows{Labels: r.Labels, Groups: r.Groups} }
