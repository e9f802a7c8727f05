package session

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/models"
)

// DemographicParity bounds the gap between the positive rates of two groups. Let s be the scores,
// and I_p and I_u the rows of the groups:
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  |h| - eps <= 0,   h = mean over I_p of psi(-s_i) - mean over I_u of psi(-s_i).
//
// (Moon et al., "Demographic Parity Constraint" and "Equalized Odds Constraints".) Zero weights
// meet every bound, because all rates are then equal. OnDecisions bounds the gap of counted
// decisions.
type DemographicParity struct {
	Epsilon    []float64            // bound on the gap, a single value; nil: 0.01
	Phi        constraints.Phi      // surrogate of the error, in the objective; "" means Logistic
	Psi        constraints.Phi      // surrogate of the decision, in the constraint; "" means Sigmoid
	Gaps       constraints.Form     // "": Each for methods that need differentiable constraints, else Absolute
	BoundsOn   constraints.BoundsOn // the values that the bounds apply to; "": OnSurrogate
	Confidence float64              // of bounds on decisions: see Decisions
}

// EqualizedOdds bounds the gap between the true positive rates of two groups and the gap between
// their false positive rates: see DemographicParity.
type EqualizedOdds struct {
	Epsilon    []float64            // a bound for both gaps, or a bound for each gap; nil: 0.01
	Phi        constraints.Phi      // surrogate of the error, in the objective; "" means Logistic
	Psi        constraints.Phi      // surrogate of the decision, in the constraints; "" means Sigmoid
	Gaps       constraints.Form     // "": Each for methods that need differentiable constraints, else Absolute
	BoundsOn   constraints.BoundsOn // the values that the bounds apply to; "": OnSurrogate
	Confidence float64              // of bounds on decisions: see Decisions
}

var _, _ Task = DemographicParity{}, EqualizedOdds{}

// The names of the tasks.
const (
	NameDemographicParity = "dp"
	NameEqualizedOdds     = "eo"
)

func init() {
	defaults := Defaults{Linear: true, Hidden: []int{64}, Activation: models.ReLU, OnDecisions: ridge()}
	register(TaskDescription{Name: NameDemographicParity, Summary: "the gap between two groups' positive rates, demographic parity",
		Defaults: defaults, New: func() Task { return &DemographicParity{} }})
	register(TaskDescription{Name: NameEqualizedOdds, Summary: "the gaps between two groups' true and false positive rates, equalized odds",
		Suits: Suiting{Smooth: "--eo-form two"}, Defaults: defaults, New: func() Task { return &EqualizedOdds{} }})
}

// options returns the settings, bound to the fields of t.
func (t *DemographicParity) options() []*option.Option {
	return append(boundsOptions(&t.BoundsOn, constraints.OnSurrogate, &t.Confidence), epsilonOption(&t.Epsilon),
		phiOption(&t.Phi, constraints.Logistic), psiOption(&t.Psi, constraints.Sigmoid))
}

// options returns the settings, bound to the fields of t.
func (t *EqualizedOdds) options() []*option.Option {
	form := func() string {
		if t.Gaps == constraints.Maximum {
			return string(t.Gaps)
		}
		return "two"
	}
	return append((*DemographicParity)(t).options(), option.Words("eo-form", form, func(word string) {
		if t.Gaps = ""; word == string(constraints.Maximum) {
			t.Gaps = constraints.Maximum
		}
	}, "two: bound the gaps of the true and of the false positive rates; max: bound the larger gap", "two", string(constraints.Maximum)).With(boundsOn(constraints.OnSurrogate)))
}

// beyond implements beyondFlags.
func (t DemographicParity) beyond(uint64) []string {
	if t.Gaps == "" {
		return nil
	}
	return []string{"the form of the gaps"}
}

// beyond implements beyondFlags.
func (t EqualizedOdds) beyond(seed uint64) []string {
	if t.Gaps == constraints.Maximum && t.BoundsOn != constraints.OnDecisions {
		return nil
	}
	return DemographicParity(t).beyond(seed)
}

// Traits returns the properties of the problem.
func (t DemographicParity) Traits() Traits {
	complete(t.options())
	on := t.BoundsOn == constraints.OnSurrogate
	return Traits{OnDecisions: !on, Gaps: true, Largest: on && t.Gaps == constraints.Maximum,
		Kinks: on && (t.Phi == constraints.Hinge || t.Psi == constraints.Hinge)}
}

// Traits returns the properties of the problem.
func (t EqualizedOdds) Traits() Traits { return DemographicParity(t).Traits() }

func (t DemographicParity) check() error { return t.gaps().check(1) }
func (t EqualizedOdds) check() error     { return t.gaps().check(2) }

// check returns the errors of the settings, for the number of bounded rates.
func (t gaps) check(rates int) error {
	complete(t.options())
	if form := cmp.Or(t.Gaps, constraints.Each); !slices.Contains(constraints.Forms(), form) {
		return &OptionError{Option: "gaps", Problem: fmt.Sprintf("is %s, want each, absolute or max", form)}
	}
	_, err := boundsOf("epsilon", t.Epsilon, rates)
	return err
}

// gapRate is a rate whose gap a task bounds, with its name and the name of the measured gap.
type gapRate struct {
	rate          func(selectors ...string) constraints.Rate
	name, measure string
}

// State implements Task.
func (t DemographicParity) State(train Rows, smooth bool) (*Statement, error) {
	return t.gaps().state(train, smooth, gapRate{constraints.PositiveRate, "positive rate", "dp_gap"})
}

// State implements Task.
func (t EqualizedOdds) State(train Rows, smooth bool) (*Statement, error) {
	return t.gaps().state(train, smooth,
		gapRate{constraints.TPR, "true positive rate", "tpr_gap"}, gapRate{constraints.FPR, "false positive rate", "fpr_gap"})
}

// gaps holds the fields of the two tasks, with the name of the task.
type gaps struct {
	EqualizedOdds
	task string
}

func (t DemographicParity) gaps() gaps { return gaps{EqualizedOdds(t), NameDemographicParity} }
func (t EqualizedOdds) gaps() gaps     { return gaps{t, NameEqualizedOdds} }

// state states bounds on the gaps of the rates.
func (t gaps) state(train Rows, smooth bool, rates ...gapRate) (*Statement, error) {
	if err := t.check(len(rates)); err != nil {
		return nil, err
	}
	complete(t.options())
	if err := train.twoClasses(t.task); err != nil {
		return nil, err
	}
	if err := train.pair(); err != nil {
		return nil, err
	}
	epsilon, err := boundsOf("epsilon", t.Epsilon, len(rates))
	if err != nil {
		return nil, err
	}
	d := Decisions{BoundsOn: t.BoundsOn, Confidence: t.Confidence, Minimize: constraints.Error()}
	attribute, _ := train.attribute()
	for k, r := range rates {
		d.SubjectTo = append(d.SubjectTo, constraints.Gap(r.rate, attribute).AtMost(epsilon[k]))
	}
	if t.BoundsOn != constraints.OnDecisions {
		d.Margins = &constraints.Margins{Objective: t.Phi, Constraints: t.Psi, Form: cmp.Or(t.Gaps, gapForm(smooth))}
	}
	s, err := d.State(train, smooth)
	if err != nil {
		return nil, err
	}
	if s.Name = t.task; d.Margins == nil {
		return s, nil
	}
	s.Objective, s.Warnings = "loss", t.warnings(rates, epsilon)
	for k := range s.Constraints {
		switch d.Margins.Form {
		case constraints.Each: // h - eps and -h - eps
			s.Constraints[k].Name = rates[k/2].name + [2]string{" +", " -"}[k%2]
		case constraints.Absolute:
			s.Constraints[k].Name = rates[k].name
		default:
			s.Constraints[k].Name = "largest gap"
		}
	}
	s.empty = func(cell int) error {
		return fmt.Errorf("%w: %s", constraints.ErrEmptyGroup, s.system.Rates[cell].Name)
	}
	s.naming, s.named = NamesGaps, func(m *measurement) map[string]float64 { return nameGaps(m, rates) }
	return s, nil
}

// gapForm returns the default form of gaps.
func gapForm(smooth bool) constraints.Form {
	if smooth {
		return constraints.Each
	}
	return constraints.Absolute
}

// nameGaps names the measures of a task with gaps, and the gap of the positive rates.
func nameGaps(m *measurement, list []gapRate) map[string]float64 {
	named := nameFairness(m)
	var hits, rows [2]float64 // the rates of a group add up to its positive decisions
	for j, v := range m.counted.Values {
		named[list[j].measure] = v.Value
		for k, r := range v.Rates {
			own, n := float64(r.Hits), float64(r.Rows)
			if r.Weight > 0 {
				own, n = r.Value*r.Weight, r.Weight
			}
			hits[k], rows[k] = hits[k]+own, rows[k]+n
		}
	}
	share := func(k int) float64 { return hits[k] / rows[k] }
	named["dp_gap"] = math.Abs(share(0) - share(1))
	return named
}

// warnings returns one sentence for each kind of unsuitable bound.
func (t gaps) warnings(rates []gapRate, epsilon []float64) (out []string) {
	var vacuous, tight []string
	for k, e := range epsilon {
		what := fmt.Sprintf("%s (eps %g)", rates[k].name, e)
		switch {
		case t.Psi == constraints.Sigmoid && e >= 1:
			vacuous = append(vacuous, what)
		case e == 0:
			tight = append(tight, what)
		}
	}
	add := func(gaps []string, what string) {
		if len(gaps) > 0 {
			out = append(out, strings.Join(gaps, ", ")+": "+what)
		}
	}
	add(vacuous, "the bound constrains nothing: rates lie in (0, 1) and so do the sizes of their differences; use a smaller eps (--epsilon)")
	add(tight, "the bound leaves no interior, so the multipliers need not be bounded; use a larger eps (--epsilon)")
	return out
}

// Ranking bounds, for each query, the gap between the errors of two kinds of pairs of documents:
// those whose more relevant document is in one group and whose other document is not. Let s be the
// scores and P_q(a) the pairs (i, j) of query q, in which i is more relevant, i is in group a and j
// is not:
//
//	minimise    f       = mean of log(1 + e^-(s_i - s_j)) over all pairs
//	subject to  |h_q(a) - h_q(b)| - eps <= 0 for each query q,
//	            h_q(a)  = mean over P_q(a) of 1/(1 + e^(s_i - s_j)).
//
// (Narasimhan, Cotter, Zhou, Wang and Guo, "Approximate heavily-constrained learning with Lagrange
// multiplier models", 2020, with a slack of 0.25.) Queries without pairs of both kinds have no
// bound. With more than two groups, every two groups have a gap. OnDecisions bounds the gaps of
// counted pairs, and minimises their error.
type Ranking struct {
	Epsilon  []float64            // bound on the gaps, a single value; nil: 0.25
	BoundsOn constraints.BoundsOn // the values that the bounds apply to; "": OnSurrogate
}

var _ Task = Ranking{}

// NameRanking is the name of the task.
const NameRanking = "ranking"

func init() {
	register(TaskDescription{Name: NameRanking, Summary: "for each query, the gap between two groups' cross_pair_error",
		Defaults: Defaults{Linear: true, Hidden: []int{128}, Activation: models.ReLU, Regularizer: ridge()}, New: func() Task { return &Ranking{} }})
}

// options returns the settings, bound to the fields of t.
func (t *Ranking) options() []*option.Option {
	return []*option.Option{boundsOptions(&t.BoundsOn, constraints.OnSurrogate, new(float64))[0], epsilonOption(&t.Epsilon).Or("0.25")}
}

// Traits returns the properties of the problem.
func (t Ranking) Traits() Traits {
	complete(t.options())
	return Traits{OnDecisions: t.BoundsOn == constraints.OnDecisions, Gaps: true}
}

func (t Ranking) check() error {
	complete(t.options())
	_, err := boundsOf("epsilon", t.Epsilon, 1)
	return err
}

// State implements Task.
func (t Ranking) State(train Rows, smooth bool) (*Statement, error) {
	complete(t.options())
	epsilon, err := boundsOf("epsilon", t.Epsilon, 1)
	if err != nil {
		return nil, err
	}
	if train.Queries == nil {
		return nil, &OptionError{Option: "problem", Problem: fmt.Sprintf("is %s, which ranks the documents of a query: name the column of the queries with --query", NameRanking)}
	}
	attribute, values := train.attribute()
	if len(values) < 2 {
		return nil, &OptionError{Option: "group", Problem: fmt.Sprintf("gives %d groups of documents, and --problem %s compares at least two", len(values), NameRanking)}
	}
	d := Decisions{BoundsOn: t.BoundsOn, Minimize: constraints.PairLoss()}
	if t.BoundsOn == constraints.OnDecisions {
		d.Minimize = constraints.PairError()
	}
	ofQuery := func(...string) constraints.Rate { return constraints.CrossPairError(constraints.QueryName + "=*") }
	d.SubjectTo = []constraints.Constraint{constraints.Gap(ofQuery, attribute).AtMost(epsilon[0])}
	s, err := d.State(train, smooth)
	if err != nil {
		return nil, err
	}
	s.Name = NameRanking
	return s, nil
}
