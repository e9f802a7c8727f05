package session

import (
	"fmt"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/problem"
)

// NeymanPearson is the multi-class Neyman-Pearson problem (mNPC) of
//
//	S. B. Moon, J. G. Kim, A. Chandra, C. Brinton, A. Hashemi, Beyond Convexity: Proximal-Perturbed
//	Lagrangian Methods for Efficient Functional Constrained Optimization.
//
// With S the scores of a model and D_i the rows of class i = 0..C-1, the problem is
//
//	minimise    f   = mean over D_0 of sum_{j != 0} phi(S_0 - S_j)
//	subject to  g_i = mean over D_i of sum_{j != i} phi(S_i - S_j) - kappa_i <= 0,   i = 1..C-1.
//
// The sums are surrogates of the errors of the classes, which OnDecisions bounds instead.
type NeymanPearson struct {
	Kappa      []float64            // bound on each other class's loss, common or by class; nil: 0.2
	Phi        constraints.Phi      // surrogate of the error; "" means Sigmoid
	BoundsOn   constraints.BoundsOn // the values that the bounds apply to; "": OnSurrogate
	Confidence float64              // of bounds on decisions: see Decisions
}

var _ Task = NeymanPearson{}

// NameNeymanPearson is the name of NeymanPearson.
const NameNeymanPearson = "mnpc"

func init() {
	register(TaskDescription{
		Name: NameNeymanPearson, Summary: "the losses of all classes but the first, multi-class Neyman-Pearson", Rows: ClassRows,
		Defaults: Defaults{Hidden: []int{256}, Activation: models.Sigmoid, Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 40}},
		Suits:    Suiting{Convex: "--phi " + string(constraints.Logistic)},
		New:      func() Task { return &NeymanPearson{} },
	})
}

// options returns the settings, bound to the fields of t.
func (t *NeymanPearson) options() []*option.Option {
	return append(boundsOptions(&t.BoundsOn, constraints.OnSurrogate, &t.Confidence),
		option.Numbers("kappa", &t.Kappa, option.AtLeast(0), "X[,X...]", "bound the loss of each other class, by one value or one for each").Or("0.2"),
		phiOption(&t.Phi, constraints.Sigmoid))
}

// Traits returns the properties of the problem.
func (t NeymanPearson) Traits() Traits {
	complete(t.options())
	on := t.BoundsOn == constraints.OnSurrogate
	return Traits{OnDecisions: !on, Kinks: on && t.Phi == constraints.Hinge, Convex: on && t.Phi == constraints.Logistic}
}

// State implements Task.
func (t NeymanPearson) State(train Rows, smooth bool) (*Statement, error) {
	complete(t.options())
	kappa, err := boundsOf("kappa", t.Kappa, len(train.Classes)-1)
	if err != nil {
		return nil, err
	}
	d := Decisions{Minimize: errorOf(train.Classes[0]), BoundsOn: t.BoundsOn, Confidence: t.Confidence}
	for k, bound := range kappa {
		d.SubjectTo = append(d.SubjectTo, errorOf(train.Classes[1+k]).AtMost(bound))
	}
	if t.BoundsOn != constraints.OnDecisions {
		d.Margins = &constraints.Margins{Objective: t.Phi, Constraints: t.Phi}
	}
	s, err := d.State(train, smooth)
	if err != nil {
		return nil, err
	}
	if s.Name = NameNeymanPearson; d.Margins == nil {
		return s, nil
	}
	s.Objective, s.Outputs = train.Classes[0].Name, len(train.Classes)
	for k := range kappa {
		s.Constraints[k].Name = train.Classes[1+k].Name
	}
	if t.Phi == constraints.Sigmoid {
		s.CollapseAbove = float64(len(kappa)) / 2
	}
	s.Warnings = t.warnings(train.Classes, kappa)
	s.empty = func(cell int) error { // the cells are the errors of the classes
		return &OptionError{Option: "split", Problem: fmt.Sprintf("leaves no rows of class %s here, and --problem mnpc measures the loss of every class: "+
			"use another --split or --split-seed, leave out the class (--classes), or use --bounds-on decisions", train.Classes[cell].Name)}
	}
	s.naming, s.named = NamesClasses, nameClasses
	return s, nil
}

// errorOf returns the error of a class, whatever characters the name of the class has.
func errorOf(c Class) constraints.Rate {
	return constraints.Error(constraints.Attribute{Name: c.Name}.Quoted())
}

// nameClasses names the losses and error rates of the classes after the classes' numbers.
func nameClasses(m *measurement) map[string]float64 {
	named := map[string]float64{"max_violation": m.violation}
	wrong, total := 0.0, 0.0
	for k, class := range m.rows.Classes { // cell k counts the wrong decisions of class k
		hits, rows := m.counted.Weights(k)
		named[fmt.Sprintf("loss_%d", class.Number)] = m.terms[k]
		named[fmt.Sprintf("error_%d", class.Number)] = hits / rows
		wrong, total = wrong+hits, total+rows
	}
	named["error"] = wrong / total
	return named
}

// warnings returns one sentence for each kind of unsuitable bound. Zero scores cost every class
// (C-1) phi(0), whatever the data. With the sigmoid, the classifier "always the first class" costs
// any other class below C/2: at most 1 against the first class, and 1/2 against each of the others.
func (t NeymanPearson) warnings(classes []Class, kappa []float64) (out []string) {
	var vacuous, idle, unreachable []string
	limit, zero := float64(len(classes))/2, float64(len(classes)-1)*t.Phi.Value(0)
	for k, b := range kappa {
		what := fmt.Sprintf("%s (kappa %g)", classes[k+1].Name, b)
		switch {
		case t.Phi == constraints.Sigmoid && b >= limit:
			vacuous = append(vacuous, what)
		case b >= zero:
			idle = append(idle, what)
		case b == 0 && t.Phi != constraints.Hinge:
			unreachable = append(unreachable, what)
		}
	}
	add := func(classes []string, format string, v ...any) {
		if len(classes) > 0 {
			out = append(out, "class "+strings.Join(classes, ", ")+": "+fmt.Sprintf(format, v...))
		}
	}
	add(vacuous, "the bound constrains nothing: always predicting class %s costs another class at most C/2 = %g, whatever the data; use a smaller kappa (--kappa)", classes[0].Name, limit)
	add(idle, "the bound is met by zero weights, which cost every class (C-1) phi(0) = %.4g, whatever the data; use a smaller kappa (--kappa)", zero)
	add(unreachable, "the bound cannot be met: phi %v is positive everywhere; use a larger kappa (--kappa)", t.Phi)
	return slices.Clip(out)
}
