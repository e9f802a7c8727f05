package session

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/trainer/option"
	"ppal/trainer/problem"
)

// Task is an objective f and constraints g <= 0 on the scores of a model. NeymanPearson,
// DemographicParity, EqualizedOdds and Intersectional are tasks. A *Statement is a task of the
// caller's own.
type Task interface {
	// State states the task for the classes and groups of the training rows. If smooth is true, the
	// method needs differentiable constraints.
	State(train Rows, smooth bool) (*Statement, error)
}

// The names of the tasks in a run's files and on the command line.
const (
	NameNeymanPearson     = option.NeymanPearson
	NameDemographicParity = option.DemographicParity
	NameEqualizedOdds     = option.EqualizedOdds
	NameIntersectional    = option.Intersectional
)

// Statement is a task for rows whose classes and groups are known. The session uses one statement
// for training, for the certificate in float64 and for the measures of held-out rows. Name,
// Constraints and Nodes are required.
type Statement struct {
	// Name is the task's name in the run's files and in the default name of the directory.
	Name string
	// Objective is the name of f; "" means "objective".
	Objective string
	// Constraints are the names and bounds of g_1..g_m.
	Constraints []Constraint
	// Outputs is the number of scores of a row; 0 means one.
	Outputs int
	// Nodes adds the scalar f and the constraints g to the graph of the scores [n, Outputs]. The
	// nodes of g are scalars or vectors, and the bounds are subtracted from them. If there are
	// Pieces, the nodes are the terms of the pieces. The session calls Nodes for several sets of
	// rows, with float32 and with float64 scores.
	Nodes func(scores *gorgonia.Node, rows Rows) (objective *gorgonia.Node, constraints gorgonia.Nodes, err error)
	// NonSmooth is true if f or the nodes of g have kinks in the scores.
	NonSmooth bool
	// Pieces are the smooth pieces of constraints that are maxima; nil: the nodes are g.
	Pieces []problem.Piece
	// ParameterNodes adds terms of the model's parameters to the graph, such as a norm of the weights.
	// They follow the nodes of the scores. The parameters are in the order of
	// models.Spec.Parameters. nil: there are none.
	ParameterNodes func(parameters gorgonia.Nodes) (gorgonia.Nodes, error)
	// Affine maps the nodes to the constraints, on the host: problem.NewAffine. nil: the nodes are
	// g, or the terms of Pieces. All problems of the session share the map and so its shifts.
	Affine *problem.AffineMap
	// Measures returns a function that evaluates the scores of the rows. nil reports f, g and the
	// largest violation, which the nodes compute in float64.
	Measures func(rows Rows) (func(scores []float64) (Measures, error), error)
	// CollapseAbove is an objective from which a stationary point is worthless; 0: not known.
	CollapseAbove float64
	// Warnings are sentences about the settings of the task.
	Warnings []string

	// system is the system of a Decisions task; nil for other tasks. boundsOn says what its
	// bounds hold for.
	system   *constraints.System
	boundsOn BoundsOn
	// start are weights of the terms that replace the objective in the first round of feedback;
	// nil: none.
	start []float64
	// confidence is the confidence of a Decisions task; 0: none
	confidence float64
	// measures replaces Measures if values need the terms of ParameterNodes, too.
	measures func(rows Rows) (func(scores, parameters []float64) (Measures, error), error)
	sampled  *constraints.Intersectional // draws one group at each iteration; nil: all groups count
	meanings []meaning                   // the decisions' quantities behind constraints on surrogates; nil: the constraints' names
	minimise string                      // the rate behind an objective on surrogates; "": the objective's name
}

// State implements Task: it returns s.
func (s *Statement) State(Rows, bool) (*Statement, error) { return s, nil }

// Constraint describes g_j. Reports compare the value g_j + Bound with Bound.
type Constraint struct {
	Name  string
	Bound float64
}

// Measures are the measures of the rows of a split.
type Measures struct {
	// Named are the measures by name. The run's files put the split before the name: test_error.
	Named map[string]float64
	// Values are f, then g_j + Bound_j.
	Values []float64
	// Decisions are Values computed from the model's decisions, such as error rates and gaps; nil
	// if the task has none.
	Decisions []float64
}

// Class is a class of the rows.
type Class struct {
	Name   string
	Label  int // value in Rows.Labels
	Number int // of pictures: the number in the data set
}

// Rows are the labels, classes and groups of a split or of a mini-batch.
type Rows struct {
	Labels  []int   // of each row. Pictures: the index of the class in Classes; tables: -1 or +1
	Classes []Class // in the order of the source
	Groups  []constraints.Group
	// Attributes are the attributes that constraints of a Decisions task name.
	Attributes []constraints.Attribute
	// Earlier has the earlier decisions of the rows, by the file of a churn: the index of a class in
	// Classes, or -1 for none.
	Earlier map[string][]int
}

// bounds returns the bounds of the constraints.
func (s *Statement) bounds() []float64 {
	list := make([]float64, len(s.Constraints))
	for j, c := range s.Constraints {
		list[j] = c.Bound
	}
	return list
}

// names returns the names of the constraints.
func (s *Statement) names() []string {
	list := make([]string, len(s.Constraints))
	for j, c := range s.Constraints {
		list[j] = c.Name
	}
	return list
}

// check refuses a statement without a required field.
func (s *Statement) check() error {
	if s.Name == "" || s.Nodes == nil {
		return fmt.Errorf("session: %w: a statement needs a Name and Nodes", ErrOptions)
	}
	if s.Affine != nil && s.Pieces != nil {
		return fmt.Errorf("session: %w: a statement has Affine or Pieces, not both", ErrOptions)
	}
	return nil
}

// complete returns the problem with the statement's constraints. The constraints of p are the
// nodes.
func (s *Statement) complete(p problem.Problem) (problem.Problem, error) {
	switch {
	case s.Affine != nil:
		return problem.NewAffine(p, s.Affine)
	case s.Pieces != nil:
		return problem.MakePiecewise(p, s.Pieces)
	}
	return p, nil
}

// named makes constraints of names and bounds.
func named(names []string, bounds []float64) []Constraint {
	list := make([]Constraint, len(names))
	for j, name := range names {
		list[j] = Constraint{name, bounds[j]}
	}
	return list
}

// Surrogate names a surrogate of the 0-1 loss, see constraints.Phi. The empty string means the
// default of the task.
type Surrogate string

// The surrogates.
const (
	Sigmoid  Surrogate = "sigmoid"
	Logistic Surrogate = "logistic"
	Hinge    Surrogate = "hinge"
)

// or returns the surrogate, or other if s is empty.
func (s Surrogate) or(other Surrogate) (constraints.Phi, error) {
	if s == "" {
		s = other
	}
	return constraints.ParsePhi(string(s))
}

// pair returns an error unless there are two groups and every row is in one of them.
func (r Rows) pair() error {
	t := datasets.Table{Labels: r.Labels}
	for _, g := range r.Groups {
		t.Groups = append(t.Groups, datasets.Group{Name: g.Name, Rows: g.Rows})
	}
	_, _, err := t.Partition()
	return err
}

// groupNames returns the names of the groups.
func (r Rows) groupNames() []string {
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Name)
	}
	return names
}

// fair returns the rows for package constraints.
func (r Rows) fair() constraints.Rows { return constraints.Rows{Labels: r.Labels, Groups: r.Groups} }
