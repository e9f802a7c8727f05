package report

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ppal/internal/chart"
	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// run is the content of a run's directory.
type run struct {
	dir        rundir.Dir
	summary    *results.Summary // nil: the run has not ended
	provenance results.Provenance
	settings   []settingGroup
	own        []string // the parts of the run that no setting expresses
	details    rundir.Details
	model      *results.Model // nil: none
	records    []trainer.Record
}

// WriteRun writes the report.html of a run from the files of its directory. sum is the summary of
// the run that calls; nil reads summary.json, and compares every file with the checksums there
// before it is used. A run without a summary has not ended; its page shows the records so far.
// WriteRun returns an error that wraps rundir.ErrIncomplete if the directory has no records of a
// run, and disk.ErrChanged for a file that is damaged or belongs to another run.
func WriteRun(dir rundir.Dir, sum *results.Summary) error { return writeRun(dir, sum, nil) }

// writeRun is WriteRun with the templates of the page; nil: they are not parsed yet.
func writeRun(dir rundir.Dir, sum *results.Summary, templates func() (*template.Template, error)) error {
	r, err := readRun(dir, sum)
	if err != nil {
		return err
	}
	p := r.page()
	p.templates = templates
	return p.write(dir.Report())
}

func readRun(dir rundir.Dir, sum *results.Summary) (*run, error) {
	r := &run{dir: dir, summary: sum}
	var sealed rundir.Seal
	if sum == nil {
		own, sums, _, err := rundir.ReadSealed(dir.Summary())
		switch {
		case err == nil && own.Status == string(trainer.Interrupted) && !disk.Unlocked(string(dir)):
			// the run goes on, and the summary is that of its former part
		case err == nil:
			r.summary, sealed = &own, sums
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	data, err := sealed.Read(dir.Metrics())
	if err == nil {
		r.records, err = rundir.ParseMetrics(dir.Metrics(), data)
	}
	switch {
	case errors.Is(err, disk.ErrChanged) && r.summary.Status == string(trainer.Interrupted):
		return nil, fmt.Errorf("%w; if the run went on since, `ppal train --resume %s` continues it", err, option.ShellWord(string(dir)))
	case err != nil && !absent(err, sealed, dir.Metrics()):
		return nil, err
	case r.summary == nil && len(r.records) == 0:
		return nil, fmt.Errorf("report: %s: %w: it has no records and no summary", dir, rundir.ErrIncomplete)
	}
	config, err := sealed.Read(dir.Config())
	if err == nil {
		if r.provenance, err = dir.ParseProvenance(config); err != nil {
			return nil, err
		}
		if r.settings, r.own, err = settingsOf(dir.Config(), config); err != nil {
			return nil, err
		}
	} else if !absent(err, sealed, dir.Config()) {
		return nil, err
	}
	if r.details, err = dir.ReadDetails(sealed); err != nil {
		return nil, err
	}
	for _, path := range []string{dir.ModelDescription(), dir.Model(), dir.Preparation()} { // the page is about this model
		if !sealed.Has(path) {
			continue
		}
		if _, err := sealed.Read(path); err != nil {
			return nil, err
		}
	}
	if m, err := dir.ReadModel(); err == nil {
		r.model = &m
	} else if !errors.Is(err, rundir.ErrIncomplete) {
		return nil, err
	}
	return r, nil
}

// absent reports whether err says that a file is missing that the run did not write.
func absent(err error, sealed rundir.Seal, path string) bool {
	return errors.Is(err, os.ErrNotExist) && !sealed.Has(path)
}

// setting returns the value of a setting, or "".
func (r *run) setting(name string) string {
	for _, g := range r.settings {
		for _, s := range g.Settings {
			if s.Name == name {
				return s.Value
			}
		}
	}
	return ""
}

// charts returns the charts of the records.
func (r *run) charts() []*chart.Chart {
	if len(r.records) == 0 {
		return nil
	}
	curves := &PlottedRun{Records: r.records, Objective: r.details.Objective, Bounds: r.bounds()}
	for j := range r.records[len(r.records)-1].Constraints {
		curves.Constraints, curves.Bounded = append(curves.Constraints, r.constraintName(j)), append(curves.Bounded, r.boundedName(j))
	}
	return curves.Charts()
}

// bounds returns the bounds of the smooth constraints; nil if the directory does not have them.
func (r *run) bounds() []float64 {
	if r.provenance.Bounds == nil && r.summary != nil {
		return r.summary.Bounds
	}
	return r.provenance.Bounds
}

// boundedName returns the name of g_j with the bound.
func (r *run) boundedName(j int) string {
	if j < len(r.provenance.Constraints) {
		return r.provenance.Constraints[j]
	}
	return r.constraintName(j)
}

// title returns "ppala on adult".
func (r *run) title() string {
	t := results.Title{Method: r.setting("method"), Model: r.setting("model"), Dataset: r.setting("dataset"), File: r.setting("file")}
	if results.DataName(t.Dataset, t.File) == "" {
		t.Dataset, t.File = "data at hand", ""
		if r.model != nil {
			t.Dataset = cmp.Or(r.model.Dataset, t.Dataset)
		}
	}
	return t.String()
}

// runView is the data of the template of a run.
type runView struct {
	Status       Status
	Facts        []Fact // for the reader who decides
	Figures      []Fact // for the specialist
	Stopped      string // why the training stopped
	Verdict      []word
	Bounds       []boundView // the bounds with a picture
	MoreBounds   []boundView // the other bounds of a run with many, as a table
	BoundsNote   string
	Objective    []Cell
	ObjectiveOf  string
	Accepted     []Cell
	Sentences    [][]word // about the bounds on new rows and the threshold
	Warnings     [][]word
	Notes        [][]word
	Certificate  string
	Residuals    []residual
	Charts       []*chart.Chart
	Rates        *ratesView
	Confusion    []confusionView
	ROC          *chart.Chart
	Examples     *examplesView
	Data         dataView
	Settings     []settingGroup
	Reproduce    []Command
	Own          []string
	Files        []results.DataFile
	Missing      []string // what an older directory does not hold
	Constrained  bool
	OnSurrogates bool
}

// page returns the page of the run.
func (r *run) page() *page {
	v := &runView{Status: r.status(), Settings: r.settings, Own: r.own, Files: r.provenance.Data}
	if s := r.summary; s != nil && s.Status != string(trainer.Failed) && s.Status != string(trainer.Interrupted) {
		v.Stopped, v.Status.Lead = v.Status.Lead, ""
	}
	v.Facts, v.Figures = r.facts(), r.figures()
	if s := r.summary; s != nil {
		if s.Verdict != "" {
			v.Verdict = words(s.Verdict)
		}
		for _, w := range s.Warnings {
			v.Warnings = append(v.Warnings, words(sentence(w)))
		}
		for _, n := range s.Notes {
			v.Notes = append(v.Notes, words(sentence(n)))
		}
		v.Certificate, v.Residuals = certified(s), residuals(s)
		r.outcome(v)
	}
	v.Charts = r.charts()
	v.Rates, v.Confusion, v.ROC = r.rates()
	v.Examples = newExamples(r.details.Examples)
	v.Data = r.data()
	v.Reproduce = r.reproduce()
	if r.summary != nil && r.details.Schema == 0 {
		v.Missing = append(v.Missing, "The directory has no details.json: an earlier version of ppal wrote the run. The page therefore has no ROC curves and no examples of wrong decisions.")
	}
	kicker := "Run"
	if d := filepath.Base(r.provenance.Out); r.provenance.Out != "" && d != "." {
		kicker += " · " + d
	}
	return newPage("run", r.title(), kicker, r.version(), string(r.dir), v)
}

func (r *run) version() string {
	if r.summary != nil && r.summary.Version != "" {
		return r.summary.Version
	}
	return r.provenance.Version
}

// tolerance returns the largest violation that counts as feasible.
func (r *run) tolerance() float64 {
	t, err := strconv.ParseFloat(r.setting("feasibility-tolerance"), 64)
	if err != nil {
		return trainer.DefaultFeasibilityTolerance
	}
	return t
}

// status says in words how the run ended.
func (r *run) status() Status {
	if r.summary == nil {
		last := &r.records[len(r.records)-1]
		return Status{Kind: "open", Text: "Not finished", Lead: fmt.Sprintf("The directory has no summary.json: the run is still training, "+
			"or it was stopped before its end. The last record is of iteration %s.", rowCount(last.Iteration))}
	}
	s := endedStatus(r.summary, r.tolerance())
	s.Lead = sentence(s.Lead)
	return s
}

// Fact is a number at the head of the page.
type Fact struct{ Name, Value, Note string }

func (r *run) facts() (list []Fact) {
	s := r.summary
	if s == nil {
		last := &r.records[len(r.records)-1]
		return []Fact{{"objective", chart.Number(last.Objective), ""}, {"largest violation", chart.Number(last.MaxViolation), ""},
			{"iteration", rowCount(last.Iteration), ""}, {"training time", Duration(last.Seconds), ""}}
	}
	var rates []Fact
	for _, split := range results.Splits() { // the last one has the test rows
		if t := s.Rates[split]; t != nil {
			rates = rateFacts(t, split.Word()+" rows")
		}
	}
	if o := s.Outcome; o != nil && o.Objective.Name != "" && (rates == nil || o.Objective.Name != results.ErrorRate) {
		value, on := o.Objective.Test, "test rows"
		if value == nil {
			value, on = o.Objective.Validation, "validation rows"
		}
		if value == nil {
			value, on = o.Objective.Train, "training rows"
		}
		if value != nil {
			list = append(list, Fact{o.Objective.Name + ", minimised", Number(value), on})
		}
	}
	return append(list, rates...)
}

// figures returns the numbers of the training.
func (r *run) figures() (list []Fact) {
	s := r.summary
	if s == nil {
		return nil
	}
	if s.Certificate != nil {
		list = append(list, Fact{"smooth objective", chart.Number(s.Objective), "training rows"})
	}
	if s.Status != string(trainer.Failed) && s.Certificate != nil {
		list = append(list, Fact{"KKT epsilon", chart.Number(s.Certificate.Epsilon), map[bool]string{true: "converged", false: "not converged"}[s.Converged]})
	}
	list = append(list, Fact{"iterations", rowCount(s.Iterations), s.Status})
	if s.SecondsTotal > 0 {
		return append(list, Fact{"time", Duration(s.SecondsTotal), Duration(s.Seconds) + " of training"})
	}
	return append(list, Fact{"training time", Duration(s.Seconds), ""})
}

// Command is a command line with its purpose.
type Command struct{ Purpose, Line string }

// Words returns the words of the line; each stays in one line of the page if it fits.
func (c Command) Words() []string { return strings.Split(c.Line, " ") }

// reproduce returns the commands that repeat and use the run.
func (r *run) reproduce() []Command {
	dir := option.ShellWord(string(r.dir))
	var list []Command
	if r.own == nil && r.settings != nil {
		list = append(list, Command{"Repeat the run in a new directory", "ppal train --config " + option.ShellWord(r.dir.Config()) + " --out NEW"})
	}
	if r.summary == nil || r.summary.Status == string(trainer.Interrupted) {
		return append(list, Command{"Continue the run", "ppal train --resume " + dir})
	}
	if r.model == nil {
		return list
	}
	list = append(list, Command{"Check the run against its data", "ppal verify " + dir})
	if r.model.Input.Format != results.FormatMatrix {
		list = append(list, Command{"Score new rows", "ppal predict " + dir + " --input FILE"},
			Command{"Count decisions on new rows with labels", "ppal evaluate " + dir + " --input FILE"})
	}
	return append(list, Command{"Write this page again from the directory", "ppal report " + dir})
}
