package session

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// setup holds the parts of the options that the tests change.
type setup struct {
	Images
	NeymanPearson
	models.Spec
	Device
	Seed        uint64
	BatchSize   int
	Init        string
	source      Source              // replaces the images
	model       models.Architecture // replaces Spec
	task        Task                // replaces NeymanPearson
	method      trainer.Method
	regularizer *problem.Regularizer
}

// small is a run that builds in milliseconds.
func small(change func(c *setup)) setup {
	c := setup{
		Images:        Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 40},
		NeymanPearson: NeymanPearson{Kappa: []float64{0.3}},
		Spec:          models.Spec{Hidden: []int{6}},
		Device:        Device{Kind: CPU, Dtype: tensor.Float64},
		Seed:          1,
		method:        &method.PPALA{Perturbation: method.Perturbation{Beta: 0.2, DeltaP: 0.1}},
	}
	if change != nil {
		change(&c)
	}
	return c
}

// clothing returns the program's default run on rows of Fashion-MNIST.
func clothing(rows *picture.Selection, change func(c *setup)) setup {
	c := setup{Spec: models.Spec{Hidden: []int{256}}, Device: Device{Kind: CPU, Threads: 2}, Seed: 1,
		source: ImagesAtHand{Train: rows, Test: rows}}
	if change != nil {
		change(&c)
	}
	return c
}

// onTable returns the program's default run of a task on a table.
func onTable(task Task, source Source, change func(o *Options)) Options {
	o := Options{Data: source, Task: task, Settings: trainer.Settings{Seed: 1}, Device: Device{Kind: CPU, Threads: 2}}
	if change != nil {
		change(&o)
	}
	return o
}

func (c setup) options() Options {
	spec := c.Spec
	o := Options{Data: c.Images, Task: c.NeymanPearson, Model: &spec, Regularizer: c.regularizer, Method: c.method,
		Settings: trainer.Settings{Seed: c.Seed}, BatchSize: c.BatchSize, Init: c.Init, Device: c.Device}
	if c.source != nil {
		o.Data = c.source
	}
	if c.model != nil {
		o.Model = c.model
	}
	if c.task != nil {
		o.Task = c.task
	}
	return o
}

// try assembles a run.
func try(t *testing.T, o Options) (*assembly, error) {
	t.Helper()
	return o.prepare(t.Context(), nil)
}

// assembled assembles a run that must not fail.
func assembled(t *testing.T, c setup) *assembly {
	t.Helper()
	return buildOptions(t, c.options())
}

func buildOptions(t *testing.T, o Options) *assembly {
	t.Helper()
	return require.Value(try(t, o))(t)
}

// exactInBlocks returns the problem of the training rows in float64, in blocks of the given number
// of rows, at the iterate.
func exactInBlocks(t *testing.T, a *assembly, rows int) *build.Exact {
	t.Helper()
	train := a.splits[0]
	blocks := require.Value(a.builder.BlocksOf(train.Data, rows, tensor.Float64, a.weights(t)))(t)
	head := require.Value(a.builder.Head(a.builder.rows(train.Rows)))(t)
	return build.NewExact(a.builder.Builder, blocks, head, a.iterate())
}
