package suite

import (
	"context"
	"errors"
	"fmt"

	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// Default is the name of ppal with its default settings.
const Default = "ppal"

// Own is a contender of ppal itself.
type Own struct {
	Name   string
	Method string
}

// owns returns ppal's contenders, the default for smooth problems first. All are methods by name,
// so that they stay comparable if the default changes.
func owns() []Own {
	return []Own{
		{Default, "alm"},
		{"nesterov", "ppala"},
	}
}

// method returns the contender's method with the program's defaults for a task.
func (o Own) method(task string) (trainer.Method, error) {
	m, err := method.New(o.Method)
	if err != nil {
		return nil, fmt.Errorf("suite: %s: %w", o.Name, err)
	}
	if err := preset.SetDefaults(option.Of(m), task); err != nil {
		return nil, fmt.Errorf("suite: %s: %w", o.Name, err)
	}
	return m, nil
}

// train runs the contender on a built problem, up to the run's limit of evaluations. A value that
// is not finite becomes the run's failure.
func (o Own) train(ctx context.Context, b *Built, into *Run) error {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	t := newMeter(b.Problem, func(e Evaluation) error {
		into.evaluate(e)
		if e.Evaluations >= into.Limit {
			stop()
		}
		return nil
	}, func(c Checkpoint) error { into.check(c); return nil })
	_, err := o.optimise(limited, t, b.task, into.Limit)
	var diverged *problem.NonFiniteError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &diverged):
		into.Failure = err.Error()
	case err != nil:
		return fmt.Errorf("suite: %s on %s: %w", o.Name, b.Name, err)
	default: // the last forward pass may be of a rejected trial
		t.Space().Read(t.x, problem.Iterate)
		if err := t.returned(t.x); err != nil {
			return err
		}
	}
	return t.finish()
}

// optimise trains a metered problem. The records and the certificates of the training evaluate the
// problem behind the meter, so that the meter does not count them. The training has two records,
// because the meter's clock runs during a record.
func (o Own) optimise(ctx context.Context, t *meter, task string, iterations int) (*trainer.Result, error) {
	m, err := o.method(task)
	if err != nil {
		return nil, err
	}
	return trainer.Train(ctx, t, m, trainer.Settings{
		Iterations: iterations, RecordEvery: iterations, Full: t.Problem, FeasibilityTolerance: feasibilityTolerance, IgnoreConflict: true,
	})
}
