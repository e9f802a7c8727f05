package method_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cases"
	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
)

// The names and the lengths of every state are the format of the checkpoint: a change makes old
// checkpoints unreadable, and a missing name changes a resumed run. The file also has the counts of
// gradients. After a change that is meant, raise checkpoint.Version and run the test with -update.
func TestStateNames(t *testing.T) {
	var text strings.Builder
	all := resumable()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tp := testkit.Named(t, "qp-vertex")
		if strings.HasPrefix(name, "plada") {
			tp = testkit.Named(t, "max-of-abs") // a state with shares of pieces
		}
		r := require.Value(trainer.Train(context.Background(), testkit.New(t, testkit.FunctionsOf(tp), tp.Start), all[name](),
			trainer.Settings{Iterations: 12, Output: trainer.OutputBest}))(t)
		fmt.Fprintf(&text, "%s: %d gradients in %d iterations\n", name, r.Point.GradientEvaluations, r.Iterations)
		for _, n := range slices.Sorted(maps.Keys(r.State.Numbers)) {
			fmt.Fprintf(&text, "  %s %d\n", n, len(r.State.Numbers[n]))
		}
		for _, n := range slices.Sorted(maps.Keys(r.State.Vectors)) {
			fmt.Fprintf(&text, "  vector %s\n", n)
		}
	}
	cases.Golden(t, "testdata/states.txt", text.String())
}
