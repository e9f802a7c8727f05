package method_test

import (
	"errors"
	"slices"
	"testing"

	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// registered is a method of another package.
type registered struct{ trainer.Method }

func (registered) Name() string { return "own" }

// A registered method is in all lists, has no options, and its settings are complete. A name that
// is taken, missing or not the method's is refused.
func TestRegister(t *testing.T) {
	t.Cleanup(func() { method.Unregister("own") })
	create := func() trainer.Method { return registered{&method.GDA{}} }
	require.NoError(t, method.Register(method.Description{Name: "own", Kinks: true}, create))
	m, err := method.New("own")
	if err != nil || m.Name() != "own" || len(option.Of(m)) != 0 || method.Smooth(m) || !slices.Contains(method.Names(), "own") {
		t.Errorf("the method is %v, error %v, among %v", m, err, method.Names())
	}
	if texts, beyond, ok := method.Texts(m, 1e-3, 1, func(string) string { return "" }); !ok || len(texts)+len(beyond) > 0 {
		t.Errorf("texts %v, beyond them %v, %v", texts, beyond, ok)
	}
	for what, d := range map[string]method.Description{"taken": {Name: "own"}, "ours": {Name: "alm"}, "missing": {}, "another": {Name: "other"}} {
		if err := method.Register(d, create); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if err := method.Register(method.Description{Name: "none"}, nil); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("no function: error %v", err)
	}
}
