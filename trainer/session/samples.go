package session

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/step"
)

// sampleShares are the shares of the rows that the first quasi-Newton steps see. The larger sample
// contains the smaller one.
func sampleShares() [2]float64 { return [2]float64{1. / 8, 1. / 4} }

// sampleRule decides whether samples pay.
type sampleRule struct {
	// least is the least number of rows of each stratum in the smallest sample. The standard error of
	// a rate of a half in 500 rows is 0.022, so that the violations of early iterates, which are
	// larger, are seen.
	least float64
	// work is the least work of an iteration on all rows, in nanoseconds on one thread. Below, an
	// iteration has little else than the step's own work, and the training is short.
	work float64
}

var samplesPay = sampleRule{least: 500, work: 1e7}

// addSamples adds samples of the rows to the training problem if they pay, and notes it.
//
// The device must be one CPU in this process, without bounded memory, and the method must take
// quasi-Newton steps on a model with hidden layers. Bounds on decisions have no samples, because
// their later rounds begin near a solution.
func (a *assembly) addSamples() error {
	train, pays := a.data.splits[0], cmp.Or(a.options.samplesPay, samplesPay)
	rule, ok := a.options.Method.(trainer.DualRule)
	d := a.builder.statement.decided()
	switch {
	case a.options.AllRows || a.sampler != nil || !ok || rule.PrimalStep().Kind != step.LBFGS,
		a.devices.cpu == nil || a.devices.gpu != nil || a.devices.team != nil || a.devices.pages != nil,
		models.IsLinear(a.builder.model) || d != nil && d.on == OnDecisions || a.iterationWork() < pays.work:
		return nil
	}
	strata := a.data.splits[0].rows.stratified()
	for _, rows := range strata {
		if float64(len(rows))*sampleShares()[0] < pays.least {
			return nil
		}
	}
	return a.addSamplesOf(train, strata)
}

// addSamplesOf adds the samples to the problem of the split.
func (a *assembly) addSamplesOf(train *split, strata [][]int) error {
	weights, err := a.start()
	if err != nil {
		return err
	}
	shares := sampleShares()
	counts := make([]int, len(shares))
	for k, share := range shares {
		sample := train.rows.pick(sampleOf(strata, share, a.options.Settings.Seed))
		counts[k] = sample.len()
		err := train.problem.AddSample(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			return a.builder.definition(g, sample, a.dtype, weights)
		}, a.devices.train)
		if err != nil {
			return fmt.Errorf("session: the sample of %d rows: %w", sample.len(), err)
		}
	}
	a.sampled = true
	a.notes = append(a.notes, fmt.Sprintf("The first iterations see %d, then %d of the %d training rows, until the sampling error is larger than the gain of a step. "+
		"--samples none shows them all rows.", counts[0], counts[1], train.len()))
	return nil
}

// sampleStream separates the random streams of the samples from other streams of the same seed.
const sampleStream = 0x73616d706c6573

// sampleOf returns the rows of a sample in increasing order: of each stratum the first rows, the
// share rounded up, of a random order. A larger share has the rows of a smaller one.
func sampleOf(strata [][]int, share float64, seed uint64) []int {
	var list []int
	for k, rows := range strata {
		order := slices.Clone(rows)
		shuffle(order, seed, sampleStream+uint64(k))
		list = append(list, order[:int(math.Ceil(share*float64(len(order))))]...)
	}
	slices.Sort(list)
	return list
}
