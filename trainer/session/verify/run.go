package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"ppal/constraints"
	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// Run checks the run in the directory. o are the options with which the program trained. The error
// says that the directory holds no finished run; differences are in the report.
func Run(ctx context.Context, dir string, o session.Options) (*Report, error) {
	return RunConfig(dir, func([]byte) (*session.Inputs, error) { return session.ReadInputs(ctx, o) })
}

// RunConfig is Run for options that the content of the run's config.yaml gives: read reads the
// run's data and states its task.
func RunConfig(dir string, read func(config []byte) (*session.Inputs, error)) (*Report, error) {
	c := newCheck(dir)
	if err := c.files(); err != nil {
		return nil, err
	}
	var err error
	if c.records, err = rundir.ParseMetrics(c.dir.Metrics(), c.content[c.dir.Metrics()]); err != nil {
		c.report.problem("%v", err)
	}
	if err := c.recompute(read); err != nil {
		c.report.problem("%v", err)
	}
	c.earlier()
	return c.end(), nil
}

// Files compares the checksums of the run's files, and recomputes nothing. It needs no data. Files
// returns the same errors as Run.
func Files(dir string) (*Report, error) {
	c := newCheck(dir)
	if err := c.files(); err != nil {
		return nil, err
	}
	c.report.skip("the numbers in the files: only the checksums were compared, without the data")
	return c.end(), nil
}

// check is the state of Run.
type check struct {
	dir     rundir.Dir
	report  *Report
	content map[string][]byte // of the run's files, by path
	summary results.Summary
	records []trainer.Record
	in      *session.Inputs
	parts   []*evaluator
	output  *weightsFile
	shifts  []float64 // shifts of the bounds; nil: those of the outcome

	unpromised []string // a sentence for each promise that does not hold
}

func newCheck(dir string) *check {
	return &check{dir: rundir.Dir(dir), content: map[string][]byte{}, report: &Report{Run: dir,
		Problems: []string{}, Skipped: []string{}, Comparisons: []Comparison{}, Files: []string{}}}
}

// earlier says first, of a problem of Moon et al. that differs, that an earlier version may be why:
// those that judged these problems without a tolerance measured them in float32, too.
func (c *check) earlier() {
	o := c.summary.Outcome
	if len(c.report.Problems) == 0 || o == nil || len(o.Constraints) == 0 || c.in == nil || c.in.System.Margins == nil {
		return
	}
	for _, d := range o.Constraints {
		if d.Tolerance != 0 || d.Exceeded != nil {
			return
		}
	}
	c.report.Problems = slices.Insert(c.report.Problems, 0, fmt.Sprintf("its constraints have no tolerance, as in a run that an earlier version of ppal wrote, "+
		"which this version cannot recompute: verify it with that version, or compare the files alone: ppal verify --files %s", option.ShellWord(string(c.dir))))
}

// end returns the report.
func (c *check) end() *Report {
	c.report.Verified = len(c.report.Problems) == 0
	return c.report
}

// files reads the summary and the run's files, and compares the checksums.
func (c *check) files() (err error) {
	r := c.report
	var sealed rundir.Seal
	var closed bool
	c.summary, sealed, closed, err = rundir.ReadSealed(c.dir.Summary())
	switch {
	case errors.Is(err, disk.ErrChanged):
		r.problem("summary.json has been changed: its checksum does not match")
	case errors.Is(err, fs.ErrNotExist):
		return c.unfinished()
	case err != nil:
		return fmt.Errorf("verify: %w", err)
	case !closed:
		r.skip("whether a file was changed: an earlier version of ppal wrote summary.json, without checksums")
	default:
		r.Files = append(r.Files, disk.SummaryName)
	}
	if c.summary.Status == string(trainer.Failed) {
		return fmt.Errorf("verify: %s: the run failed, and there are no weights to check: %s", c.dir, c.summary.Error)
	}
	known := map[string]bool{}
	for _, path := range c.dir.Sealed() {
		name := filepath.Base(path)
		known[name] = true
		data, err := disk.Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !sealed.Has(path):
			continue
		case errors.Is(err, fs.ErrNotExist):
			r.problem("%s is missing", name)
			continue
		case err != nil:
			r.problem("%v", err)
			continue
		case sealed.Check(path, data) != nil:
			r.problem("%s has been changed: its checksum is not the one in summary.json", name)
		case sealed.Has(path):
			r.Files = append(r.Files, name)
		case closed:
			r.skip("whether %s was changed: summary.json has no checksum of it", name)
		}
		c.content[path] = data
	}
	for _, name := range slices.Sorted(maps.Keys(c.summary.Files)) {
		if !known[name] {
			r.problem("summary.json has a checksum of %q, which is not a file of a run", name)
		}
	}
	return nil
}

// unfinished returns the error of a directory without a summary.
func (c *check) unfinished() error {
	if _, err := os.Stat(string(c.dir)); err != nil {
		return fmt.Errorf("verify: %w: %w", rundir.ErrIncomplete, err)
	}
	if _, err := os.Stat(c.dir.Config()); err == nil {
		return fmt.Errorf("verify: %s: the run is not finished: there is no summary.json; `ppal train --resume %s` continues the run", c.dir, option.ShellWord(string(c.dir)))
	}
	return fmt.Errorf("verify: %s: %w: there is no summary.json; name the directory of one run, such as a point of a sweep", c.dir, rundir.ErrIncomplete)
}

// recompute reads the data and compares the numbers.
func (c *check) recompute(read func(config []byte) (*session.Inputs, error)) (err error) {
	config := c.content[c.dir.Config()]
	before, err := c.dir.ParseProvenance(config)
	if err != nil {
		return err
	}
	if c.in, err = read(config); err != nil {
		return fmt.Errorf("the data or config.yaml cannot be used: %w", err)
	}
	if len(before.Data) == 0 {
		c.report.skip("whether the data changed: config.yaml has no checksums of data")
	}
	for i, f := range before.Data {
		switch {
		case i >= len(c.in.Data) || c.in.Data[i].Name != f.Name:
			c.report.problem("the data file %s is missing", f.Name)
		case c.in.Data[i].SHA256 != f.SHA256:
			c.report.problem("the data file %s has changed since the run: its checksum is not the one in config.yaml", f.Name)
		}
	}
	for k := range c.in.Parts {
		e, err := newEvaluator(c.in, &c.in.Parts[k])
		if err != nil {
			return err
		}
		c.parts = append(c.parts, e)
	}
	if c.output, err = c.weights(c.dir.Model(), c.offsets()); err != nil {
		return err
	}
	if err := c.rebuild(before); err != nil {
		return err
	}
	c.provenance(before)
	if m, ok := c.given(); ok {
		if err := c.thresholds(m); err != nil {
			return err
		}
	} else if s := &c.summary; s.Certificate == nil || s.Outcome != nil && s.Outcome.Thresholds != nil {
		return errors.New("summary.json has no certificate, or thresholds on given scores, and the run trained its model")
	} else if c.mixed() {
		c.report.skip("constraints, the objective and the certificate: the exact step mixed the weights of two rounds, and the file has the mixture alone")
	} else if err := c.solution(); err != nil {
		return err
	}
	c.claims(before)
	if err := c.splits(); err != nil {
		return err
	}
	c.warnings(before)
	c.compareRecords()
	if err := c.infeasibility(); err != nil {
		return err
	}
	return c.bestFeasible()
}

// mixed reports whether the exact step of a ranking mixed the weights of two rounds.
func (c *check) mixed() bool {
	o := c.summary.Outcome
	return o != nil && o.RankStep != nil && o.RankStep.Mixed
}

// offsets returns what the exact step subtracted from each score.
func (c *check) offsets() []float64 {
	switch o := c.summary.Outcome; {
	case o == nil || c.in.BoundsOn != constraints.OnDecisions:
		return nil
	case len(o.Offsets) > 0:
		return o.Offsets
	default:
		return []float64{o.Threshold}
	}
}

// shift prepares the evaluator of the training rows for the smooth problem of the solution.
func (c *check) shift(n model) {
	r := c.parts[0]
	r.norm, r.shifts = l1(c.in.Model, n), c.shifts
	if r.shifts != nil {
		return
	}
	if o := c.summary.Outcome; o != nil && len(o.BoundShifts) == len(c.in.System.Bounds) {
		r.shifts = o.BoundShifts
	}
}

// point holds the smooth problem at a network.
type point struct {
	x, scores, g []float64
	objective    float64 // f + r
}

// at evaluates the smooth problem on the training rows.
func (c *check) at(n model) point {
	c.shift(n)
	p := point{x: n.flat(), scores: n.scores(c.in.Parts[0].Features)}
	p.objective, p.g = c.parts[0].smooth(p.scores)
	p.objective += regularization(&c.in.Regularizer, n.ends(), p.x)
	return p
}

// lagrangian returns grad f + J^T nu without the regularizer.
func (c *check) lagrangian(n model, scores, nu []float64) (v []float64, ties bool) {
	d, ties := c.parts[0].direction(scores, nu)
	v = n.gradient(c.in.Parts[0].Features, d)
	if c.in.System.L1 {
		w, _ := c.parts[0].weights(scores, nu)
		addL1(v, w[len(w)-1], c.in.Model, n)
	}
	return v, ties
}

// The random moves of the weights that measure the effect of their rounding, and the factor between
// the measured change and the tolerance.
const (
	moves      = 2
	moveFactor = 8
	moveSeed   = 1
)

// sensitivity is the largest change of the smooth problem that the rounding of the weights causes.
type sensitivity struct{ value, gradient float64 }

// sensitivity measures the changes at random moves of the weights.
func (c *check) sensitivity(f *weightsFile, at point, nu, v []float64) (s sensitivity) {
	if !f.folded {
		return s
	}
	random := rand.New(rand.NewPCG(moveSeed, 0))
	for k := range moves {
		n := f.as(false, random)
		moved := c.at(n)
		s.value = max(s.value, moveFactor*math.Abs(moved.objective-at.objective))
		for j := range at.g {
			s.value = max(s.value, moveFactor*math.Abs(moved.g[j]-at.g[j]))
		}
		if k == 0 && nu != nil {
			w, _ := c.lagrangian(n, moved.scores, nu)
			s.gradient = moveFactor * (distance(v, w) + distance(moved.x, at.x)*math.Abs(c.in.Regularizer.Weight))
		}
	}
	return s
}

// solution compares the objective, the constraints and the certificate.
func (c *check) solution() error {
	s, r := &c.summary, c.report
	cert := s.Certificate
	if len(s.Constraints) != len(c.in.Constraints) || len(cert.Nu) != len(c.in.Constraints) {
		return fmt.Errorf("summary.json has %d constraints and %d multipliers, the task has %d constraints", len(s.Constraints), len(cert.Nu), len(c.in.Constraints))
	}
	if o := s.Outcome; o != nil && c.in.BoundsOn == constraints.OnDecisions && len(o.BoundShifts) != len(c.in.System.Bounds) {
		return fmt.Errorf("summary.json has %d bound shifts, the task has %d inequalities", len(o.BoundShifts), len(c.in.System.Bounds))
	}
	for j, b := range s.Bounds {
		r.exact(sectionBounds, fmt.Sprintf("bounds[%d]", j), b, c.in.Constraints[j].Bound)
	}
	n := c.output.as(false, nil)
	at := c.at(n)
	v, ties := c.lagrangian(n, at.scores, cert.Nu)
	change := c.sensitivity(c.output, at, cert.Nu, v)
	c.shift(n)
	allow := func(x, by float64) number { return number{x, rounding*(1+math.Abs(x)) + by, true} }
	for j, g := range at.g {
		r.compare(sectionConstraints, fmt.Sprintf("constraints[%d] (%s)", j, c.in.Constraints[j].Name), s.Constraints[j], allow(g, change.value))
	}
	r.compare(sectionSolution, "objective", s.Objective, allow(at.objective, change.value))
	r.compare(sectionSolution, "max_violation", s.MaxViolation, allow(worst(at.g), change.value))
	boundary := boundary64
	if c.in.Float32 {
		boundary = boundary32
	}
	k := residualsOf(&c.in.Regularizer, n.ends(), at.x, v, at.g, cert.Nu, boundary)
	ofG, ofNu := change.value*math.Sqrt(float64(len(at.g))), 0.0
	for j, m := range cert.Nu {
		ofNu += math.Abs(m) * (change.value + rounding*(1+math.Abs(at.g[j])))
		if m < 0 {
			r.problem("certificate.nu[%d] is negative", j)
		}
	}
	ofV := change.gradient + rounding*norm(v)
	if ties {
		r.skip("the stationarity: several pieces of a constraint's maximum are equal")
	} else {
		r.compare(sectionSolution, "certificate.stationarity", cert.Stationarity, allow(k.stationarity, ofV))
	}
	r.compare(sectionSolution, "certificate.feasibility", cert.Infeasibility, allow(k.infeasibility, ofG))
	r.compare(sectionSolution, "certificate.complementarity", cert.Complementarity, allow(k.complementarity, ofNu))
	if !ties {
		ofDomain := 0.0
		if k.domain > 0 || cert.Domain > 0 {
			ofDomain = boundary
		}
		r.compare(sectionSolution, "certificate.epsilon", cert.Epsilon, allow(k.epsilon(), max(ofV, ofG, ofNu, ofDomain)))
	}
	if own := cert.Own; own != nil && len(own.Nu) == len(at.g) && !ties {
		w, _ := c.lagrangian(n, at.scores, own.Nu)
		k := residualsOf(&c.in.Regularizer, n.ends(), at.x, w, at.g, own.Nu, boundary)
		ofNu := 0.0
		for _, m := range own.Nu {
			ofNu += math.Abs(m) * (change.value + rounding)
		}
		ofW := c.sensitivity(c.output, at, own.Nu, w).gradient // the own multipliers may be larger
		r.compare(sectionSolution, "certificate.own.stationarity", own.Stationarity, allow(k.stationarity, ofW+rounding*norm(w)))
		r.compare(sectionSolution, "certificate.own.complementarity", own.Complementarity, allow(k.complementarity, ofNu))
		r.compare(sectionSolution, "certificate.own.epsilon", own.Epsilon, allow(k.epsilon(), max(ofW+rounding*norm(w), ofG, ofNu, boundary)))
	}
	return nil
}
