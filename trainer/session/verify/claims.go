package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// claims checks what summary.json says in words, and what follows from numbers that the check has
// compared: the status, whether the run has converged, the verdict, and so on.
func (c *check) claims(before results.Provenance) {
	s, r := &c.summary, c.report
	r.exact(sectionSolution, "schema", float64(s.Schema), rundir.Schema)
	c.status()
	if s.Certificate != nil {
		c.kinks()
	}
	converged, verdict, whole := s.Judge(c.in.Tolerance)
	if s.Converged != converged {
		r.problem("converged is %t in summary.json, and %t by its certificate", s.Converged, converged)
	}
	switch {
	case before.Version != c.in.Version && s.VerdictClaim != verdict:
		r.skip("verdict: the version %s of ppal wrote the run, and this is %s", before.Version, c.in.Version)
	case whole && s.Verdict != verdict, s.VerdictClaim != verdict, !strings.HasPrefix(s.Verdict, s.VerdictClaim):
		r.problem("verdict is %q, with the claim %q, in summary.json; the numbers of summary.json give %q", s.Verdict, s.VerdictClaim, verdict)
	case !whole:
		r.skip("verdict: the reason why the training did not converge, and the advice")
	}
	if o := s.Outcome; o != nil {
		c.outcome(o)
	}
	c.decay()
	r.skip("seconds, seconds_opening, seconds_reading, seconds_measuring, seconds_rounds, seconds_records, seconds_certificates, seconds_plots, seconds_total, peak_bytes, " +
		"device, version, error: what only the run knew")
	r.skip("products: which products the device computed; they decide tolerances here")
	r.skip("metrics.jsonl: the numbers of records that are not those of the output, except that they fit each other")
	if c.content[c.dir.Details()] != nil && !c.in.System.OfPairs() {
		c.curves()
		r.skip("details.json: the examples of wrong decisions, and the names, of report.html")
	}
	r.skip("report.html, plots: they have no checksum; `ppal report` writes the page again")
	r.skip("config.yaml: the settings that only direct the training (method, steps, seed, limits, device), and in provenance out, data-dir, device, resolved, " +
		"warnings and notes")
}

// status compares the reason why the run stopped with the settings and the records.
func (c *check) status() {
	s, r, set := &c.summary, c.report, &c.in.Settings
	last := s.Iterations
	if n := len(c.records); n > 0 {
		last = c.records[n-1].Iteration
	}
	full := last >= set.Iterations
	var wrong string
	switch trainer.Status(s.Status) {
	case trainer.IterationLimit:
		if !full {
			wrong = fmt.Sprintf("the last record is of iteration %d of %d", last, set.Iterations)
		}
	case trainer.TimeLimit:
		if set.TimeLimit == 0 && set.Deadline.IsZero() {
			wrong = "the settings have no limit of the time"
		}
	case trainer.GradientLimit:
		if set.Gradients == 0 {
			wrong = "the settings have no limit of gradient evaluations"
		}
	case trainer.NoImprovement:
		if set.Patience == 0 {
			wrong = "the settings have no patience"
		}
	case trainer.RoundsEnded:
		if s.Outcome == nil || s.Outcome.BoundsOn != constraints.OnDecisions {
			wrong = "the run has no bounds on decisions"
		}
	case trainer.Compared:
		if _, ok := c.given(); !ok {
			wrong = "the run trained its model"
		}
		return
	case trainer.Converged, trainer.AtRest, trainer.Infeasible, trainer.Interrupted: // a proof is checked elsewhere
	default:
		wrong = "there is no such status"
	}
	if wrong != "" {
		r.problem("status is %q in summary.json, but %s", s.Status, wrong)
	}
	if s.Status != string(trainer.Infeasible) && (s.Status != string(trainer.IterationLimit) || !full) {
		r.skip("status: whether the training stopped for the stated reason, %q", s.Status)
	}
}

// equalPieces is the relative difference within which a certificate in float64 takes two pieces of
// a maximum for equal.
const equalPieces = 1e-7

// kinks compares what the certificate says about kinks, and whether the output is the iterate that
// the settings select.
func (c *check) kinks() {
	s, r := &c.summary, c.report
	cert := s.Certificate
	kinks := c.output.as(false, nil).kinks() || !c.in.System.Smooth() || c.parts[0].kinks()
	if cert.UpperBound != kinks {
		r.problem("certificate.upper_bound is %t in summary.json, and the model and the task have kinks: %t", cert.UpperBound, kinks)
	}
	tolerance := 0.0
	if c.parts[0].kinked() {
		tolerance = equalPieces
	}
	r.exact(sectionSolution, "certificate.kink_tolerance", cert.KinkTolerance, tolerance)
	if cert.NotResolved {
		r.skip("certificate.not_resolved: whether other multipliers show a smaller epsilon")
	}
	selected := -1
	if c.in.BoundsOn != constraints.OnDecisions && c.in.Settings.Patience == 0 {
		switch c.in.Settings.Output {
		case trainer.OutputLast, "":
			selected = s.Iterations
		case trainer.OutputBest:
			if selected = s.Iterations; s.BestFeasible != nil {
				selected = s.BestFeasible.Iteration
			}
		}
	}
	if selected < 0 {
		r.skip("output_iteration: which iteration gave the output")
	} else {
		r.exact(sectionRecords, "output_iteration", float64(s.OutputIteration), float64(selected))
	}
}

// outcome checks the claims about decisions that do not belong to one split.
func (c *check) outcome(o *results.Outcome) {
	r := c.report
	if o.BoundsOn != c.in.BoundsOn {
		r.problem("bounds_on is %q in summary.json, and %q in config.yaml", o.BoundsOn, c.in.BoundsOn)
	}
	meanings := c.parts[0].meanings()
	for j := range o.Constraints {
		d, sum := &o.Constraints[j], 0.0
		for _, k := range meanings[j] {
			if c.summary.Certificate == nil {
				break
			}
			sum += c.summary.Certificate.Nu[k]
		}
		r.exact(sectionDecisions, "multiplier of "+d.Constraint, d.Multiplier, sum)
		bound, atLeast := c.in.System.Subject[j].Bound(), c.in.System.Subject[j].IsAtLeast()
		r.exact(sectionDecisions, "bound of "+d.Constraint, d.Bound, bound)
		if d.AtLeast != atLeast {
			r.problem("at_least of %s is %t in summary.json", d.Constraint, d.AtLeast)
		}
		if (d.Surrogate == nil || d.SurrogateMet == nil) != (c.in.BoundsOn != constraints.OnSurrogate) {
			r.problem("surrogate of %s: summary.json and the task differ in whether bounds are on surrogates", d.Constraint)
		}
		if o.Confidence == 0 && d.Promise != nil {
			r.problem("promise of %s: the run promises nothing", d.Constraint)
		}
	}
	r.exact(sectionDecisions, "confidence", o.Confidence, c.in.Confidence)
	if c.in.BoundsOn != constraints.OnDecisions {
		for name, v := range map[string]float64{"threshold": o.Threshold, "threshold_cost": o.ThresholdCost} {
			r.exact(sectionDecisions, name, v, 0)
		}
		if len(o.Offsets)+len(o.BoundShifts)+len(o.WeightStep) > 0 {
			r.problem("offsets, bound_shifts, weight_step: a run with bounds on surrogates has none")
		}
	}
	r.skip("gradient_evaluations: the number of evaluations")
	c.probabilities(o)
}

// decay compares the exponents of the residuals with lines through the records.
func (c *check) decay() {
	if c.in.BoundsOn == constraints.OnDecisions {
		c.report.skip("residual_decay: with bounds on decisions it describes the last of several rounds")
		return
	}
	var sums [3]float64
	var points [3][][2]float64
	n := 0.0
	for k := range c.records {
		one := &c.records[k]
		if one.Iteration == 0 {
			continue
		}
		n++
		for i, v := range [3]float64{one.Stationarity, one.Infeasibility, one.Complementarity} {
			if sums[i] += v * v; sums[i] > 0 {
				points[i] = append(points[i], [2]float64{math.Log(float64(one.Iteration)), math.Log(sums[i] / n)})
			}
		}
	}
	d := &c.summary.ResidualDecay
	for i, reported := range []*float64{d.Stationarity, d.Infeasibility, d.Complementarity} {
		name := "residual_decay." + [3]string{"stationarity", "feasibility", "complementarity"}[i]
		slope, ok := slopeOf(points[i])
		switch {
		case ok != (reported != nil):
			c.report.problem("%s: summary.json and metrics.jsonl differ in whether there is a line", name)
		case ok:
			c.report.compare(sectionRecords, name, *reported, number{slope, 1e-6 * (1 + math.Abs(slope)), true})
		}
	}
}

// slopeOf returns the slope of the least-squares line through at least 3 points with different x.
func slopeOf(points [][2]float64) (slope float64, ok bool) {
	if len(points) < 3 {
		return 0, false
	}
	var x, y float64
	for _, p := range points {
		x, y = x+p[0]/float64(len(points)), y+p[1]/float64(len(points))
	}
	var xx, xy float64
	for _, p := range points {
		xx, xy = xx+(p[0]-x)*(p[0]-x), xy+(p[0]-x)*(p[1]-y)
	}
	return xy / xx, xx > 0
}

// fitTolerance is the largest mean gradient of the fit of probabilities, per unit of the scores.
const fitTolerance = 1e-6

// probabilities checks that the fitted probabilities have the maximum likelihood: for the chances p
// of the classes and the targets t = (n_y + 1)/(n_y + 2) of the class y of a row, and (1 -
// t)/(classes - 1) of the others, the means of (p_k - t_k) and of sum_k (p_k - t_k) s_k are 0.
func (c *check) probabilities(o *results.Outcome) {
	r := c.report
	var slope float64
	var intercepts []float64
	var rows results.Split
	name := "probability"
	switch {
	case o.Probability != nil && o.Probabilities != nil:
		r.problem("probability, probabilities: summary.json has both")
		return
	case o.Probability != nil:
		p := o.Probability
		slope, intercepts, rows = p.Slope, []float64{0, p.Intercept}, p.Rows
		r.exact(sectionDecisions, "probability.at_threshold", p.AtThreshold, logisticOf(p.Intercept))
	case o.Probabilities != nil:
		name = "probabilities"
		slope, intercepts, rows = o.Probabilities.Slope, o.Probabilities.Intercepts, o.Probabilities.Rows
	default:
		r.skip("probability, probabilities: the run fitted none, and the check fits none")
		return
	}
	if c.in.System.Margins != nil && c.in.Outputs() == 1 {
		r.problem("%s: runs of this task fit none", name)
		return
	}
	at := max(0, slices.IndexFunc(c.in.Parts, func(p session.Part) bool { return p.Name == results.Validation }))
	p := &c.in.Parts[at]
	classes := len(p.Rows.Classes)
	if rows != p.Name || len(intercepts) != classes || intercepts[0] != 0 {
		r.problem("%s: summary.json names the %s rows and %d classes, the check %s and %d", name, rows, len(intercepts), p.Name, classes)
		return
	}
	sizes, every := make([]float64, classes), 0.0 // the weights have the mean 1
	for i := range p.Classes {
		every += weightOf(p.Population, i)
	}
	weight := func(i int) float64 { return weightOf(p.Population, i) / every * float64(len(p.Classes)) }
	for i, y := range p.Classes {
		sizes[y] += weight(i)
	}
	outputs := c.in.Outputs()
	scores := c.output.as(true, nil).scores(p.Features)
	ofSlope, ofClass, z, chances := 0.0, make([]float64, classes), make([]float64, classes), make([]float64, classes)
	for i, y := range p.Classes {
		own := scores[i*outputs:][:outputs]
		if outputs == 1 {
			own = []float64{0, own[0]}
		}
		for k, s := range own {
			z[k] = slope*s + intercepts[k]
		}
		softmax(chances, z)
		for k, q := range chances {
			t := (sizes[y] + 1) / (sizes[y] + 2)
			if k != y {
				t = (1 - t) / float64(classes-1)
			}
			ofClass[k] += weight(i) * (q - t) / float64(len(p.Classes))
			ofSlope += weight(i) * (q - t) * own[k] / float64(len(p.Classes))
		}
	}
	scale := largest(scores)
	allowed := fitTolerance + scoreError(c.summary.Products)*scale*max(1, slope)
	r.compare(sectionDecisions, name+": the gradient by the slope at the fit", 0, number{ofSlope / scale, allowed, true})
	for k, g := range ofClass[1:] {
		r.compare(sectionDecisions, fmt.Sprintf("%s: the gradient by intercept %d at the fit", name, k+1), 0, number{g, allowed, true})
	}
}
