package verify

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"

	"ppal/constraints"
	"ppal/trainer"
)

// recorded returns the errors of f and g of a record, which the training device computed from the
// scores.
func (c *check) recorded(scores []float64) slack {
	return slackOf(c.parts[0], scores, len(c.in.Constraints), scoreError(c.summary.Products)*largest(scores))
}

// recordTolerance is the relative tolerance of recorded values: of sums in float32.
const recordTolerance = 2e-6

// compareRecords compares the last record, and the record of the output, with the summary.
func (c *check) compareRecords() {
	s, r := &c.summary, c.report
	if len(c.records) == 0 {
		r.skip("the records: metrics.jsonl has none")
		return
	}
	last := c.records[len(c.records)-1]
	r.exact(sectionRecords, "iterations", float64(s.Iterations), float64(last.Iteration))
	c.fitting()
	if c.in.BoundsOn == constraints.OnDecisions {
		r.skip("the records against the summary: with bounds on decisions, records describe rounds with other shifts")
		return
	}
	for k := range c.records {
		if one := &c.records[k]; one.Iteration == s.OutputIteration && len(one.Constraints) == len(s.Constraints) {
			e := c.recorded(c.output.as(true, nil).scores(c.in.Parts[0].Features))
			compare := func(name string, reported, v, change float64) {
				r.compare(sectionRecords, fmt.Sprintf("%s of iteration %d", name, one.Iteration), reported, number{v, change + recordTolerance*(1+math.Abs(v)), true})
			}
			compare("objective", one.Objective, s.Objective, e.f)
			compare("max_violation", one.MaxViolation, s.MaxViolation, worst(e.g))
			for j, g := range one.Constraints {
				compare(fmt.Sprintf("constraints[%d]", j), g, s.Constraints[j], e.g[j])
			}
			return
		}
	}
	r.skip("the record of the output: metrics.jsonl has no record of iteration %d", s.OutputIteration)
}

// fitting checks that the numbers of each record fit each other and the earlier records.
func (c *check) fitting() {
	var before *trainer.Record
	var sums [3]float64
	n := 0.0
	for k := range c.records {
		one := &c.records[k]
		wrong := func(what string, reported, want float64) {
			if !(math.Abs(reported-want) <= recordTolerance*(1+math.Abs(want))) {
				c.report.problem("metrics.jsonl: the record of iteration %d has %s %v, and the other numbers give %v", one.Iteration, what, reported, want)
			}
		}
		wrong("max_violation", one.MaxViolation, worst(one.Constraints))
		if one.GivenUp && !c.in.GivenUp(one.Objective) { // earlier versions wrote no given_up
			c.report.problem("metrics.jsonl: the record of iteration %d has given_up, and its objective is %v", one.Iteration, one.Objective)
		}
		sum := 0.0
		for _, g := range one.Constraints {
			sum += max(0, g) * max(0, g)
		}
		wrong("feasibility", one.Infeasibility, math.Sqrt(sum))
		if before != nil && (one.Iteration <= before.Iteration || one.Seconds < before.Seconds || one.GradientEvaluations < before.GradientEvaluations) {
			c.report.problem("metrics.jsonl: the record of iteration %d is not after that of iteration %d", one.Iteration, before.Iteration)
		}
		if before = one; one.Iteration == 0 || c.in.BoundsOn == constraints.OnDecisions { // the means begin anew in every round
			continue
		}
		n++
		for i, mean := range []*float64{one.MeanStationarity, one.MeanInfeasibility, one.MeanComplementarity} {
			sums[i] += [3]float64{one.Stationarity, one.Infeasibility, one.Complementarity}[i]
			if mean != nil {
				wrong([3]string{"mean_stationarity", "mean_feasibility", "mean_complementarity"}[i], *mean, sums[i]/n)
			}
		}
	}
}

// unwritten reports whether the run may have judged an iterate without writing a record.
func (c *check) unwritten(iteration int) bool {
	set := &c.in.Settings
	_, every := set.Intervals()
	return (set.ChecksChoose() || set.Tolerance > 0) && iteration >= 0 && iteration <= c.summary.Iterations && iteration%every == 0
}

// bestFeasible compares the best feasible record with the records and with its weights. The run
// also judges iterates that it does not write: at its checks, if they choose the output or may end
// the run. Such an iterate must have a smaller objective than the feasible records before it, and
// none of those after it may have a smaller one.
func (c *check) bestFeasible() error {
	s, r := &c.summary, c.report
	reported := s.BestFeasible
	var best *trainer.Record
	written := false
	for k := range c.records {
		one := &c.records[k]
		written = written || reported != nil && one.Iteration == reported.Iteration
		if (one.Sample == 0 || k == len(c.records)-1) && one.MaxViolation <= c.in.Tolerance && !c.in.GivenUp(one.Objective) && (best == nil || one.Objective < best.Objective) {
			best = one
		}
	}
	if c.in.BoundsOn == constraints.OnDecisions || len(c.records) == 0 {
		r.skip("best_feasible.iteration: with bounds on decisions, records describe rounds with other shifts")
	} else {
		between := reported != nil && !written && c.unwritten(reported.Iteration)
		switch {
		case between && (best == nil || reported.Objective < best.Objective || reported.Objective == best.Objective && reported.Iteration < best.Iteration):
			best = nil
		case (best == nil) != (reported == nil):
			r.problem("best_feasible: summary.json and metrics.jsonl differ in whether a record is feasible")
		case best != nil:
			r.exact(sectionBest, "best_feasible.iteration", float64(reported.Iteration), float64(best.Iteration))
			r.exact(sectionBest, "best_feasible.objective of the records", reported.Objective, best.Objective)
		}
	}
	if reported == nil {
		return nil
	}
	if c.content[c.dir.Best()] == nil {
		if s.Files[filepath.Base(c.dir.Best())] == "" {
			r.skip("the weights of the best feasible record: there is no best.safetensors")
		}
		return nil // a missing file with a checksum is a problem already
	}
	f, err := c.weights(c.dir.Best(), nil)
	if err != nil {
		return err
	}
	at := c.at(f.as(false, nil))
	e := c.recorded(at.scores)
	if c.in.BoundsOn != constraints.OnDecisions && best != nil && len(best.Constraints) == len(at.g) {
		for j, g := range best.Constraints {
			r.compare(sectionBest, fmt.Sprintf("constraints[%d] of best.safetensors", j), g, number{at.g[j], e.g[j] + recordTolerance*(1+math.Abs(at.g[j])), true})
		}
	}
	if c.in.BoundsOn != constraints.OnDecisions && reported.Iteration == s.OutputIteration {
		if !bytes.Equal(c.content[c.dir.Best()], c.content[c.dir.Model()]) {
			r.problem("best.safetensors differs from model.safetensors, and both are of iteration %d", s.OutputIteration)
		}
	} else {
		r.skip("best.safetensors: its weights, beyond the objective and the constraints that they give")
	}
	r.compare(sectionBest, "best_feasible.objective of best.safetensors", reported.Objective,
		number{at.objective, e.f + recordTolerance*(1+math.Abs(at.objective)), true})
	if v, most := worst(at.g), c.in.Tolerance+worst(e.g)+recordTolerance; v > most {
		r.problem("best.safetensors is not feasible: its largest violation is %.3g, more than %.3g", v, most)
	}
	return nil
}
