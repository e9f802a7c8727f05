package session

import (
	"context"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/results"
)

// Inputs are the data and the statement of a run, without a device and without a graph. A program
// that checks a run evaluates the statement by its own formulas.
type Inputs struct {
	Parts         []Part              // the training rows first
	Model         models.Architecture // sized
	Normalization models.Normalization
	// Center is subtracted from the features before the first layer: c/s of Normalization; nil: no
	// centring.
	Center      []float64
	Regularizer problem.Regularizer
	Constraints []Constraint // names and bounds of g_1..g_m
	Naming      Naming       // the measures that the task names
	// Objective replaces the objective of the system; nil: no objective of the program's own.
	Objective Objective
	System    *constraints.System // states the objective and the constraints
	// Nodes is the statement whose nodes are the objective and the constraints. System then has the
	// rates for which the nodes stand. nil: System states all.
	Nodes    *Statement
	BoundsOn constraints.BoundsOn
	// Confidence is the probability with which the bounds on decisions hold on new rows; 0: the run
	// promises nothing.
	Confidence float64
	// Tolerance is the largest violation of a feasible record.
	Tolerance float64
	// CollapseAbove is the objective of equal scores; 0: not known.
	CollapseAbove float64
	Float32       bool // the run computes in float32
	Data          []results.DataFile
	// Settings are the limits of the training.
	Settings trainer.Settings
	// Preparation is the content of preparation.yaml, and Members the splits of the rows in rows.csv;
	// nil: the run has no such file.
	Preparation *results.Preparation
	Members     []results.Members
	// Warnings and Notes are about the settings, the data and the statement: a run with the same
	// settings has them, too.
	Warnings, Notes []string

	// Version is that of this program, in the options.
	Version string
	// Provenance has what the data and the statement decide: classes, groups, features, normalization,
	// bounds and constraints.
	Provenance results.Provenance

	description Description
}

// GivenUp reports whether the model of a record with the given objective no longer decides for the
// class of the objective. Such a record does not count as feasible.
func (in *Inputs) GivenUp(objective float64) bool {
	return trainer.Settings{CollapseAbove: in.CollapseAbove}.GivenUp(objective)
}

// Outputs returns the number of scores of a row.
func (in *Inputs) Outputs() int {
	_, outputs := in.Model.Dims()
	return outputs
}

// ModelFile returns the content of model.json that a run of the given version of the program with
// the outcome writes, without the name of rows.csv and the checksums.
func (in *Inputs) ModelFile(version string, o *results.Outcome) results.Model {
	d := in.description
	d.Version = version
	return d.modelFile(o)
}

// Part holds the rows of a split.
type Part struct {
	Name     results.Split
	Features matrix.Matrix // as trained, before Inputs.Center is subtracted
	Rows     Rows
	Classes  []int               // the class of each row, an index into Rows.Classes
	Groups   []results.Group     // the groups of the reported rates
	Sample   *constraints.Sample // Inputs.System on the rows
	// Population describes the rows for constraints in words.
	Population *constraints.Population
}

// ReadInputs reads the rows of a run and states its task. It opens no device. The errors are those
// of New.
func ReadInputs(ctx context.Context, o Options) (*Inputs, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	// float64 keeps the rows in the form of the source: devices pack rows for float32 only
	if err := o.checkScores(); err != nil {
		return nil, err
	}
	on := o.request(&build.Devices{}, tensor.Float64)
	on.Batches = false
	l, err := loadRows(ctx, o.Data, on)
	if err != nil {
		return nil, err
	}
	a := &assembly{options: o, devices: &build.Devices{}}
	a.take(l)
	b, err := a.newBuilder(l.Splits[0].Rows)
	if err != nil {
		return nil, err
	}
	a.builder = b
	train := l.Splits[0]
	o.setIterations((train.Len()+max(1, o.BatchSize)-1)/max(1, o.BatchSize), max(1, train.Copies))
	if a.scored, err = a.scoresOf(); err != nil {
		return nil, err
	}
	in := &Inputs{
		Model: b.Model, Normalization: l.Normalization, Center: l.Center, Regularizer: b.Regularizer,
		Constraints: b.statement.Constraints, Naming: b.statement.naming, System: b.statement.system, BoundsOn: b.statement.boundsOn,
		Tolerance: o.feasibilityTolerance(), CollapseAbove: b.statement.CollapseAbove, Float32: o.Device.dtype() == tensor.Float32, Data: l.Description.Data,
	}
	if in.Objective = b.statement.objective; b.statement.Decided != nil {
		in.Nodes = b.statement
	}
	in.Settings, in.Version, in.description = o.Settings, o.Files.Version, a.stated()
	in.Settings.TimeLimit = o.TimeLimit
	in.Warnings, in.Notes = concat(l.Description.Warnings, b.statement.Warnings), slices.Clone(l.Description.Notes)
	in.Members, in.Provenance = in.description.Members, in.description.Provenance
	in.Provenance.Constraints = in.description.Bounded
	if d := in.description; d.Preparation != nil {
		in.Preparation = &results.Preparation{Features: d.FeatureNames, Preparation: *d.Preparation}
	}
	if in.Confidence = b.statement.confidence; in.System == nil {
		return nil, fmt.Errorf("session: %w: the task is the program's own, and only the program can evaluate it", ErrOptions)
	}
	for _, s := range l.Splits {
		p := Part{Name: s.Name, Features: s.Data, Rows: rowsOf(s.Rows)}
		if p.Classes, err = p.Rows.indices(); err != nil {
			return nil, err
		}
		if p.Sample, err = p.Rows.sample(in.System); err != nil {
			return nil, fmt.Errorf("session: %s rows: %w", s.Name, err)
		}
		if p.Population, err = p.Rows.population(); err != nil {
			return nil, err
		}
		if !in.System.OfPairs() { // pairs have no rates of rows
			if p.Groups, err = s.RateGroups(p.Sample); err != nil {
				return nil, err
			}
		}
		in.Parts = append(in.Parts, p)
	}
	return in, nil
}
