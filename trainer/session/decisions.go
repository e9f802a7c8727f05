package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/internal/rates"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// Decisions minimises a rate of the model's decisions under constraints in the language of package
// constraints:
//
//	bound := constraints.Gap(constraints.TPR, "sex").AtMost(0.02)
//	Decisions{SubjectTo: []constraints.Constraint{bound}}
//
// The smooth problem replaces each decision by a probability, the same in the objective and in the
// constraints. The probability is the sigmoid of the score for two classes, and the softmax of the
// scores for more classes. For two classes the model has one score.
//
// Without constraints, the task trains a plain model.
type Decisions struct {
	// Minimize is one of constraints.Objectives. The zero value is the error, and the loss without
	// constraints.
	Minimize  constraints.Rate
	SubjectTo []constraints.Constraint
	// ClassWeight weighs the classes in the objective, an error or a loss of all rows: CLASS=WEIGHT
	// for classes whose weight is not 1, or ClassWeightBalanced alone. The bounds do not change.
	ClassWeight []string
	// Objective replaces the smooth form of Minimize, which is still counted on decisions. nil: the
	// surrogate of Minimize.
	Objective Objective
	// Margins are the surrogates of bounds on surrogates; nil: probabilities.
	Margins  *constraints.Margins
	BoundsOn constraints.BoundsOn // the values that the bounds apply to; "": OnDecisions, with Margins OnSurrogate
	// Confidence is the probability with which the bounds hold on new rows; 0: the bounds hold on the
	// training rows.
	Confidence float64
}

var _ Task = Decisions{}

// The names of the Decisions task in a run's files: on tables and on pictures.
const (
	NameRates      = "rates"
	NameClassRates = "class-rates"
)

func init() {
	register(TaskDescription{
		Name: NameRates, Summary: "what --subject-to says, of a table (both imply it)", New: func() Task { return &Decisions{} },
		Suits:    Suiting{Drawn: "bounds on pairs, --bounds-on surrogate and --batch-size 1"},
		Defaults: Defaults{Linear: true, Hidden: []int{64}, Activation: models.ReLU, Regularizer: ridge()},
	})
	register(TaskDescription{
		Name: NameClassRates, Summary: "what --subject-to says, of pictures (which imply it)", Rows: PictureRows, New: func() Task { return &Decisions{} },
		Defaults: Defaults{Hidden: []int{256}, Activation: models.Sigmoid, Regularizer: ridge()},
	})
}

// options returns the settings, bound to the fields of t.
func (t *Decisions) options() []*option.Option {
	unbounded := option.If("subject-to", "").Called("without --subject-to")
	ranked := option.IfNot("query", "").Called("with --query")
	standard := constraints.OnDecisions
	if t.Margins != nil {
		standard = constraints.OnSurrogate
	}
	return append([]*option.Option{
		option.Custom("minimize", "RATE", t.setMinimize, func() string { return t.Minimize.String() },
			"minimize this rate of the decisions: "+option.List(constraints.Objectives(), "or")+", of all rows or, as in fnr[Female], of some; or a sum, as in \"5*fnr + fpr\"").
			OrRule("error; for bounds on pairs: pair_error", t.defaultMinimize, "subject-to").
			For(constraints.PairError().String(), unbounded, ranked).For(constraints.Loss().String(), unbounded),
		option.Statements("subject-to", &t.SubjectTo, "CONSTRAINT",
			"bound a rate of the decisions, as in \"fpr <= 5%\", \"recall[shirt] >= 0.9\", \"gap(tpr, race) <= 0.02\"; may be repeated;"+
				" see docs/reference/language.md; without a bound, ppal trains a plain model", readConstraint).Or(""),
		option.Names("class-weight", &t.ClassWeight, ClassWeightBalanced+"|CLASS=X[,...]", "multiply the weights of each class's rows in the objective, not in the bounds:"+
			" balanced gives every class the same share, as in scikit-learn; for --minimize error or loss").OrRule("1 each", func() string { return "" }),
	}, boundsOptions(&t.BoundsOn, standard, &t.Confidence)...)
}

// defaultMinimize is the default of minimize with constraints.
func (t *Decisions) defaultMinimize() string {
	if t.ofPairs() {
		return constraints.PairError().String()
	}
	return constraints.Error().String()
}

// ofPairs reports whether a constraint counts pairs of documents.
func (t *Decisions) ofPairs() bool {
	return slices.ContainsFunc(t.SubjectTo, func(c constraints.Constraint) bool { return c.Measure().OfPairs() })
}

// readConstraint reads a constraint.
func readConstraint(text string) (constraints.Constraint, error) {
	c, err := constraints.Parse(text)
	return c, shortened(err, text)
}

// shortened shortens an error of the constraint language, whose text the option's error repeats.
func shortened(err error, text string) error {
	var e *constraints.SyntaxError
	if errors.As(err, &e) && e.Text == text {
		return errors.New(e.Detail())
	}
	return err
}

// setMinimize reads minimize.
func (t *Decisions) setMinimize(text string) error {
	r, err := constraints.ParseObjective(text)
	if err != nil {
		return shortened(err, text)
	}
	if !r.IsSum() && !slices.Contains(constraints.Objectives(), r.Name()) {
		return fmt.Errorf("must be one of %s, with or without a class or group", option.List(constraints.Objectives(), "or"))
	}
	t.Minimize = r
	return nil
}

// beyond implements beyondFlags.
func (t Decisions) beyond(uint64) (fields []string) {
	if t.Margins != nil {
		fields = append(fields, "the surrogates of margins")
	}
	if t.Objective != nil {
		fields = append(fields, "the objective")
	}
	return fields
}

// Traits returns the properties of the problem.
func (t Decisions) Traits() Traits {
	complete(t.options())
	return Traits{Unbounded: len(t.SubjectTo) == 0, OnDecisions: t.BoundsOn == constraints.OnDecisions, Pairs: t.ofPairs()}
}

// check returns an error for bounds on a kind of values that the task does not have, and for
// a confidence without a bound.
func (t Decisions) check() error {
	complete(t.options())
	switch {
	case t.BoundsOn == constraints.OnDecisions && t.Margins != nil:
		return &OptionError{Option: "bounds-on", Problem: "is decisions, and margins are surrogates; leave out Margins"}
	case t.BoundsOn != constraints.OnDecisions && t.BoundsOn != constraints.OnSurrogate:
		return &OptionError{Option: "bounds-on", Problem: fmt.Sprintf("is %s, want %s or %s", t.BoundsOn, constraints.OnDecisions, constraints.OnSurrogate)}
	case t.ClassWeight != nil && t.Objective != nil:
		return &OptionError{Option: "class-weight", Problem: "weighs the classes of error or loss, and the program has an objective of its own; leave it out"}
	case len(t.SubjectTo) == 0 && t.Confidence > 0:
		return &OptionError{Option: "confidence", Problem: "promises bounds, and the run has none; add one (--subject-to)"}
	case t.Margins != nil && !slices.Contains(constraints.Phis(), t.Margins.Objective):
		return unknownSurrogate("phi", t.Margins.Objective)
	case t.Margins != nil && !slices.Contains(constraints.Phis(), t.Margins.Constraints):
		return unknownSurrogate("psi", t.Margins.Constraints)
	}
	return nil
}

// unknownSurrogate returns the error for a surrogate that does not exist.
func unknownSurrogate(name string, phi constraints.Phi) error {
	return &OptionError{Option: name, Problem: fmt.Sprintf("is %q, want one of %v", phi, constraints.Phis())}
}

// State implements Task. State returns an *OptionError for subject-to or minimize. errors.As finds
// a *constraints.SyntaxError if the rows lack a name that a constraint uses.
func (t Decisions) State(train Rows, _ bool) (*Statement, error) {
	complete(t.options())
	if err := t.check(); err != nil {
		return nil, err
	}
	p, err := train.population()
	if err != nil {
		return nil, err
	}
	if t.ClassWeight != nil {
		if t.Minimize, err = t.weighed(p); err != nil {
			return nil, err
		}
	}
	on := t.BoundsOn
	var system *constraints.System
	if t.Margins == nil {
		system, err = constraints.NewSystem(t.Minimize, t.SubjectTo, p)
	} else {
		system, err = constraints.NewMarginSystem(t.Minimize, t.SubjectTo, p, *t.Margins)
	}
	if errors.Is(err, constraints.ErrNoQueries) {
		return nil, &OptionError{Option: "minimize", Problem: fmt.Sprintf("is %s, which compares documents of a query: name the column of the queries with --query", t.Minimize)}
	}
	if err != nil {
		return nil, err
	}
	if len(t.SubjectTo) == 0 && system.IsLoss() {
		on = constraints.OnSurrogate // decisions determine neither a bound nor the objective
	}
	if err := checkConfidence(t.Confidence, on); err != nil {
		return nil, err
	}
	if t.Confidence > 0 && p.Weights != nil {
		return nil, &OptionError{Option: "confidence", Problem: "promises counts of equal rows, and no proof covers the thresholds that rows with weights choose; leave it or the weights (--weight) out"}
	}
	if t.Confidence > 0 && system.OfPairs() {
		return nil, &OptionError{Option: "confidence", Problem: fmt.Sprintf("promises rates of independent rows, and the pairs of %s share documents; leave it out", t.Minimize)}
	}
	// At the start of the training, the smooth rates are flat with several classes. With two classes,
	// the first steps may move all scores to where the rates are flat. A round before the feedback
	// therefore minimises the loss. The loss requires a system without an l1 norm, because the l1 norm
	// counts as the last term of the system.
	guided := on == constraints.OnDecisions && t.Margins == nil && !system.L1 && !system.IsLoss()
	shared := &samples{system: system, samples: map[*int]*constraints.Sample{}}
	var s *Statement
	s = &Statement{
		samples: shared, named: nameRates, pure: t.Objective == nil && !system.OfPairs(), Weighted: t.Objective == nil,
		Name: NameRates, Objective: t.Minimize.String(), system: system, boundsOn: on, confidence: t.Confidence,
		Nodes: func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			sample, err := shared.sample(rows)
			if err != nil {
				return nil, nil, err
			}
			f, rates, err := sample.Nodes(scores)
			if err == nil && t.Objective != nil {
				f, err = t.Objective(scores, rows)
			}
			var nodes gorgonia.Nodes
			if rates != nil {
				nodes = gorgonia.Nodes{rates}
			}
			if err == nil && guided {
				var loss *gorgonia.Node
				loss, err = sample.LossNode(scores)
				nodes = append(nodes, loss)
			}
			return f, nodes, err
		},
		measures: func(rows Rows) (func(scores, parameters []float64) (Measures, error), error) {
			sample, err := shared.sample(rows)
			if err != nil {
				return nil, err
			}
			for k, n := range sample.Rows() {
				if s.empty != nil && n == 0 {
					return nil, s.empty(k)
				}
			}
			var meter *constraints.Meter
			if s.Outputs <= 1 {
				meter = sample.Meter()
			}
			areas := new(rates.Areas)
			own, err := t.Objective.value(rows, max(1, s.Outputs))
			if err != nil {
				return nil, err
			}
			return func(scores, parameters []float64) (Measures, error) {
				m, err := s.measureRates(rows, sample, meter, areas, scores, parameters)
				if err == nil && own != nil {
					m.Values[0], err = own(scores)
					m.Named["objective"] = m.Values[0]
				}
				return m, err
			}, nil
		},
		Warnings: append(append([]string{}, system.Notes...), warningsOf(system)...),
	}
	if s.objective = t.Objective; t.Objective != nil {
		s.Objective = ""
	}
	if len(p.Classes) > 2 && !system.OfPairs() {
		if s.Outputs = len(p.Classes); !train.Tabular {
			s.Name = NameClassRates
		}
	}
	for _, c := range system.Stated() {
		s.Constraints = append(s.Constraints, Constraint(c))
	}
	for _, p := range system.Pieces() {
		s.Pieces = append(s.Pieces, problem.Piece(p))
	}
	if t.Margins != nil { // the nodes are the constraints, or the terms of the pieces
		return s, nil
	}
	terms := system.Terms()
	if guided {
		s.start = make([]float64, terms+1)
		s.start[terms] = 1
		terms++
	}
	rows := make([]problem.AffineRow, len(system.Bounds))
	for j, b := range system.Bounds {
		coefficients := make([]float64, terms)
		copy(coefficients, b.Coefficients)
		rows[j] = problem.AffineRow{Coefficients: coefficients, Constant: b.Constant, Bound: b.Bound}
	}
	if s.Affine, err = problem.NewAffineMap(terms, rows); err != nil {
		return nil, err
	}
	if system.L1 {
		s.ParameterNodes = build.L1Norm
	}
	return s, nil
}

// Needs implements Needing.
func (t Decisions) Needs() constraints.Needs {
	complete(t.options())
	return constraints.NeedsOf(t.Minimize, t.SubjectTo)
}

// warningsOf returns sentences about unsuitable bounds.
func warningsOf(s *constraints.System) []string {
	var tight, vacuous []string
	for _, c := range s.Subject {
		switch {
		case c.Measure().Compares() && !c.IsAtLeast() && c.Bound() == 0, c.Measure().Compares() && c.IsAtLeast() && c.Bound() == 1:
			tight = append(tight, c.String())
		case c.Vacuous():
			vacuous = append(vacuous, c.String())
		}
	}
	var out []string
	if len(tight) > 0 {
		out = append(out, strings.Join(tight, ", ")+": only equal rates meet the bound, so no interior exists and the multipliers may grow without limit; "+
			"use a looser bound (--subject-to)")
	}
	if len(vacuous) > 0 {
		out = append(out, strings.Join(vacuous, ", ")+": every model meets the bound; use a tighter bound (--subject-to)")
	}
	return out
}

// ClassWeightBalanced is the value of Decisions.ClassWeight that gives every class the same share
// of the objective, as class_weight="balanced" of scikit-learn does: the weight n/(classes count).
const ClassWeightBalanced = "balanced"

// weighed returns the objective with weights of classes. With the classes' weights c_k and the
// weight W_k of the training rows of class k, the mean over all rows is a sum of means over
// classes:
//
//	sum_i w_i c_(y_i) l_i / sum_i w_i c_(y_i) = sum_k share_k (mean l of class k),
//	share_k = c_k W_k / sum_j c_j W_j.
//
// The shares have seven digits, because the objective's name shows them.
func (t *Decisions) weighed(train *constraints.Population) (constraints.Rate, error) {
	name := t.Minimize.String()
	if name != constraints.Error().String() && name != constraints.Loss().String() {
		return t.Minimize, &OptionError{Option: "class-weight", Problem: fmt.Sprintf("weighs the classes of error or loss, and the objective is %s; "+
			"write its weights as coefficients, as in --minimize \"5*fnr + fpr\"", name)}
	}
	weights, err := t.classWeights(train.Classes)
	if err != nil {
		return t.Minimize, err
	}
	own, total := make([]float64, len(train.Classes)), 0.0
	for i, y := range train.Labels {
		w := 1.0
		if train.Weights != nil {
			w = train.Weights[i]
		}
		own[y] += w
	}
	var terms []string
	for k, w := range weights {
		if weights == nil {
			break
		}
		total += w * own[k]
	}
	for k, class := range train.Classes {
		share := 1 / float64(len(own)) // balanced
		if weights != nil {
			share = weights[k] * own[k] / total
		}
		selected := constraints.Error(constraints.Attribute{Name: class}.Quoted()).String()
		share, _ = strconv.ParseFloat(strconv.FormatFloat(share, 'e', shareDigits, 64), 64)
		terms = append(terms, strconv.FormatFloat(share, 'f', -1, 64)+"*"+strings.Replace(selected, constraints.Error().String(), name, 1))
	}
	r, err := constraints.ParseObjective(strings.Join(terms, " + "))
	if err != nil {
		return r, fmt.Errorf("session: the objective with weights of classes: %w", err)
	}
	return r, nil
}

// classWeights returns the weight of each class; nil: balanced.
func (t *Decisions) classWeights(classes []string) ([]float64, error) {
	if slices.Equal(t.ClassWeight, []string{ClassWeightBalanced}) {
		return nil, nil
	}
	fail := func(format string, args ...any) ([]float64, error) {
		return nil, &OptionError{Option: "class-weight", Problem: fmt.Sprintf(format, args...)}
	}
	weights, seen := slices.Repeat([]float64{1}, len(classes)), map[int]bool{}
	for _, text := range t.ClassWeight {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return fail("has %q, want %s, or a weight for a class, as in %s=2", text, ClassWeightBalanced, classes[0])
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(text[at+1:]), 64)
		if err != nil || !(w > 0) || w > mostClassWeight {
			return fail("has the weight %q, want a number above 0, at most %.0g", text[at+1:], mostClassWeight)
		}
		k := classOf(strings.TrimSpace(text[:at]), classes)
		if k < 0 {
			return fail("names the class %q, and the classes are %s", text[:at], strings.Join(classes, ", "))
		}
		if seen[k] {
			return fail("names the class %s twice", classes[k])
		}
		weights[k], seen[k] = w, true
	}
	return weights, nil
}

// shareDigits is the number of decimals of a share's mantissa.
const shareDigits = 6

// mostClassWeight is the largest weight of a class, so that no share vanishes.
const mostClassWeight = 1e6

// classOf returns the class of a name: the name itself, or the value in a name such as
// "income=high"; -1: none, or several.
func classOf(name string, classes []string) int {
	if k := slices.Index(classes, name); k >= 0 {
		return k
	}
	return constraints.ClassWithValue(name, classes)
}
