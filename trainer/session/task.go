package session

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/rates"
	"ppal/internal/relay"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// Task is an objective f and constraints g <= 0 on the scores of a model. NeymanPearson,
// DemographicParity, EqualizedOdds, Intersectional and Decisions are tasks. A program implements
// Task for problems of its own: State returns the statement of a Decisions task, with an Objective
// of the program's own if it likes, or a *Statement of nodes. Such a task has counted decisions,
// intervals and a check by package verify if its statement says which rates the nodes stand for
// (Decided). Only the statement of a Decisions task has bounds that hold on new rows.
type Task interface {
	// State states the task for the classes and groups of the training rows. If smooth is true, the
	// method needs differentiable constraints.
	State(train Rows, smooth bool) (*Statement, error)
}

// Needing is a Task that names properties of the rows, such as attributes, which the source then
// reads.
type Needing interface {
	Task
	Needs() constraints.Needs
}

// Statement is a task for rows with known classes and groups. The session uses the same statement
// for training, for the certificate in float64 and for the measures of held-out rows. Name,
// Constraints and Nodes are required.
type Statement struct {
	// Name is the task's name in the run's files and in the default name of the directory.
	Name string
	// Objective is the name of f; "" means "objective".
	Objective string
	// Constraints are the names and bounds of g_1..g_m.
	Constraints []Constraint
	// Outputs is the number of scores of a row; 0 means 1.
	Outputs int
	// Nodes adds the scalar f and the constraints g to the graph of the scores [n, Outputs]. The
	// nodes of g are scalars or vectors, minus the bounds. With Pieces, the nodes are the terms of the
	// pieces, and with Affine those of the map. The session calls Nodes for several sets of rows, with
	// float32 and with float64 scores.
	Nodes func(scores *gorgonia.Node, rows Rows) (objective *gorgonia.Node, constraints gorgonia.Nodes, err error)
	// Weighted says that Nodes counts Rows.Weights. A session refuses rows with weights (--weight)
	// without it. The statement of a Decisions task is Weighted unless the task has an Objective of
	// the program's own: a program whose Objective counts the weights sets Weighted itself.
	Weighted bool
	// Decided says which rates of decisions the nodes stand for; nil: the session counts none. A
	// statement with ParameterNodes has no Decided.
	Decided *Decided
	// Pieces are the smooth pieces of constraints that are maxima; nil: the nodes are g.
	Pieces []problem.Piece
	// ParameterNodes adds terms of the model's parameters to the graph, such as a norm of the
	// weights. These terms follow the nodes of the scores. nil means no terms.
	ParameterNodes func(model *models.Network) (gorgonia.Nodes, error)
	// Affine maps the nodes to the constraints, on the host: problem.NewAffine. nil means that the
	// nodes are g, or the terms of Pieces. All problems of the session share the map and its
	// shifts.
	Affine *problem.AffineMap
	// Measures returns a function that measures the scores of the rows. nil means f, g and the
	// largest violation, computed by the nodes in float64.
	Measures func(rows Rows) (func(scores []float64) (Measures, error), error)
	// CollapseAbove is the smallest objective at which a stationary point is worthless; 0: not
	// known.
	CollapseAbove float64
	// Warnings are sentences about the settings of the task.
	Warnings []string

	// system is the system of a Decisions task; nil for other tasks. boundsOn names the values to
	// which the system's bounds apply.
	system   *constraints.System
	boundsOn constraints.BoundsOn
	// start holds weights of terms. In the round before the feedback these terms replace the
	// objective; nil: no replacement.
	start []float64
	// confidence is the confidence of a Decisions task; 0: no confidence
	confidence float64
	samples    *samples // shared by Nodes and measures; nil: not shared
	// measures replaces Measures if the values also need the terms of ParameterNodes.
	measures  func(rows Rows) (func(scores, parameters []float64) (Measures, error), error)
	objective Objective // of a Decisions task; nil: the surrogate of the minimised rate
	// named names the measures of a task with a system; empty returns the error for rows without a
	// row of a cell of the system, nil: such rows are allowed.
	named   func(m *measurement) map[string]float64
	naming  Naming // the kind of the names
	empty   func(cell int) error
	sampled bool // each iteration draws the group of the system's constraint
	// pure says that several goroutines may call Nodes and Measures at the same time.
	pure bool
}

// Naming says which measures of a split a task names.
type Naming int

// The namings.
const (
	NamesRates   Naming = iota // the objective and the bounded rates
	NamesClasses               // the loss and the error of each class
	NamesGaps                  // loss, error, AUC, and the gaps between the rates of two groups
	NamesGroups                // loss, error, AUC, and how much worse any group fares than all rows
)

// needsArea reports whether the area under the ROC curve is one of the measures.
func (n Naming) needsArea() bool { return n == NamesGaps || n == NamesGroups }

// Decided says in the language what the nodes of a Statement stand for, on the decisions of the
// model. A run reports these rates with their intervals, and whether the bounds on them are met.
type Decided struct {
	Minimize constraints.Rate // the zero value: the error
	// SubjectTo[j] is the constraint whose smooth form is Constraints[j]. Further constraints of the
	// nodes have no rate.
	SubjectTo []constraints.Constraint
}

// collapsedShare is the share of the losses of equal scores above which a network has collapsed.
const collapsedShare = 1.2

// collapsed returns the test of a collapsed network: the sum of the classes' losses is well above
// that of equal scores, CollapseAbove for each class. A network that decides one class for all rows
// has 1.5 times the losses of equal scores. The test is nil if CollapseAbove is not known.
func (s *Statement) collapsed() func(f float64, g []float64) bool {
	if s.CollapseAbove == 0 {
		return nil
	}
	return func(f float64, g []float64) bool {
		for j, c := range s.Constraints {
			f += g[j] + c.Bound
		}
		return f > collapsedShare*s.CollapseAbove*float64(1+len(s.Constraints))
	}
}

// State implements Task. State returns s.
func (s *Statement) State(Rows, bool) (*Statement, error) { return s, nil }

// Needs implements Needing.
func (s *Statement) Needs() constraints.Needs {
	if s.Decided == nil {
		return constraints.Needs{}
	}
	return constraints.NeedsOf(s.Decided.minimize(), s.Decided.SubjectTo)
}

// minimize returns the rate that the objective stands for.
func (d *Decided) minimize() constraints.Rate {
	if d.Minimize == (constraints.Rate{}) {
		return constraints.Error()
	}
	return d.Minimize
}

// onDecisions returns the statement with the rates that Decided states, on the training rows. The
// errors are those of constraints.NewSystem, and an *OptionError.
func (s *Statement) onDecisions(train Rows) (*Statement, error) {
	d := s.Decided
	switch {
	case d == nil:
		return s, nil
	case s.system != nil:
		return nil, fmt.Errorf("session: %w: the statement of a Decisions task counts its own rates; leave out Decided", ErrOptions)
	case len(d.SubjectTo) > len(s.Constraints):
		return nil, fmt.Errorf("session: %w: Decided has %d constraints, and the nodes have %d", ErrOptions, len(d.SubjectTo), len(s.Constraints))
	}
	p, err := train.population()
	if err != nil {
		return nil, err
	}
	system, err := constraints.NewSystem(d.minimize(), d.SubjectTo, p)
	if err != nil {
		return nil, err
	}
	if system.L1 {
		return nil, fmt.Errorf("session: %w: Decided names l1(weights), which is no rate of decisions", ErrOptions)
	}
	counted := *s
	counted.system, counted.boundsOn = system, constraints.OnSurrogate
	counted.samples = &samples{system: system, samples: map[*int]*constraints.Sample{}}
	return &counted, nil
}

// On returns f and g of the rows as a problem of their scores, in float64 on Gorgonia's machine.
// Package verify evaluates the statement in this way.
func (s *Statement) On(rows Rows) (problem.Problem, error) {
	p, err := onScores(len(rows.Labels), max(1, s.Outputs), func(scores *gorgonia.Node) (graph.Definition, error) {
		f, g, err := s.Nodes(scores, rows)
		return graph.Definition{Objective: f, Constraints: g}, err
	})
	if err != nil {
		return nil, err
	}
	return s.complete(p)
}

// Constraint describes g_j. Reports compare the value g_j + Bound with Bound.
type Constraint struct {
	Name  string
	Bound float64
}

// Measures holds the measures of the rows of a split.
type Measures struct {
	// Named are the measures by name. The run's files put the split before the name: test_error.
	Named map[string]float64
	// Values are f, then g_j + Bound_j.
	Values []float64
	// decisions are Values computed from the model's decisions; nil without a system.
	decisions []float64
}

// Class is a class of the rows.
type Class struct {
	Name   string
	Label  int // value in Rows.Labels
	Number int // number of the class in the data set, for pictures
}

// Rows holds the labels, classes and groups of a split or of a mini-batch.
type Rows struct {
	Labels  []int   // label of each row. Two classes of a table: -1 or +1; else the index in Classes
	Classes []Class // in the order of the source
	Groups  []constraints.Group
	// Attributes are the attributes that constraints of a Decisions task name.
	Attributes []constraints.Attribute
	// Earlier holds the earlier decisions of the rows for each file of a churn constraint. A
	// decision is the index of a class in Classes, or -1 for a row without a decision.
	Earlier map[string][]int
	// Weights are the weights of the rows, above 0; nil: 1 each. See constraints.Population.Weights.
	Weights []float64
	// Queries are the queries whose documents the rows are; nil: the rows have no queries.
	Queries *tabular.Queries
	// Tabular is true for the rows of a table. It decides the name of a Decisions task.
	Tabular bool
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

// bounded returns the names of the constraints with their bounds, which the names in the words of a
// system already have.
func (s *Statement) bounded() []string {
	list := s.names()
	if s.system != nil && s.system.Margins == nil {
		return list
	}
	for j, c := range s.Constraints {
		list[j] = fmt.Sprintf("%s <= %v", c.Name, c.Bound)
	}
	return list
}

// check returns an error for a statement without a required field.
func (s *Statement) check() error {
	if s.Name == "" || s.Nodes == nil {
		return fmt.Errorf("session: %w: a statement needs a Name and Nodes", ErrOptions)
	}
	if s.Decided != nil && s.ParameterNodes != nil {
		return fmt.Errorf("session: %w: a statement has Decided or ParameterNodes, not both: a check of the counted run evaluates "+
			"its nodes from the scores alone", ErrOptions)
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

// needs returns the properties of the rows that the task's constraints use.
func (o *Options) needs() constraints.Needs {
	if t, ok := o.Task.(Needing); ok {
		return t.Needs()
	}
	return constraints.Needs{}
}

// Column adds the constants [n, 1] to the graph of the scores [n, C], in the type of the scores.
// Nodes of a Statement uses Column for a constant of each row, such as a target. A graph can use
// each name only once.
func Column(scores *gorgonia.Node, name string, values []float64) *gorgonia.Node {
	return build.Constant(scores.Graph(), scores.Dtype(), name, values, len(values), 1)
}

// Number returns a constant in the type of the scores.
func Number(scores *gorgonia.Node, x float64) *gorgonia.Node {
	if scores.Dtype() == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}

// Objective is an objective of a program's own for the constraints of a Decisions task. It adds the
// scalar f to the graph of the scores [n, outputs]. The session calls it for several sets of rows,
// with float32 and with float64 scores.
type Objective func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, error)

// On returns the objective of the rows as a problem of the scores, in float64 on Gorgonia's
// machine. Package verify evaluates the objective in this way too.
func (o Objective) On(rows Rows, outputs int) (*graph.Problem, error) {
	return onScores(len(rows.Labels), outputs, func(scores *gorgonia.Node) (graph.Definition, error) {
		f, err := o(scores, rows)
		return graph.Definition{Objective: f}, err
	})
}

// onScores returns nodes as a problem of n rows of scores.
func onScores(n, outputs int, define func(scores *gorgonia.Node) (graph.Definition, error)) (*graph.Problem, error) {
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		scores := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(n, outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, outputs), tensor.WithBacking(make([]float64, n*outputs)))))
		d, err := define(scores)
		d.Parameters = gorgonia.Nodes{scores}
		return d, err
	}, graph.Tape{})
	if err != nil {
		return nil, fmt.Errorf("session: the task in float64: %w", err)
	}
	return p, nil
}

// value returns a function that computes f from the scores of the rows; nil without an objective.
func (o Objective) value(rows Rows, outputs int) (func(scores []float64) (float64, error), error) {
	if o == nil {
		return nil, nil
	}
	p, err := o.On(rows, outputs)
	return func(scores []float64) (float64, error) {
		p.Space().Write(problem.Iterate, scores)
		return p.Forward(nil)
	}, err
}

// smoothAndCounted computes the smooth objective and terms, and counts the decisions. meter is nil
// if the rows have several scores. parameters holds the l1 norm, or is empty.
func smoothAndCounted(sample *constraints.Sample, meter *constraints.Meter, scores, parameters []float64) (float64, []float64, constraints.Counted, error) {
	if meter != nil {
		return meter.Measure(scores, parameters)
	}
	f, h, err := sample.Smooth(scores)
	if err != nil {
		return 0, nil, constraints.Counted{}, err
	}
	h = append(h, parameters...)
	counted, err := sample.CountScores(scores, h)
	return f, h, counted, err
}

// measurement holds the values of a system on scores.
type measurement struct {
	rows      Rows
	system    *constraints.System
	scores    []float64
	objective float64   // smooth
	terms     []float64 // the smooth rates of the system, and the l1 norm
	violation float64   // the largest of the smooth constraints, at least 0
	counted   constraints.Counted
	area      float64 // under the ROC curve; NaN: not known
}

// measureRates returns the measures of scores: see smoothAndCounted.
func (s *Statement) measureRates(rows Rows, sample *constraints.Sample, meter *constraints.Meter, areas *rates.Areas, scores, parameters []float64) (Measures, error) {
	m := &measurement{rows: rows, system: s.system, scores: scores, area: math.NaN()}
	area := relay.Go(func() error {
		if !s.naming.needsArea() {
			return nil
		}
		if a, ok := areas.AUC(scores, rows.Labels, rows.Weights); ok {
			m.area = a
		}
		return nil
	})
	f, h, counted, err := smoothAndCounted(sample, meter, scores, parameters)
	if failure := area(); err == nil {
		err = failure
	}
	if err != nil {
		return Measures{}, err
	}
	m.objective, m.terms, m.counted = f, h, counted
	values := s.system.Values(h, counted.Rows)
	for j, c := range s.Constraints {
		m.violation = max(m.violation, values[j]-c.Bound)
	}
	return Measures{
		Named: s.named(m), Values: append([]float64{f}, values...),
		decisions: append([]float64{counted.Objective.Value}, s.system.Values(counted.Terms, counted.Rows)...),
	}, nil
}

// nameRates names the measures after the objective and the constraints. Rates of pairs also have
// the gains of the ranking, the error of all pairs, and the gaps of the queries
// (Counted.QueryGaps).
func nameRates(m *measurement) map[string]float64 {
	named := nameCounted(m)
	named["objective"], named["max_violation"] = m.objective, m.violation
	if m.system.OfPairs() {
		for k, v := range rates.Gains(m.rows.Queries, m.scores) {
			named[fmt.Sprintf("ndcg@%d", k)] = v
		}
		if e, defined := m.counted.PairError(); defined {
			named[constraints.PairError().String()] = e
		}
		if n, mean, p90, largest := m.counted.QueryGaps(); n > 0 {
			named["query_gap_mean"], named["query_gap_p90"], named["query_gap_max"] = mean, p90, largest
		}
	}
	return named
}

// nameCounted names the measures that count decisions.
func nameCounted(m *measurement) map[string]float64 {
	named := map[string]float64{}
	if m.counted.Objective.Defined {
		named[m.system.Minimize.String()] = m.counted.Objective.Value
	}
	for j, name := range constraints.NameValues(m.system.Subject) {
		if v := m.counted.Values[j]; v.Defined {
			named[name] = v.Value
		}
	}
	if len(m.counted.Accepted) == 2 {
		named["acceptance_rate"] = m.counted.Accepted[1]
	}
	return named
}
