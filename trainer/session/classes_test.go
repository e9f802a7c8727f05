package session

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// garden writes a table of three species, which two numbers separate in part. Some places are
// missing.
func garden(t *testing.T, rows int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString("petal,leaf,place,species\n")
	for range rows {
		k := r.IntN(3)
		place := []string{"north", "south", ""}[min(2, r.IntN(21)/10)]
		fmt.Fprintf(&text, "%.3f,%.3f,%s,%s\n", float64(k%2)*1.5+r.NormFloat64(), float64(k/2)*1.5+r.NormFloat64(), place, []string{"rose", "iris", "lily"}[k])
	}
	file := filepath.Join(t.TempDir(), "garden.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	return file
}

// ofGarden returns the source of the table.
func ofGarden(file string) Table {
	source := CSV(file, "species")
	source.Missing = tabular.MissingImputed
	return source
}

// Bounds on the decisions of three classes of a table hold on the training rows, for linear models
// and networks. The predictions of the saved run give the reported values, and its probabilities
// are calibrated.
func TestClassesOfTable(t *testing.T) {
	notUnderRace(t)
	file := garden(t, 900)
	for name, tc := range map[string]struct {
		task   Task
		hidden []int
		task0  string // the task in model.json
	}{
		"linear":                      {Decisions{SubjectTo: subject(t, "error[lily] <= 0.1", "gap(tpr[rose], place) <= 0.05", "fpr[iris] <= 20%")}, nil, NameRates},
		"a network":                   {Decisions{Minimize: constraints.Error("iris"), SubjectTo: subject(t, "recall[rose] >= 0.7", "precision[lily] >= 0.5")}, []int{6}, NameRates},
		"Neyman-Pearson on decisions": {NeymanPearson{Kappa: []float64{0.3, 0.4}, BoundsOn: constraints.OnDecisions}, nil, NameNeymanPearson},
	} {
		t.Run(name, func(t *testing.T) {
			o := onTable(tc.task, ofGarden(file), func(o *Options) { o.Model = &models.Spec{Hidden: tc.hidden, Activation: models.Tanh} })
			o.Settings.Iterations = 400
			s, _, r := decideOn(t, o)
			for _, c := range r.Outcome.Constraints {
				if !c.Met {
					t.Errorf("%s is %v", c.Constraint, *c.Train)
				}
			}
			if e := *r.Outcome.Objective.Train; e > 0.45 {
				t.Errorf("the objective is %v", e)
			}
			dir := filepath.Join(t.TempDir(), "run")
			require.NoError(t, s.Save(dir))
			checkSavedClasses(t, dir, file, r)
			if d := s.Describe(); d.Task != tc.task0 || d.Model.Task != tc.task0 || d.Model.Decision.Rule != results.RuleLargest {
				t.Errorf("task %s, model %+v", d.Task, d.Model)
			}
		})
	}
}

// checkSavedClasses compares the predictions of a run with its result.
func checkSavedClasses(t *testing.T, dir, file string, r *Result) {
	t.Helper()
	m, err := predictor.Load(dir)
	require.NoError(t, err)
	if !slices.Equal(m.Classes(), []string{"iris", "lily", "rose"}) || !slices.Equal(m.Description().Decision.Label.Several, m.Classes()) {
		t.Errorf("classes %q, label %+v", m.Classes(), m.Description().Decision.Label)
	}
	members, err := rundir.Dir(dir).ReadRows(m.Description().Rows)
	require.NoError(t, err)
	split := map[int]results.Split{}
	for _, row := range members {
		split[row.Number] = row.Split
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")[1:]
	wrong, all, mean, count := map[results.Split]int{}, map[results.Split]int{}, make([]float64, 3), make([]float64, 3)
	err = m.Read(bytes.NewReader(text), file, predictor.Options{}, func(b *predictor.Batch) error {
		for i, d := range b.Decisions {
			species, part := lines[b.First+i][strings.LastIndexByte(lines[b.First+i], ',')+1:], split[b.First+i+1]
			all[part]++
			if species != m.Classes()[d] {
				wrong[part]++
			}
			p, ok := m.Probabilities(b.Scores[3*i:][:3])
			if sum := p[0] + p[1] + p[2]; !ok || math.Abs(sum-1) > 1e-12 {
				return fmt.Errorf("probabilities %v, %v", p, ok)
			}
			if part == results.Validation {
				for k := range p {
					mean[k] += p[k]
				}
				count[slices.Index(m.Classes(), species)]++
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, s := range r.Splits {
		if got, want := float64(wrong[s.Name])/float64(all[s.Name]), s.Rates.Overall["error"].Value; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: the error of the predictions is %v, the run's %v", s.Name, got, want)
		}
	}
	for k := range mean { // the targets are not quite 0 and 1
		if math.Abs(mean[k]-count[k]) > 2 {
			t.Errorf("class %d: %v rows by the probabilities, %v rows", k, mean[k], count[k])
		}
	}
}

// The published problem on a table bounds the losses of classes. Two classes that the user names
// have one score each. Bounds on surrogates of a Decisions task work too.
func TestClassesOnSurrogates(t *testing.T) {
	require.NoRace(t, "TestDecisionsTrain runs the same goroutines")
	file := garden(t, 600)
	two := ofGarden(file)
	two.Classes = []string{"rose", "lily"}
	for name, tc := range map[string]struct {
		source Table
		task   Task
		first  string
		scores int
	}{
		"three classes": {ofGarden(file), NeymanPearson{Kappa: []float64{0.6}}, "error[iris]", 3},
		"two classes":   {two, NeymanPearson{Kappa: []float64{0.3}}, "error[rose]", 2},
		"rates":         {ofGarden(file), Decisions{BoundsOn: constraints.OnSurrogate, SubjectTo: subject(t, "error[lily] <= 0.2")}, "error", 3},
	} {
		t.Run(name, func(t *testing.T) {
			o := onTable(tc.task, tc.source, func(o *Options) { o.Model = &models.Spec{} })
			o.Settings.Iterations = 300
			s, a, r := decideOn(t, o)
			for _, c := range r.Outcome.Constraints {
				if c.SurrogateMet == nil || !*c.SurrogateMet || *c.Train > 0.6 {
					t.Errorf("%+v", c)
				}
			}
			if r.Outcome.Objective.Name != tc.first || a.builder.Outputs() != tc.scores || r.Outcome.Probabilities == nil {
				t.Errorf("%s, %d scores, %+v", r.Outcome.Objective.Name, a.builder.Outputs(), r.Outcome.Probabilities)
			}
			dir := filepath.Join(t.TempDir(), "run")
			require.NoError(t, s.Save(dir))
			m := require.Value(predictor.Load(dir))(t)
			text := require.Value(os.ReadFile(file))(t)
			// rows of classes that the run leaves out are left out of the evaluation, too
			e := require.Value(m.Evaluate(bytes.NewReader(text), file, predictor.EvaluateOptions{By: []string{"place"}}))(t)
			want := 0
			for _, class := range m.Classes() {
				want += strings.Count(string(text), ","+class+"\n")
			}
			if e.Rows != want || len(e.Confusion) != tc.scores || len(e.Rates.ByGroup) != 2 {
				t.Errorf("%d rows, want %d; %+v", e.Rows, want, e)
			}
		})
	}
}

// Problems with the classes of a table are one line each.
func TestClassesErrors(t *testing.T) {
	file := garden(t, 120)
	text := require.Value(os.ReadFile(file))(t)
	rare := filepath.Join(t.TempDir(), "rare.csv")
	require.NoError(t, os.WriteFile(rare, []byte(strings.ReplaceAll(string(text), "species\n", "species\n0,0,north,oak\n")), 0o644))
	grouped := ofGarden(file)
	grouped.Groups, grouped.Missing = []string{"place=north"}, tabular.MissingFlagged
	oneSplit := ofGarden(rare)
	for name, tc := range map[string]struct {
		source Table
		task   Task
		says   string
	}{
		"demographic parity": {grouped, DemographicParity{}, "label gives 3 classes, and --problem dp is about two: name the positive class, as in --label COLUMN=iris, " +
			`or bound rates of classes, as in --subject-to "gap(tpr[iris], COLUMN) <= 0.05"`},
		"odds on decisions": {grouped, EqualizedOdds{BoundsOn: constraints.OnDecisions}, "label gives 3 classes, and --problem eo is about two"},
		"groups":            {grouped, Intersectional{}, "label gives 3 classes, and --problem if is about two"},
		"bounds":            {ofGarden(file), NeymanPearson{Kappa: []float64{1, 2, 3}}, "kappa has 3 values; give one, or 2, one for each constraint"},
		"no class":          {ofGarden(file), Decisions{SubjectTo: subject(t, "fpr <= 0.1")}, "fpr needs a class, because there are 3 classes; write fpr[iris]"},
		"misspelt":          {ofGarden(file), Decisions{SubjectTo: subject(t, "error[lilly] <= 0.1")}, `there is no class or group "lilly"; did you mean lily?`},
	} {
		_, err := try(t, onTable(tc.task, tc.source, nil))
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, tc.says)
		}
	}
	// a class with one row is in one split at most: the rates of decisions leave it out elsewhere
	found := map[string]bool{}
	for share := range 10 { // the place of the class's row depends on the percentages
		oneSplit.Split = tabular.Split{Train: 50 + share, Validation: 50 - share}
		_, err := try(t, onTable(Decisions{SubjectTo: subject(t, "error[lily] <= 0.5")}, oneSplit, nil))
		var refused *OptionError
		_, published := try(t, onTable(NeymanPearson{}, oneSplit, nil))
		switch {
		case err != nil:
			found["train"] = true
			if !errors.Is(err, dataerr.ErrEmpty) || !strings.Contains(err.Error(), "no rows of class oak (1 in the file) among the training rows; leave out such classes (--classes iris,lily,rose)") {
				t.Error(err)
			}
		case !errors.As(published, &refused) || refused.Option != "split" || !strings.Contains(refused.Problem, "leaves no rows of class oak"):
			t.Error(published)
		default:
			found["held out"] = true
		}
	}
	if len(found) != 2 {
		t.Errorf("the splits show %v", found)
	}
}
