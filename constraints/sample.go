package constraints

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"
)

// Sample is a System on a set of rows: training rows, held-out rows, or a mini-batch. A Sample is
// immutable, and its methods may be called from several goroutines at the same time.
type Sample struct {
	system *System
	p      *Population
	cells  []boundCell // one for each of System.Rates
	ranked *pairSample // of a system of pairs; nil for rows

	mutex sync.Mutex
	means map[string]groupMean // see mean
	ops   map[marginView]*SignedLoss
}

// On returns the system on the rows. The rows must have the classes and the attributes of the
// training rows. A cell may be empty: Count then gives no value for the rate of the cell, and Nodes
// returns ErrEmptyGroup.
func (s *System) On(p *Population) (*Sample, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !slices.Equal(p.Classes, s.classes) {
		return nil, fmt.Errorf("constraints: the rows have the classes %q, the training rows %q", p.Classes, s.classes)
	}
	sample := &Sample{system: s, p: p}
	if s.OfPairs() {
		var err error
		if sample.ranked, err = newPairSample(s, p); err != nil {
			return nil, err
		}
		for k := range s.Rates {
			sample.cells = append(sample.cells, boundCell{Cell: &s.Rates[k]})
		}
		return sample, nil
	}
	for k := range s.Rates {
		c, err := s.Rates[k].on(p)
		if err != nil {
			return nil, err
		}
		sample.cells = append(sample.cells, c)
	}
	return sample, nil
}

// System returns the system of the sample.
func (s *Sample) System() *System { return s.system }

// Decide returns the decisions of the scores: see Population.Decide.
func (s *Sample) Decide(scores []float64) ([]int, error) { return s.p.Decide(scores) }

// Rows returns the number of rows, or of pairs, of each cell.
func (s *Sample) Rows() []int {
	if s.ranked != nil {
		return s.ranked.counts
	}
	list := make([]int, len(s.cells))
	for k, c := range s.cells {
		list[k] = len(c.rows)
	}
	return list
}

// Weights returns the weights of the rows; nil: 1 each.
func (s *Sample) Weights() []float64 { return s.p.Weights }

// Entry is the contribution of a row to a rate: the rate grows by Weight times the row's weight if
// the decision is Class.
type Entry struct {
	Rate, Class int
	Weight      float64
}

// Entries returns a function that returns the entries of a row, so that without losses
//
//	rate_r = sum over the rows i and the entries of rate r of Weight w_i 1[decision_i = Class]
//
// with the weights w of the rows.
//
// The function may be called once for each row, in increasing order; the next call reuses the
// result. Losses, the cells of a system of margins that count wrong decisions, and cells without
// rows have no entries.
func (s *Sample) Entries() func(row int) []Entry {
	next := make([]int, len(s.cells)) // next position in each cell's rows
	var list []Entry
	return func(row int) []Entry {
		list = list[:0]
		for k := range s.cells {
			c := &s.cells[k]
			for next[k] < len(c.rows) && int(c.rows[next[k]]) < row {
				next[k]++
			}
			if c.loss || c.missed || next[k] == len(c.rows) || int(c.rows[next[k]]) != row {
				continue
			}
			if t := c.targetOf(int32(row)); t >= 0 {
				list = append(list, Entry{k, t, 1 / c.total})
			}
		}
		return list
	}
}

// Smooth computes the objective and the rates of the smooth problem on the host in float64, by the
// formulas of Nodes. scores are row-major. A cell without rows has the value 0.
func (s *Sample) Smooth(scores []float64) (objective float64, rates []float64, err error) {
	if s.system.Margins != nil {
		return s.smoothMargins(scores)
	}
	n, c := s.p.Len(), len(s.p.Classes)
	if s.ranked != nil {
		if len(scores) != n {
			return 0, nil, fmt.Errorf("constraints: %d scores for %d documents", len(scores), n)
		}
		rates = s.ranked.smooth(s.system, scores)
		return s.system.objective.value(rates), rates, nil
	}
	binary := len(scores) == n && c == 2
	if !binary && len(scores) != n*c {
		return 0, nil, fmt.Errorf("constraints: %d scores for %d rows of %d classes", len(scores), n, c)
	}
	probability := func(i, class int) float64 { return softmaxOf(scores[i*c:][:c], class) }
	loss := func(i int) float64 { return -logSoftmaxOf(scores[i*c:][:c], s.p.Labels[i]) }
	if binary {
		probability = func(i, class int) float64 { return Sigmoid.Value(float64(1-2*class) * scores[i]) }
		loss = func(i int) float64 { return Logistic.Value(float64(2*s.p.Labels[i]-1) * scores[i]) }
	}
	rates = make([]float64, len(s.cells))
	for k := range s.cells {
		cell := &s.cells[k]
		for _, i := range cell.rows {
			if cell.loss {
				rates[k] += cell.weight(i) * loss(int(i))
			} else if t := cell.targetOf(i); t >= 0 {
				rates[k] += cell.weight(i) * probability(int(i), t)
			}
		}
		if len(cell.rows) > 0 {
			rates[k] /= cell.total
		}
	}
	return s.system.objective.value(rates), rates, nil
}

// logSoftmaxOf returns the log of the class's softmax probability.
func logSoftmaxOf(row []float64, class int) float64 {
	largest, sum := slices.Max(row), 0.0
	for _, s := range row {
		sum += math.Exp(s - largest)
	}
	return row[class] - largest - math.Log(sum)
}

// softmaxOf returns the class's softmax probability.
func softmaxOf(row []float64, class int) float64 { return math.Exp(logSoftmaxOf(row, class)) }

// Targets returns the rows of rate k of the System and, for each of these rows, the decision that
// counts: an index into the classes, or -1 if no decision of the row counts. With n rows and the
// decisions d_i, the rate is the number of rows with d_i = target_i divided by n. For a loss, the
// target is the label.
func (s *Sample) Targets(k int) (rows []int32, targets []int) {
	c := &s.cells[k]
	for _, i := range c.rows {
		targets = append(targets, c.targetOf(i))
	}
	return c.rows, targets
}

// Intersections returns the groups of the constraints that meet several conditions, such as
// "race=Black, sex=Female", with their rows in the sample. The groups of one condition are the
// values of the attributes.
func (s *Sample) Intersections() ([]Group, error) {
	var list []Group
	for _, m := range s.system.measured {
		for _, set := range m.sets {
			for _, l := range set {
				name := nameOf(l.subset.where)
				if len(l.subset.where) < 2 || slices.ContainsFunc(list, func(g Group) bool { return g.Name == name }) {
					continue
				}
				c := Cell{where: l.subset.where, class: -1}
				b, err := c.on(s.p)
				if err != nil {
					return nil, err
				}
				g := Group{Name: name, Rows: make([]int, len(b.rows))}
				for k, i := range b.rows {
					g.Rows[k] = int(i)
				}
				list = append(list, g)
			}
		}
	}
	return list, nil
}

// BoundGroups are groups with a bound on their rates, or on the differences or ratios of their
// rates.
type BoundGroups struct {
	Rate   string   // in tables of rates: positive_rate, tpr, fpr, precision, error, recall[shirt]
	Groups []string // see GroupName
}

// BoundGroups returns the groups of the constraints for each rate that tables of rates have. A
// bound on fnr, tnr or an accuracy is listed with the rate whose complement it is.
func (s *System) BoundGroups() (list []BoundGroups) {
	for j, m := range s.measured {
		var own BoundGroups
		for _, set := range m.sets {
			compares := s.Subject[j].measure.Compares()
			for k, l := range set {
				rate := s.tableRate(s.Subject[j].measure.rate.kind, l.subset.class)
				if rate == "" || len(l.subset.where) == 0 || k == 0 && s.Subject[j].measure.WithAll() {
					continue
				}
				if own.Rate != rate {
					list = own.appendTo(list)
					own = BoundGroups{Rate: rate}
				}
				own.Groups = append(own.Groups, nameOf(l.subset.where))
			}
			if compares {
				list = own.appendTo(list)
				own = BoundGroups{}
			}
		}
		list = own.appendTo(list)
	}
	return list
}

// appendTo appends the groups to a list if there are several.
func (b BoundGroups) appendTo(list []BoundGroups) []BoundGroups {
	if len(b.Groups) < 2 {
		return list
	}
	return append(list, b)
}

// tableRate returns the name that tables of rates have for a rate of a class, or its complement; ""
// if they have neither.
func (s *System) tableRate(kind rateKind, class int) string {
	two := len(s.classes) == 2
	named := func(rate string) string {
		switch {
		case class >= 0 && !two:
			return rate + "[" + s.classes[class] + "]"
		case two && class != 0:
			if rate == string(kindRecall) {
				return string(kindTPR)
			}
			return rate
		}
		return ""
	}
	d, _ := kind.definition()
	switch d.table {
	case kindError:
		switch {
		case class < 0:
			return string(kindError)
		case two && class == 0:
			return string(kindFPR)
		}
		return named(string(kindRecall))
	case kindRecall, kindPrecision:
		return named(string(d.table))
	case kindFPR, kindPositiveRate:
		if two && class != 0 {
			return string(d.table)
		}
	}
	return ""
}

// LossNode adds the mean loss of all rows to the graph of the scores, a scalar: the logistic loss
// of one score, or of the difference of the scores of a pair, else the cross-entropy. Unlike the
// rates of Nodes, its derivative does not vanish where a row is far on the wrong side. The scores
// have the same shapes as in Nodes.
func (s *Sample) LossNode(scores *gorgonia.Node) (*gorgonia.Node, error) {
	binary, err := s.binary(scores)
	if err != nil {
		return nil, err
	}
	losses, err := s.losses(scores, binary)
	if err != nil {
		return nil, err
	}
	m, err := s.mean("loss", func() ([]Group, []float64, error) {
		if s.ranked != nil {
			return []Group{s.ranked.all("all pairs")}, []float64{0}, nil
		}
		return []Group{s.p.all()}, []float64{0}, nil
	})
	if err != nil {
		return nil, err
	}
	op, err := NewGroupMean(m.members, m.offsets[0])
	if err != nil {
		return nil, err
	}
	return op.Apply(losses)
}
