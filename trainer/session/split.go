package session

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/session/results"
)

// split is a part of the rows. The problem computes the scores of the training rows, blocks the
// scores of all other rows.
type split struct {
	*load.Split
	problem *graph.Problem      // nil except for the training rows
	blocks  *build.Blocks       // nil for the training rows
	exact   *build.Blocks       // blocks in float64; nil before exactBlocks
	head    *graph.Problem      // the task on the scores in float64; nil before exact
	sample  *constraints.Sample // the constraints of a Decisions task; nil before sampleOf
	measure func(scores []float64) (Measures, error)
	last    Measures        // measures of the last record
	scores  []float64       // scores of the last record
	seen    uint64          // their checksum, after the records
	fetch   ranks.Procedure // writes the features of a row of any process to buffer; nil: all rows are here
	buffer  []float64
}

// validation returns the split of the validation rows, or nil.
func (a *assembly) validation() *split {
	for _, s := range a.splits {
		if s.Name == results.Validation {
			return s
		}
	}
	return nil
}

// divide sets the split's fetch if other processes have the features of some rows.
func (s *split) divide(d *build.Devices) {
	part, ok := s.Data.(interface {
		matrix.Matrix
		Has(i int) bool
	})
	if !ok {
		return
	}
	s.fetch = d.Team.Register(func(message []byte) error {
		i := int(ranks.Numbers[float64](message)[0])
		if d.Team.Rank() > 0 {
			s.buffer = make([]float64, s.Features())
		}
		if clear(s.buffer); part.Has(i) {
			part.Float64(s.buffer, i, i+1)
		}
		return d.Team.Sum(s.buffer)
	})
}

// readRow writes the features of row i.
func (s *split) readRow(features []float64, i int) error {
	if s.fetch == nil {
		s.Data.Float64(features, i, i+1)
		return nil
	}
	s.buffer = features
	return s.fetch(ranks.Bytes([]float64{float64(i)}))
}

// pixels returns the 8-bit values of row i, which another process may have.
func (s *split) pixels(i int) ([]uint8, error) {
	data, bytes := s.Data.(matrix.EightBit), make([]uint8, s.Features())
	if s.fetch == nil {
		return data.ByteRow(i, bytes), nil
	}
	row := make([]float64, len(bytes))
	if err := s.readRow(row, i); err != nil {
		return nil, err
	}
	for j, v := range row {
		bytes[j] = uint8(math.Round(v / data.ByteScale()))
	}
	return bytes, nil
}

// decided returns the decisions of scores on the split; nil if the scores of a task of the caller's
// own are neither a single score for two classes nor a score for each class.
func (s *split) decided(scores []float64) (*measure.Decided, error) {
	labels, err := rowsOf(s.Rows).indices()
	if err != nil {
		return nil, err
	}
	d := measure.Decide(s.Name, classNames(s.Classes), labels, scores)
	if d != nil {
		d.Weights = s.Weights
	}
	return d, nil
}

// classNames returns the names of the classes.
func classNames(classes []load.Class) []string {
	names := make([]string, len(classes))
	for k, c := range classes {
		names[k] = c.Name
	}
	return names
}

// rowsOf returns the labels, classes and groups for a task.
func rowsOf(r load.Rows) Rows {
	classes := make([]Class, len(r.Classes))
	for k, c := range r.Classes {
		classes[k] = Class(c)
	}
	return Rows{Labels: r.Labels, Classes: classes, Groups: r.Groups, Attributes: r.Attributes, Earlier: r.Earlier, Weights: r.Weights, Queries: r.Queries, Tabular: r.Tabular}
}

// pair returns an error unless the rows have two groups and every row is in exactly one group.
func (r Rows) pair() error {
	t := tabular.Table{Labels: r.Labels}
	for _, g := range r.Groups {
		t.Groups = append(t.Groups, tabular.Group{Name: g.Name, Rows: g.Rows})
	}
	_, _, err := t.Partition()
	return err
}

// twoClasses returns an error for a task about two classes if the rows have more.
func (r Rows) twoClasses(task string) error {
	if len(r.Classes) == 2 {
		return nil
	}
	return &OptionError{Option: "label", Problem: fmt.Sprintf("gives %d classes, and --problem %s is about two: name the positive class, as in "+
		"--label COLUMN=%s, or bound rates of classes, as in --subject-to \"gap(tpr[%[3]s], COLUMN) <= 0.05\"", len(r.Classes), task, r.Classes[0].Name)}
}

// groupNames returns the names of the groups.
func (r Rows) groupNames() []string {
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Name)
	}
	return names
}

// attribute returns the attribute whose values are the groups, and these values. Groups that
// overlap have the attribute constraints.GroupsName.
func (r Rows) attribute() (name string, values []string) {
	if a, ok := load.OfGroups(r.Groups, len(r.Labels)); ok {
		return a.Quoted(), a.Values
	}
	return constraints.GroupsName, r.groupNames()
}

// population returns the rows for the constraint language. Disjoint groups become an attribute.
// Other groups are the values of the attribute "groups".
func (r Rows) population() (*constraints.Population, error) {
	p := &constraints.Population{Attributes: r.Attributes, Earlier: r.Earlier, Weights: r.Weights}
	a, ok := load.OfGroups(r.Groups, len(r.Labels))
	switch {
	case !ok:
		p.Groups = r.Groups
	case !slices.ContainsFunc(p.Attributes, func(other constraints.Attribute) bool { return other.Name == a.Name }):
		p.Attributes = append(slices.Clip(p.Attributes), a)
	}
	for _, c := range r.Classes {
		p.Classes = append(p.Classes, c.Name)
	}
	if r.Queries != nil {
		p.Queries, p.QueryNames = r.Queries.Of, r.Queries.Names
	}
	var err error
	p.Labels, err = r.indices()
	return p, err
}

// indices returns the class of each row, as an index into Classes.
func (r Rows) indices() ([]int, error) {
	place := make(map[int]int, len(r.Classes)) // position of a label in Classes
	for k, c := range r.Classes {
		place[c.Label] = k
	}
	list := make([]int, len(r.Labels))
	for i, y := range r.Labels {
		k, known := place[y]
		if !known {
			return nil, fmt.Errorf("session: %w: row %d has label %d, which is not a class", ErrOptions, i, y)
		}
		list[i] = k
	}
	return list, nil
}

// samples are the samples of a system on the splits of a table, which graphs and measures share.
// Each copy would take tens of bytes for each row.
type samples struct {
	system  *constraints.System
	mutex   sync.Mutex
	samples map[*int]*constraints.Sample // by the address of the labels
}

// sample returns the system on the rows. Rows of a mini-batch or of the caller have their own
// sample.
func (s *samples) sample(r Rows) (*constraints.Sample, error) {
	if !r.Tabular || len(r.Labels) == 0 {
		return r.sample(s.system)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.samples[&r.Labels[0]]; known != nil {
		return known, nil
	}
	sample, err := r.sample(s.system)
	if err == nil {
		s.samples[&r.Labels[0]] = sample
	}
	return sample, err
}

// sample returns the system on the rows.
func (r Rows) sample(s *constraints.System) (*constraints.Sample, error) {
	p, err := r.population()
	if err != nil {
		return nil, err
	}
	return s.On(p)
}

// recordSample has the rows of each split that records before the last one measure
// (trainer.Sample): a random part of each stratum, for a problem in blocks that keeps no layers.
type recordSample struct {
	splits  []*split        // the training rows first; all have blocks
	problem problem.Problem // the task on the training rows of the sample
}

// sampleRows is about the largest number of rows of a split in a sample.
const sampleRows = 1024

// The estimates from which records of a run on mini-batches measure a sample: if records that a run
// takes in any case (sampledRecords) would take more than build.RecordShare of the training and
// more than sampledWork nanoseconds of one thread.
const (
	sampledRecords = 10
	sampledWork    = 1e9
)

// Records of a sample take at most sampledShare of the training time, beyond freeSampled in all.
const (
	sampledShare = 0.2
	freeSampled  = 3 * time.Second
)

// needsSample reports whether records of all rows cost too much.
func (a *assembly) needsSample() bool {
	train := a.splits[0]
	if a.batches == nil || a.devices.Team != nil || train.Queries != nil || a.onDecisions() || train.Len() <= sampleRows {
		return false
	}
	work, _ := a.recordWork()
	work *= sampledRecords
	return work > build.RecordShare*float64(a.options.Settings.Iterations) && work*a.stepWork() > sampledWork
}

// sampleRecords builds the sample of the records. weights are the initial weights as trained.
func (a *assembly) sampleRecords(weights models.Weights) error {
	own := &recordSample{}
	for _, s := range a.splits {
		list := build.SampleOf(s.Stratified(), min(1, sampleRows/float64(s.Len())), a.options.Settings.Seed)
		part := *s.Split
		part.Rows = s.Pick(list, build.PickData(s.Data, list))
		picked := &split{Split: &part}
		var err error
		if picked.blocks, err = a.builder.NewBlocks(part.Data, a.dtype, weights); err != nil {
			return err
		}
		picked.blocks.Keep()
		a.builder.byStrata(picked, picked.blocks)
		if picked.measure, err = a.builder.measurer(part.Rows); err != nil {
			return err
		}
		own.splits = append(own.splits, picked)
	}
	x, err := models.Stack(a.builder.Model, weights)
	if err != nil {
		return err
	}
	rows := own.splits[0]
	if rows.head, err = a.builder.Head(a.builder.rows(rows.Rows)); err != nil {
		return err
	}
	own.problem, err = a.builder.statement.complete(build.NewExact(a.builder.Builder, rows.blocks, rows.head, x))
	a.recorded = own
	return err
}

// settings adds the sample to the settings of a training.
func (r *recordSample) settings(a *assembly, s *trainer.Settings) {
	if r == nil {
		return
	}
	if s.Samples() {
		s.RecordShare, s.FreeRecords = sampledShare, freeSampled
	}
	s.Sample = &trainer.Sample{Problem: r.problem, Rows: r.splits[0].Len(), Measure: func() (map[string]float64, error) {
		return a.measureAll(r.splits, r.problem)
	}}
}
