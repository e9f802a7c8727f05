package session

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify/near"
	"ppal/trainer/method"
)

// On the real tables the measurement of near stationarity solves the proximal problem of every
// record or shows that the proximal problem is infeasible.
func TestNearStationarityOnRealTables(t *testing.T) {
	root := os.Getenv("PPAL_DATA")
	if root == "" {
		t.Skip("PPAL_DATA is not set")
	}
	for _, tc := range []struct {
		problem Task
		dataset string
		solved  int // least number of solved problems of the three iterates
	}{
		{DemographicParity{}, "compas", 2}, {EqualizedOdds{}, "bank", 2},
	} {
		t.Run(fmt.Sprintf("%T-%s", tc.problem, tc.dataset), func(t *testing.T) {
			table := Table{Dataset: tc.dataset, Dir: root, TableOptions: tabular.TableOptions{Split: tabular.Split{Train: 100}}}
			e := buildOptions(t, onTable(tc.problem, table, func(o *Options) { o.Method = &method.PLADA{XStep: method.ProxLinear} }))
			defer e.Close()
			l := &nearRecords{}
			require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 60, RecordEvery: 30, NearEvery: 1, Recorder: l}))(t)
			solved := 0
			for _, n := range l.near {
				switch {
				case n.Reason == "" && n.Distance >= 0 && n.Error < math.Max(1e-3, 0.05*n.Distance):
					solved++
				case !strings.Contains(n.Reason, "infeasible"):
					t.Errorf("distance %v with error %v: %q", n.Distance, n.Error, n.Reason)
				}
			}
			if len(l.near) != 3 || solved < tc.solved {
				t.Errorf("%d of %d solved, want %d of 3", solved, len(l.near), tc.solved)
			}
		})
	}
}

// nearRecords keeps the measurements of near stationarity of a run.
type nearRecords struct{ near []near.Stationarity }

// Record implements trainer.Recorder.
func (l *nearRecords) Record(r *trainer.Record) error {
	if r.NearStationarity != nil {
		l.near = append(l.near, *r.NearStationarity)
	}
	return nil
}
