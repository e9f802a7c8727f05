package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/internal/study"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

const (
	nameWeight = "regularizer-weight"
	automatic  = "auto"
)

// weights are the weights of --regularizer-weight auto, from the default on. Larger weights need
// fewer gradients.
var weights = []string{option.Float(session.DefaultRidge), "0.0001", "0.001", "0.003", "0.01", "0.03", "0.1", "1"}

// A run chooses the weight by default if a linear model has fewer than crowded training rows for
// each weight, and at least leastJudges validation rows judge. docs/evidence/tables.md has the
// measurements.
const (
	crowded       = 20
	leastJudges   = 100
	defaultReason = "there are fewer than 20 training rows for each weight: the validation rows choose --regularizer-weight; a number for the flag prevents the choice"
)

const (
	mostChoices = 100 // candidates of --choose
	// smallWork is the work that the weights after the first may always take, in products of a
	// feature and a weight: some tenths of a second.
	smallWork = 1_000_000_000
)

// choosing holds the request of --choose, --folds and --regularizer-weight auto.
type choosing struct {
	values config.Values
	flags  trainFlags
	file   *config.File
	cfg    config.Train
	dir    string // directory of the data sets

	points []config.Values          // the settings of each candidate
	amend  func(o *session.Options) // sets options that the configuration does not have
}

// given reports whether a flag or the file of --config gives the setting.
func (c *choosing) given(name string) bool { return c.values[name] != "" || c.file.Value(name) != "" }

// asks reports whether the user asks for a choice.
func (c *choosing) asks() bool {
	return c.flags.choose != "" || c.flags.folds != 0 || c.weightOpen() && c.given(nameWeight)
}

// weightOpen reports whether the weight of the regularizer is to be chosen.
func (c *choosing) weightOpen() bool { return c.cfg.Text(nameWeight) == automatic }

// mayChoose reports whether the run may choose the weight by default, before its rows are known.
func (c *choosing) mayChoose() bool {
	task, decisions := c.cfg.Task.(*session.Decisions)
	_, table := c.cfg.Source(c.dir).(session.Table)
	return decisions && table && task.Confidence == 0 && !c.given(nameWeight) && c.flags.resume == "" && !c.flags.oracle && c.cfg.Regularizer.Kind == problem.SquaredL2 &&
		c.cfg.Text("model") == models.KindLinear && c.cfg.Session.TimeLimit == 0 && c.cfg.Table.Query == ""
}

// choosesByDefault reports whether the numbers of rows of a session meet the conditions of the
// default choice.
func choosesByDefault(d session.Description) bool {
	return d.Rows.Validation >= leastJudges && d.Rows.Train < crowded*d.Parameters
}

// refuse returns the error for a flag.
func (c *choosing) refuse(flag, format string, args ...any) error {
	return &config.Error{Where: "--" + flag + ":", Problem: fmt.Sprintf(format, args...)}
}

// prepare makes the candidates. The error is a *config.Error if the settings do not permit a
// choice.
func (c *choosing) prepare() error {
	flag := "choose"
	if c.flags.choose == "" {
		if flag = "folds"; c.flags.folds == 0 {
			flag = nameWeight + " " + automatic
		}
	}
	task, decisions := c.cfg.Task.(*session.Decisions)
	_, table := c.cfg.Source(c.dir).(session.Table)
	switch {
	case c.flags.resume != "":
		return c.refuse(flag, "a resumed run keeps its settings (--resume %s); leave this flag out", c.flags.resume)
	case !decisions || c.cfg.Text("model") == models.KindScores:
		return c.refuse(flag, "needs a model that is trained on counted decisions (--subject-to, or a table without bounds)")
	case c.flags.folds < 0 || c.flags.folds == 1:
		return c.refuse("folds", "want at least 2 parts of the training rows; 0: no folds")
	case c.flags.oracle:
		return c.refuse(flag, "trains several models, and --oracle serves one model; leave --oracle out")
	case c.cfg.Session.TimeLimit > 0:
		return c.refuse(flag, "trains several models, and --time-limit limits one training; use --iterations")
	case c.flags.folds > 0 && !table || c.flags.folds > 0 && c.cfg.Table.Query != "":
		return c.refuse("folds", "works for tables without --query only; leave --folds out")
	case c.flags.folds == 0 && task.Confidence > 0:
		return c.refuse(flag, "the validation rows of --confidence must not choose settings; add --folds 5, which divides the training rows")
	}
	c.points = []config.Values{{}}
	settings := option.SplitStatements(c.flags.choose)
	if c.weightOpen() && !slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, nameWeight) }) {
		settings = append(settings, nameWeight+"="+automatic)
	}
	for _, s := range settings {
		if err := c.cross(s); err != nil {
			return err
		}
	}
	for _, p := range c.points {
		if _, err := c.resolve(p); err != nil {
			return err
		}
	}
	return nil
}

// cross replaces the points by their product with the values of a setting, such as
// hidden=0,16,64x32.
func (c *choosing) cross(text string) error {
	name, list, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	k := slices.IndexFunc(config.Keys(), func(k *config.Key) bool { return k.Name == name })
	switch {
	case !found || strings.TrimSpace(list) == "":
		return c.refuse("choose", "%q: want NAME=VALUE,VALUE", text)
	case k < 0:
		return config.Unknown(name, "ppal train")
	case !config.Keys()[k].Chosen():
		return c.refuse("choose", "%s changes the rows, the problem or the output; choose settings of the model, the method or the regularizer", name)
	case slices.ContainsFunc(c.points, func(p config.Values) bool { return p[name] != "" }):
		return c.refuse("choose", "%s is given twice", name)
	}
	var values []string
	for v := range strings.SplitSeq(list, ",") {
		if v = strings.TrimSpace(v); name == nameWeight && v == automatic {
			values = append(values, weights...)
		} else {
			values = append(values, v)
		}
	}
	if len(c.points)*len(values) > mostChoices {
		return c.refuse("choose", "makes more than %d trainings; give fewer values", mostChoices)
	}
	var crossed []config.Values
	for _, p := range c.points {
		for _, v := range values {
			next := maps.Clone(p)
			next[name] = v
			crossed = append(crossed, next)
		}
	}
	c.points = crossed
	return nil
}

// resolve returns the configuration with the settings of a candidate. The network hidden=0 is the
// linear model, and hidden=64x32 has two layers.
func (c *choosing) resolve(point config.Values) (config.Train, error) {
	values := maps.Clone(c.values)
	maps.Copy(values, point)
	if hidden, ok := point["hidden"]; ok && hidden == "0" {
		delete(values, "hidden")
		values["model"] = models.KindLinear
	} else if ok {
		values["hidden"] = strings.ReplaceAll(hidden, "x", ",")
		if !c.given("model") {
			values["model"] = "mlp"
		}
	}
	return config.ResolveWith(values, c.flags.set, c.file)
}

// candidates returns the names of the candidates, and for each whether it follows the previous one:
// whether the two differ only in the weight of the regularizer.
func (c *choosing) candidates() (names []string, follows []bool) {
	for k, p := range c.points {
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(p)) {
			texts = append(texts, name+" "+p[name])
		}
		if texts == nil {
			texts = []string{"the settings"}
		}
		names = append(names, strings.Join(texts, ", "))
		same := k > 0 && p[nameWeight] != ""
		for name, text := range p {
			same = same && (name == nameWeight || c.points[k-1][name] == text)
		}
		follows = append(follows, same)
	}
	return names, follows
}

// choose trains the candidates. It returns the configuration of the best candidate, and the tried
// candidates.
func (a *app) choose(ctx context.Context, c *choosing, report reporter, rows session.Source) (config.Train, []study.Tried, error) {
	names, follows := c.candidates()
	atFold := 0
	choice := &study.Choice{Candidates: names, Follows: follows, Folds: c.flags.folds,
		Options: func(k, fold int) (session.Options, error) {
			cfg, err := c.resolve(c.points[k])
			if err != nil {
				return session.Options{}, err
			}
			o, err := cfg.SessionOptions(c.dir)
			if err != nil {
				return o, err
			}
			if fold != atFold {
				table := o.Data.(session.Table)
				table.Folds, table.Held = c.flags.folds, fold
				rows, atFold = session.Cached(table), fold
			}
			o.Data = rows
			return o, nil
		},
		Progress: func(done, total int, t *study.Tried) {
			report.info(fmt.Sprintf("%d of at most %d trainings to choose: %s: %s %.4f", done, total, t.Settings, t.Objective, t.Value))
		}}
	choice.Train = func(ctx context.Context, o session.Options) (*session.Result, error) {
		s, err := a.open(ctx, o)
		if err != nil {
			return nil, err
		}
		d := s.Describe()
		choice.Least = smallWork / max(1, d.Rows.Train*d.Parameters)
		result, err := s.Train(ctx)
		return result, cmp.Or(err, s.Close())
	}
	tried, err := choice.Do(ctx)
	if errors.Is(err, study.ErrNoRows) && c.flags.choose == "" {
		cfg, err := c.resolve(config.Values{nameWeight: weights[0]})
		report.info(fmt.Sprintf("no validation rows can choose --%s, so it is %s, the default (--split 70/15/15 makes validation rows; --folds 5 needs none)", nameWeight, weights[0]))
		return cfg, nil, err
	}
	if errors.Is(err, study.ErrNoRows) {
		err = c.refuse("choose", "needs validation rows: make some with --split 70/15/15, or add --folds 5")
	}
	if err != nil {
		return c.cfg, nil, err
	}
	at := slices.IndexFunc(tried, func(t study.Tried) bool { return t.Chosen })
	chosen := slices.Index(names, tried[at].Settings)
	tried[at].Advice = c.beyond(chosen, len(tried) > at+1 && tried[at+1].Warm, follows)
	cfg, err := c.resolve(c.points[chosen])
	return cfg, tried, err
}

// beyond returns advice if the chosen candidate is the last that was tried of several weights, so
// that a weight after it may be better; "": later says that one after it was tried.
func (c *choosing) beyond(chosen int, later bool, follows []bool) string {
	end := chosen + 1
	for end < len(follows) && follows[end] {
		end++
	}
	if later || end == chosen+1 && !follows[chosen] {
		return ""
	}
	var left []string
	for _, p := range c.points[chosen:end] {
		left = append(left, p[nameWeight])
	}
	if end > chosen+1 {
		return fmt.Sprintf("The best weight, %s, is the last that the gradients of the choice allowed, and a later one may be better: try --choose %s=%s.",
			left[0], nameWeight, strings.Join(left, ","))
	}
	return fmt.Sprintf("The best weight, %s, is the last of the list, and one beyond it may be better: try --choose %s=%s,... with weights beyond it.",
		left[0], nameWeight, left[0])
}

// chosenNotes adds the choice to the options, for the page and config.yaml.
func (c *choosing) chosenNotes(o *session.Options, tried []study.Tried) {
	o.Files.Notes = append(o.Files.Notes, study.WhyChosen(tried)+".")
	if at := slices.IndexFunc(tried, func(t study.Tried) bool { return t.Advice != "" }); at >= 0 {
		o.Files.Notes = append(o.Files.Notes, tried[at].Advice)
	}
	names, _ := c.candidates()
	for name := range c.points[0] {
		var values []string
		for k, p := range c.points {
			if !slices.Contains(values, p[name]) && slices.ContainsFunc(tried, func(t study.Tried) bool { return t.Settings == names[k] }) {
				values = append(values, p[name])
			}
		}
		o.Files.Settings = append(o.Files.Settings, session.Setting{Name: name, Note: "chosen among " + strings.Join(values, ", ")})
	}
}

// writeChoice writes the tried candidates to choice.jsonl in the directory of the run.
func writeChoice(dir string, tried []study.Tried) error {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for k := range tried {
		if err := lines.Encode(&tried[k]); err != nil {
			return err
		}
	}
	return rundir.WriteFile(rundir.Dir(dir).Choice(), out.Bytes())
}

// readChoice returns the candidates that a run tried; nil if the run did not choose.
func readChoice(dir string) (tried []study.Tried, err error) {
	err = study.ReadJournal(rundir.Dir(dir).Choice(), func(t study.Tried) error {
		tried = append(tried, t)
		return nil
	})
	return tried, err
}

// printChoice prints the tried candidates with their values on the rows that judged, and whether
// one of them was better than the run.
func printChoice(out io.Writer, tried []study.Tried, run *results.Outcome) {
	g := grid{{"settings tried", tried[0].Objective}}
	for _, b := range tried[0].Bounds {
		g[0] = append(g[0], b.Constraint)
	}
	g[0] = append(g[0], "")
	value := func(x, spread float64) string {
		if spread > 0 {
			return fmt.Sprintf("%.4f ± %.4f", x, spread)
		}
		return fmt.Sprintf("%.4f", x)
	}
	gradients := 0
	for k := range tried {
		t := &tried[k]
		gradients += t.Gradients
		row := []string{t.Settings, value(t.Value, t.Spread)}
		for _, b := range t.Bounds {
			cell := "" // no row that judges
			if b.Value != nil {
				cell = value(*b.Value, b.Spread)
			}
			row = append(row, cell)
		}
		state := ""
		switch {
		case t.Unmet > 0:
			state = "a bound is not met in training"
		case t.Beyond() > 0:
			state = "an interval is beyond its bound"
		}
		if t.Chosen {
			state = strings.TrimSuffix("chosen; "+state, "; ")
		}
		g = append(g, append(row, state))
	}
	fmt.Fprintln(out)
	g.without().print(out)
	fmt.Fprintf(out, "The values are of the tries, which took %s. The run trains anew with the chosen\nsettings; its time leaves out the tries.\n",
		option.Counted(gradients, "gradient"))
	for k := range tried {
		if tried[k].Advice != "" {
			fmt.Fprintln(out, tried[k].Advice)
		}
	}
	if better := study.BetterTried(tried, run); better != nil {
		what := "On the validation rows, the run is worse than the try with " + better.Settings
		if len(run.Unmet()) > better.Unmet {
			what = "The run misses bounds on the training rows that the try with " + better.Settings + " met"
		}
		fmt.Fprintf(out, "%s:\nrun with these settings to get that model.\n", what)
	}
}
