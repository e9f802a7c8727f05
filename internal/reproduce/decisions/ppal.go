package decisions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// Own is the name of ppal among the contenders.
const Own = "ppal"

// checkEvery is the number of iterations between the checks that may end a round of ppal: the
// default of a run of session.DefaultIterations. The runs have no records between their start and
// their end, as the other contenders have none.
const checkEvery = session.DefaultIterations / 200

// train runs ppal on rows in memory. The time covers the whole session: from the rows to the
// certified model with its threshold, including the measures of all splits. train counts the
// decisions from the saved weights, and returns the outcome of the run.
func train(ctx context.Context, p Problem, rows *Rows, threads int, into *Fit) (*results.Outcome, error) {
	dir, err := os.MkdirTemp("", "ppal-decisions")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o := session.Options{
		Data: session.TablesAtHand{Tables: rows.Tables}, Task: p.statement(p.Data.Attribute),
		Device:   session.Device{Kind: session.CPU, Threads: threads},
		Settings: trainer.Settings{Seed: into.Split, RecordEvery: session.DefaultIterations, CheckEvery: checkEvery},
	}
	var features []matrix.Matrix
	if p.Scores {
		o.Data, features = rows.scored()
		o.Task, o.Model = p.statement(attribute), models.Scores{Columns: []string{"score"}, Thresholds: models.ByGroup}
	} else {
		for _, part := range rows.Tables.Parts() {
			features = append(features, part.Features)
		}
	}
	runtime.GC() // collect the garbage of loading the rows, which is not part of the training
	wall, cpu := time.Now(), cpuSeconds()
	s, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	result, err := s.Train(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Training.Status == trainer.Interrupted: // not a result
		return nil, context.Cause(ctx)
	}
	into.Seconds, into.CPU = time.Since(wall).Seconds(), cpuSeconds()-cpu
	run := filepath.Join(dir, "run")
	if err := s.Save(run); err != nil {
		return nil, err
	}
	accepted, err := decide(rundir.Dir(run).Model(), rows, features)
	if err != nil {
		return nil, fmt.Errorf("ppal on %s: %w", p.Data.Name, err)
	}
	into.Points = []Point{{Models: 1, Accepted: accepted}}
	return s.Summary().Outcome, nil
}

// statement states a problem in the language of constraints. attribute names its groups.
func (p Problem) statement(attribute string) session.Decisions {
	switch p.Kind {
	case demographicParity:
		return session.Decisions{SubjectTo: []constraints.Constraint{constraints.Gap(constraints.PositiveRate, attribute).AtMost(p.Bound)}}
	case equalizedOdds:
		return session.Decisions{SubjectTo: []constraints.Constraint{constraints.Gap(constraints.TPR, attribute).AtMost(p.Bound),
			constraints.Gap(constraints.FPR, attribute).AtMost(p.Bound)}}
	default:
		return session.Decisions{Minimize: constraints.FNR(), SubjectTo: []constraints.Constraint{constraints.FPR().AtMost(p.Bound)}}
	}
}

// decide counts the rows with a positive score of the saved model. features are those of the
// splits.
func decide(path string, rows *Rows, features []matrix.Matrix) (Counts, error) {
	var accepted Counts
	model, err := models.LoadFile(path, nil)
	if err != nil {
		return accepted, err
	}
	at := 0
	for _, m := range features {
		n, cols := m.Dims()
		block := make([]float64, n*cols)
		m.Float64(block, 0, n)
		scores, err := model.Predict(block)
		if err != nil {
			return accepted, err
		}
		for _, score := range scores {
			if score > 0 {
				accepted[rows.splits[at]][rows.groups[at]][rows.labels[at]]++
			}
			at++
		}
	}
	return accepted, nil
}
