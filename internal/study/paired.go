package study

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Paired is the mean difference of two methods over seeds, with a 95% interval: the percentiles of
// the means over samples of the seeds with replacement (the paired bootstrap; Efron and Tibshirani,
// An Introduction to the Bootstrap, 1993, chapter 13). The interval of few seeds is too narrow:
// that of five differences excludes 0 if all have one sign, which chance alone gives once in 16.
// Fewer than leastSeeds seeds have no interval.
type Paired struct {
	Mean     float64     `json:"mean"`
	Interval *[2]float64 `json:"interval95,omitempty"`
	N        int         `json:"seeds"`
}

const (
	leastSeeds = 5     // for an interval
	resamples  = 20000 // of the seeds
)

// NewPaired returns the statistic of the differences over seeds. The samples are the same in every
// call, so that equal differences have equal intervals.
func NewPaired(differences []float64) Paired {
	p := Paired{Mean: NewStatistic(differences).Mean, N: len(differences)}
	if p.N < leastSeeds {
		return p
	}
	random := rand.New(rand.NewPCG(1, uint64(p.N)))
	means := make([]float64, resamples)
	for k := range means {
		for range p.N {
			means[k] += differences[random.IntN(p.N)] / float64(p.N)
		}
	}
	slices.Sort(means)
	p.Interval = &[2]float64{means[resamples/40], means[resamples-1-resamples/40]}
	return p
}

// String returns text such as "-0.02, -0.03 to -0.01: lower".
func (p Paired) String() string {
	if p.N == 0 {
		return "-"
	}
	if p.Interval == nil {
		return fmt.Sprintf("%.3g", p.Mean)
	}
	word, low, high := "cannot be told", p.Interval[0], p.Interval[1]
	switch {
	case high < 0:
		word = "lower"
	case low > 0:
		word = "higher"
	case low == 0 && high == 0:
		word = "equal"
	}
	return fmt.Sprintf("%.3g, %.3g to %.3g: %s", p.Mean, low, high, word)
}

// Paired returns the statistic of a number of a contender minus that of the reference, over the
// seeds with which neither failed.
func (o *Compared) Paired(contender, reference string, value func(r *ComparedRun) (value float64, known bool)) Paired {
	base := map[uint64]float64{}
	for _, r := range o.Of(reference) {
		if v, known := value(&r); known && r.Failure == "" {
			base[r.Seed] = v
		}
	}
	var differences []float64
	for _, r := range o.Of(contender) {
		v, known := value(&r)
		if of, both := base[r.Seed]; both && known && r.Failure == "" {
			differences = append(differences, v-of)
		}
	}
	return NewPaired(differences)
}

// compared returns the columns by which the methods are compared with the first one, and what the
// differences are; nil if there is nothing to compare.
func (o *Compared) compared() (columns []comparedColumn, note string) {
	if len(o.Comparison.Contenders) < 2 || len(o.Comparison.Seeds) < 2 {
		return nil, ""
	}
	for _, c := range o.columns() {
		if c.compared {
			columns = append(columns, c)
		}
	}
	if len(o.Comparison.Seeds) < leastSeeds {
		return columns, fmt.Sprintf(", paired by the seeds; an interval needs %d seeds", leastSeeds)
	}
	return columns, ", with the 95% interval of the paired bootstrap over the seeds. An interval is about other seeds, and not about other data"
}

// differences returns the table of the differences from the first method, with a line for each
// other method, and what the differences are; nil if there is nothing to compare.
func (o *Compared) differences() (table [][]string, note string) {
	columns, note := o.compared()
	if columns == nil {
		return nil, ""
	}
	head := []string{"method"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	table = [][]string{head}
	for _, m := range o.Comparison.Contenders[1:] {
		row := []string{m.Name}
		for _, c := range columns {
			row = append(row, o.Paired(m.Name, o.Comparison.Contenders[0].Name, c.value).String())
		}
		table = append(table, row)
	}
	return table, note
}
