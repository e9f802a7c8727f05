package session

import (
	"fmt"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/models"
)

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
