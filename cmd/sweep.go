package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/internal/study"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// sweepFlags are the flags of sweep that train does not have.
type sweepFlags struct {
	json        bool // print the points instead of the table
	over        string
	values      []string
	out, config string
	set         []string
	allow       bool // --allow-violation
	strict      bool // --strict
	all         bool // --help-all
}

// sweepsItself lists the flags of train that a sweep replaces or does not support.
var sweepsItself = []string{"out", "explain", "log-format"}

func (a *app) sweepCommand() *cobra.Command {
	values := config.Values{}
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Train for several bounds of one constraint: the trade-off curve",
		Long: `Sweep trains a model for several bounds of one constraint, from the loosest to the tightest. Each run starts from the
weights and multipliers of the run before, and the data are read once. Sweep prints one table, and writes one picture
(plots/trade-off.svg), one line of JSON for each bound (sweep.jsonl) and the directory of each run. It accepts the flags of
train. The swept bounds replace a bound of the same measure in --subject-to; other constraints keep their bounds.

To continue an interrupted sweep, repeat the command with its --out. The exit status is 3 if no point meets its bounds, and
0 if one does: the table and sweep.jsonl say which points meet their bounds.`,
		Example: `  ppal sweep --over "gap(positive_rate, sex)" --values 0.2:0.005:8 --dataset adult
  ppal sweep --over "fpr" --values 0.1,0.05,0.01 --minimize fnr --dataset bank --out runs/bank-curve
  ppal sweep --over "fpr" --values 0.1,0.05 --config runs/20260101-120000-rates-alm/config.yaml
  ppal sweep --over "recall[shirt] >=" --values 0.5:0.95:6 --dataset fashion-mnist`,
		Args: noArguments,
		RunE: a.inProcesses(func(cmd *cobra.Command, _ []string) error {
			if f.all {
				return cmd.Help()
			}
			return a.sweep(cmd.Context(), values, f)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.over, "over", "", "vary the bound of this `MEASURE`, as in \"gap(positive_rate, sex)\" or \"recall[shirt] >=\" (required)")
	flags.StringSliceVar(&f.values, "values", nil, "train for these `BOUNDS`: FIRST:LAST:N, with equal ratios, or a list, as in 0.2,0.1,0.05 (required)")
	flags.StringVar(&f.out, "out", "", "write to this `DIR`; an interrupted sweep there is continued (default runs/<time>-sweep)")
	flags.BoolVar(&f.json, "json", false, "print the points, as in sweep.jsonl, instead of the table")
	markOwn(cmd, "Sweep")
	addSet(cmd, &f.set, "give the method a setting, as in plada.eta=0.1; may be repeated")
	addConfig(cmd, &f.config)
	addSettings(cmd, values, sweepsItself...)
	addAllowViolation(cmd, &f.allow, "every point")
	addStrict(cmd, &f.strict)
	addHelpAll(cmd, &f.all)
	cmd.SetUsageFunc(trainUsage)
	return cmd
}

// sweep runs the command.
func (a *app) sweep(ctx context.Context, values config.Values, f sweepFlags) error {
	s, cfg, err := a.newSweep(values, f)
	if err != nil {
		return err
	}
	dir := study.SweepDir(cmp.Or(f.out, filepath.Join("runs", a.now().Format("20060102-150405")+"-sweep")))
	setThreads(cfg)
	if !cfg.Quiet {
		s.Progress = a.sweepProgress
	}
	sums, err := a.dataSums(ctx, cfg)
	if err != nil {
		return config.NameFlags(err)
	}
	if s.Origin, err = origin(sums); err != nil {
		return err
	}
	points, err := s.Do(ctx, dir)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; %d of %d points are in %s: repeat the command with --out %s to continue", len(points), len(s.Values), dir, dir)
	}
	if err != nil {
		return config.NameFlags(err)
	}
	a.warnReport(string(dir), study.ReportSweep(dir))
	out := &failOnce{out: printing{a.stdout}}
	if f.json {
		out.err = printJSON(a.stdout, points)
	} else {
		printSweep(out, s, points)
		paragraph(out, "files", fmt.Sprintf("%s: report.html, sweep.jsonl, plots, and a directory for each run", dir))
	}
	if out.err != nil {
		return out.err
	}
	if !f.allow && !slices.ContainsFunc(points, func(p study.SweepPoint) bool { return report.Failing(p.Outcome, f.strict) == nil }) {
		advice := cmp.Or(unjudged(points), "use more --iterations or looser --values")
		return fmt.Errorf("%w of %s %s; %s; --allow-violation makes the exit status 0", errNoPoint, s.Over.Measure(), strings.Join(f.values, ","), advice)
	}
	return nil
}

// errNoPoint says that a sweep is finished, and that no point meets its bounds.
var errNoPoint = errors.New("finished, but no point meets all bounds: the sweep")

// unjudged says why a constraint of a point cannot be judged, and what to do; "" if there is none.
func unjudged(points []study.SweepPoint) string {
	for _, p := range points {
		for _, c := range report.Failing(p.Outcome, false) {
			if p.Outcome.Standing(&c).State == constraints.NotJudged {
				return c.Constraint + " cannot be judged: " + c.WhyUnjudged()
			}
		}
	}
	return ""
}

// newSweep returns the sweep that the flags describe, and the configuration of its runs.
func (a *app) newSweep(values config.Values, f sweepFlags) (*study.Sweep, config.Train, error) {
	refuse := func(flag, text string, err error) (*study.Sweep, config.Train, error) {
		problem := err.Error()
		if wrong := new(study.BoundsError); errors.As(err, &wrong) {
			problem = wrong.Problem
		}
		return nil, config.Train{}, &config.Error{Where: strings.TrimSpace("--"+flag+" "+text) + ":", Problem: problem}
	}
	if f.over == "" {
		return refuse("over", "", errors.New(`missing; give what is bounded, as in --over "gap(positive_rate, sex)"`))
	}
	if len(f.values) == 0 {
		return refuse("values", "", errors.New("missing; give the bounds, as in --values 0.2:0.005:8"))
	}
	over, err := study.ParseOver(f.over)
	if err != nil {
		return refuse("over", f.over, err)
	}
	text := strings.Join(f.values, ",")
	bounds, err := study.ParseBounds(text)
	if err != nil {
		return refuse("values", text, err)
	}
	file, err := readConfig(f.config)
	if err != nil {
		return nil, config.Train{}, err
	}
	// The configuration has the swept constraint as its last one, with the first bound.
	subject, explicit := values["subject-to"]
	if !explicit {
		subject = file.Value("subject-to")
	}
	given := maps.Clone(values)
	given["subject-to"] = strings.Join(append(without(option.SplitStatements(subject), over), over.WithBound(bounds[0]).String()), option.StatementSeparator)
	cfg, err := config.ResolveWith(given, f.set, file)
	if wrong := new(config.Error); errors.As(err, &wrong) && wrong.Flag == "subject-to" && subject == "" {
		return refuse("over", f.over, errors.New(wrong.Problem))
	}
	if err != nil {
		return nil, cfg, err
	}
	dataDir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
	if err != nil {
		return nil, cfg, err
	}
	settings, err := cfg.YAML(results.Provenance{})
	if err != nil {
		return nil, cfg, err
	}
	s := &study.Sweep{
		Title: fmt.Sprintf("%s on %s", cfg.Method.Name, results.DataName(cfg.Dataset, cfg.Table.File)), Over: over, Values: bounds, Open: a.open,
		Settings: []byte(fmt.Sprintf("# A sweep: the bound of the last constraint varies.\nover: %q\nvalues: %v\n---\n%s", over.Measure(), bounds, settings)),
		Options: func(bound float64) (session.Options, error) {
			o, err := cfg.SessionOptions(dataDir)
			if err != nil {
				return o, err
			}
			task, ok := o.Task.(*session.Decisions)
			if !ok {
				return o, &config.Error{Where: "--problem " + cfg.Data.Problem + ":", Problem: "has no constraints in words; give --minimize and --subject-to instead"}
			}
			own := *task
			own.SubjectTo = slices.Clip(own.SubjectTo[:len(own.SubjectTo)-1])
			o.Task = own
			a.writes(&o.Files)
			return o, nil
		},
	}
	return s, cfg, nil
}

// without returns the texts of constraints without bounds of the swept measure in the same sense.
func without(texts []string, over constraints.Constraint) []string {
	return slices.DeleteFunc(texts, func(text string) bool {
		c, err := constraints.Parse(text) // an error is reported with the settings
		return err == nil && c.Measure() == over.Measure() && c.IsAtLeast() == over.IsAtLeast()
	})
}

// sweepProgress prints a line at the end of each run.
func (a *app) sweepProgress(done, total int, p *study.SweepPoint) {
	c := p.Swept()
	fmt.Fprintf(printing{a.stderr}, "%d of %d: %s: %s on the training rows, %s %s, %s s\n",
		done, total, c.Constraint, c.Number(c.Train), p.Objective.Name, report.Number(p.Objective.Train), seconds(p.SecondsTotal))
}

// printSweep prints the table: for each bound a line for each split.
func printSweep(out io.Writer, s *study.Sweep, points []study.SweepPoint) {
	measure := s.Over.Measure().String()
	g := grid{{"bound", "rows", measure, points[0].Objective.Name, "slope", "met"}}
	slopes := slices.ContainsFunc(points, func(p study.SweepPoint) bool { return p.Slope != nil }) // thresholds on given scores have none
	missed := map[results.Rating][]string{}
	for k := range points {
		p := &points[k]
		c := p.Swept()
		bound, slope, state := c.Relation()+" "+fmt.Sprintf("%g", p.Bound), "", report.CellText(p.Outcome, c)
		if p.Slope != nil {
			slope = fmt.Sprintf("%.3g", *p.Slope+0)
		}
		missed[p.Rating()] = append(missed[p.Rating()], bound)
		measured, objective := report.NewRow(p.Outcome, c), report.ObjectiveRow(p.Outcome)
		for _, split := range results.Splits() {
			if measured.Of(split) == "" && objective.Of(split) == "" {
				continue
			}
			g = append(g, []string{bound, split.Word(), between(&measured, split), between(&objective, split), slope, state})
			bound, slope, state = "", "", ""
		}
	}
	if !slopes {
		for k := range g {
			g[k] = slices.Delete(g[k], 4, 5)
		}
	}
	g.print(out)
	fmt.Fprintln(out)
	objective := points[0].Objective.Name
	paragraph(out, "values", "The values are of counted decisions, with 95% intervals on held-out rows.")
	if slopes {
		paragraph(out, "slope", fmt.Sprintf("The change of the smooth %s for each unit by which the bound grows: the multiplier of the certificate.", objective))
	}
	for _, note := range []struct {
		rating results.Rating
		text   string
	}{
		{results.Unmet, "do not meet all bounds"},
		{results.TrainOnly, "meet all bounds on the training rows, at least to one row, and miss a bound on held-out rows"},
	} {
		if list := missed[note.rating]; list != nil {
			paragraph(out, "note", fmt.Sprintf("%d of %d points %s: %s.", len(list), len(points), note.text, strings.Join(list, ", ")))
		}
	}
}

// between returns a row's value on a split, with its interval in brackets.
func between(row *report.Row, split results.Split) string {
	text := row.Of(split)
	if i := row.IntervalOf(split); i != nil {
		text += " (" + report.Span(i) + ")"
	}
	return text
}

// dataSums returns the checksums of the files from which a run reads its data and its initial
// weights. Built-in data have no files. A missing file has no checksum; the run reports it.
func (a *app) dataSums(ctx context.Context, cfg config.Train) ([]results.DataFile, error) {
	dir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
	if err != nil {
		return nil, err
	}
	options := cfg.TableOptions()
	var own []string
	if d, err := datasets.Lookup(cfg.Dataset); err == nil && d.Own {
		own = options.OwnFiles()
	}
	report, err := datasets.Verify(ctx, dir, cfg.Dataset, own...)
	if err != nil {
		return nil, err
	}
	var sums []results.DataFile
	for _, f := range report.Files {
		sums = append(sums, results.DataFile{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if cfg.Session.Init == "" {
		return sums, nil
	}
	data, err := disk.ReadUpTo(cfg.Session.Init, disk.MostWeights)
	if err != nil {
		return sums, nil // the run reports the error
	}
	sum := rundir.NewSum()
	sum.Write(data)
	return append(sums, sum.File(cfg.Session.Init)), nil
}

// origin returns the part of sweep.yaml that names the version of the program and the data.
func origin(sums []results.DataFile) ([]byte, error) {
	text, err := yaml.Marshal(struct {
		Version string             `yaml:"version"`
		Data    []results.DataFile `yaml:"data,omitempty"`
	}{version(), sums})
	if err != nil {
		return nil, fmt.Errorf("sweep.yaml: %w", err)
	}
	return append([]byte("---\n"), text...), nil
}
