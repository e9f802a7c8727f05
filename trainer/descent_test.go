package trainer_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// bowl is f = |x - 1|^p/p of 3 variables and g = 2 - x_0, with the given signs of the gradients.
func bowl(p, signF, signG float64) problem.Functions {
	return problem.Functions{N: 3, M: 1,
		F: func(x []float64) (f float64) {
			for _, v := range x {
				f += math.Pow(math.Abs(v-1), p) / p
			}
			return f
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = signF * math.Copysign(math.Pow(math.Abs(v-1), p-1), v-1)
			}
		},
		G:         func(dst, x []float64) { dst[0] = 2 - x[0] },
		JacobianT: func(dst, _, w []float64) { clear(dst); dst[0] = -signG * w[0] },
	}
}

// A run whose gradient of f or of a violated constraint has the wrong sign warns, with every primal
// step. A right gradient gives no warning, even if f must rise from the start, or has a kink.
func TestWrongSignIsSaid(t *testing.T) {
	const text = "does not fall along its negative gradient"
	for _, c := range []struct {
		name                string
		power, signF, signG float64
		start               []float64
		want                string
	}{
		{"right", 2, 1, 1, []float64{5, -3, 2}, ""},
		{"f must rise", 2, 1, 1, []float64{1, 1, 1}, ""},
		{"kinks", 1, 1, 1, []float64{1, 1, 1}, ""},
		{"sign of f", 2, -1, 1, []float64{5, -3, 2}, "the objective has not fallen"},
		{"sign of g", 2, 1, -1, []float64{-1, 0, 0}, "the constraint 1 has not fallen"},
	} {
		for _, kind := range []step.Kind{step.Gradient, step.Nesterov, step.LBFGS} {
			p := require.Value(bowl(c.power, c.signF, c.signG).New(c.start))(t)
			r, err := trainer.Train(t.Context(), p, &method.ALM{Primal: step.Settings{Kind: kind}}, trainer.Settings{Iterations: 40, IgnoreConflict: true})
			if errors.Is(err, problem.ErrNonFinite) && c.want != "" {
				continue // the steps went to infinity, which is an error already
			}
			require.NoError(t, err)
			all := strings.Join(r.Warnings.Texts(), "\n")
			if said := strings.Contains(all, text); said != (c.want != "") || !strings.Contains(all, c.want) {
				t.Errorf("%s, %v: %q", c.name, kind, r.Warnings)
			}
		}
	}
}

// A nil problem, method or context is an error that wraps problem.ErrSettings.
func TestNilArguments(t *testing.T) {
	var none context.Context
	p := require.Value(bowl(2, 1, 1).New([]float64{0, 0, 0}))(t)
	for name, try := range map[string]func() error{
		"problem is nil": func() error {
			_, err := trainer.Train(t.Context(), nil, &method.ALM{}, trainer.Settings{})
			return err
		},
		"method is nil":  func() error { _, err := trainer.Train(t.Context(), p, nil, trainer.Settings{}); return err },
		"context is nil": func() error { _, err := trainer.Train(none, p, &method.ALM{}, trainer.Settings{}); return err },
	} {
		if err := try(); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
