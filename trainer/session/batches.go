package session

import (
	"cmp"
	"fmt"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/step"
)

// buildSampler builds the sampled problem if training uses mini-batches or drawn groups.
func (a *assembly) buildSampler(train load.Rows, seed uint64, weights models.Weights) (err error) {
	size, all := a.options.BatchSize, train.Len()
	switch {
	case a.builder.statement.sampled:
		sample, failure := a.builder.statement.samples.sample(rowsOf(train))
		if failure != nil {
			return failure
		}
		a.sampler, err = build.NewDraws(a.builder.Builder, build.DrawnRows{Data: train.Data, Sample: sample, Bound: a.builder.statement.Constraints[0].Bound,
			Labels: train.Labels, Groups: train.Groups, Levels: train.Levels, Weights: train.Weights}, seed, a.dtype, weights)
	case size >= all:
		a.notes = append(a.notes, fmt.Sprintf("batch-size %d: all %d rows", size, all))
	case size > 0 && a.ofQueries():
		return &OptionError{Option: "batch-size", Problem: "takes some queries, and the bounds are on the gaps of each query: use 0, or bound the gap over all queries, " +
			"as in --subject-to \"gap(cross_pair_error, GROUP) <= 0.25\""}
	case size > 0:
		if a.batches, a.sampler, err = build.NewBatches(a.builder.Builder, a.builder.rows(train), size, seed, a.dtype, weights, a.problem); err == nil {
			err = a.checkBatches()
		}
	}
	batches := 1
	if a.batches != nil {
		batches = int(a.batches.PerPass())
	}
	a.options.setIterations(batches, max(1, train.Copies))
	if err != nil || a.batches == nil || a.onDecisions() {
		return err
	}
	a.finishOnAll(a.options.Settings.Iterations)
	return nil
}

// finishOnAll lets the last iterations before the limit use all rows, unless the method returns a
// mean of its iterates, or the constraints bound a single query.
func (a *assembly) finishOnAll(limit int) {
	a.finishes = nil
	if method.AveragesOn(a.options.Method, a.sampler) || problem.FeaturesOf(a.sampler).Group != nil {
		return
	}
	if note := a.batches.FinishOnAll(a.options.Method, limit, a.devices.Team == nil || a.devices.Team.Rank() == 0); note != "" {
		a.finishes = []string{note}
	}
}

// checkBatches refuses mini-batches whose packed rows, which the CPU keeps beside all rows, do not
// fit in memory. A process has its part of the rows.
func (a *assembly) checkBatches() error {
	if a.devices.CPU == nil || a.devices.GPU != nil {
		return nil // the GPU keeps the rows of the batches that fit
	}
	bytes := a.batches.KeptBytes(a.dtype.Size(), a.devices.Pages != nil) / uint64(a.devices.Team.Size())
	return a.devices.Options.CheckMemory(bytes, "the second packed copy of the rows for --batch-size (train without it) needs")
}

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
	train, pays := a.splits[0], cmp.Or(a.options.samplesPay, samplesPay)
	rule, ok := a.options.Method.(trainer.DualRule)
	switch {
	case a.options.AllRows || a.sampler != nil || !ok || rule.PrimalStep().Kind != step.LBFGS,
		a.devices.CPU == nil || a.devices.GPU != nil || a.devices.Team != nil || a.devices.Pages != nil,
		models.IsLinear(a.builder.Model) || a.onDecisions() || a.ofQueries() || a.iterationWork() < pays.work:
		return nil
	}
	strata := a.splits[0].Rows.Stratified()
	for _, rows := range strata {
		if float64(len(rows))*build.SampleShares()[0] < pays.least {
			return nil
		}
	}
	weights, err := a.start()
	if err != nil {
		return err
	}
	counts, err := a.builder.AddSamples(train.problem, a.builder.rows(train.Rows), a.options.Settings.Seed, a.dtype, weights)
	if err != nil {
		return err
	}
	a.sampled = true
	a.notes = append(a.notes, fmt.Sprintf("The first iterations see %d, then %d of the %d training rows, until the sampling error is larger than the gain of a step. "+
		"--samples none shows them all rows.", counts[0], counts[1], train.Len()))
	return nil
}
