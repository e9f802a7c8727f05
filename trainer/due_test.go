package trainer

import (
	"slices"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// clocked is a method whose iterations take a time on a clock of the test.
type clocked struct {
	scripted
	clock *time.Time
	takes time.Duration
}

func (m *clocked) Iterate(p problem.Problem, at *problem.Point) error {
	*m.clock = m.clock.Add(m.takes)
	return m.scripted.Iterate(p, at)
}

// onClock runs the method to its end on a clock that only iterations and records move.
func onClock(t *testing.T, fn problem.Functions, x float64, m *scripted, iteration, record time.Duration, s Settings) (*run, Status, *journal) {
	t.Helper()
	l, clock := &journal{}, time.Unix(0, 0)
	s.Recorder = l
	s.Measure = func() (map[string]float64, error) { clock = clock.Add(record); return nil, nil }
	b := require.Value(newRun(t.Context(), begin(t, fn, x), &clocked{*m, &clock, iteration}, s))(t)
	b.now = func() time.Time { return clock }
	b.timed.now = b.now
	status := require.Value(b.loop())(t)
	for k, r := range l.records[:len(l.records)-1] {
		spent := float64(k+1) * record.Seconds()
		if b.timed.share > 0 && k > 0 && spent > max(b.timed.share*r.Seconds, b.timed.free.Seconds())+1e-9 {
			t.Errorf("after %d iterations, %v s of training and %v s of records", r.Iteration, r.Seconds, spent)
		}
	}
	return b, status, l
}

// Records take at most their share of the training time, or a second. The start and the
// last iterate always have a record, and the iterates do not depend on the records.
func TestRecordShareByHand(t *testing.T) {
	const iteration = 10 * time.Millisecond
	for name, c := range map[string]struct {
		set     Settings // 1000 iterations take 10 seconds
		record  time.Duration
		records []int // the least and the largest number of records
	}{
		"no share":        {Settings{}, time.Second, []int{1001, 1001}},
		"cheap":           {Settings{RecordShare: 0.1}, 900 * time.Microsecond, []int{1001, 1001}},
		"ten times":       {Settings{RecordShare: 0.1}, 10 * time.Millisecond, []int{99, 100}},
		"half a share":    {Settings{RecordShare: 0.05, Iterations: 4000}, 10 * time.Millisecond, []int{199, 200}},
		"a tenth of all":  {Settings{RecordShare: 0.1}, 500 * time.Millisecond, []int{2, 2}},
		"longer than all": {Settings{RecordShare: 0.1}, time.Minute, []int{2, 2}},
		"by time":         {Settings{RecordShare: 0.1, RecordEvery: -1, TimeLimit: time.Minute}, 10 * time.Millisecond, []int{99, 100}},
		"best":            {Settings{RecordShare: 0.1, Output: OutputBest}, time.Second, []int{1001, 1001}},
		"near stationary": {Settings{RecordShare: 0.1, NearEvery: 1000}, time.Second, []int{1001, 1001}},
		"every other":     {Settings{RecordShare: 0.1, RecordEvery: 2}, 10 * time.Millisecond, []int{99, 100}},
		"a second":        {Settings{RecordShare: 0.1, Iterations: 100}, 9800 * time.Microsecond, []int{101, 101}},
		"a little more":   {Settings{RecordShare: 0.1, Iterations: 100}, 12500 * time.Microsecond, []int{80, 80}},
	} {
		s := c.set
		if s.Iterations == 0 {
			s.Iterations = 1000
		}
		switch s.RecordEvery {
		case 0:
			s.RecordEvery = 1
		case -1:
			s.RecordEvery = 0
		}
		b, status, l := onClock(t, square(problem.Regularizer{}), 0, &scripted{moves: []float64{0.0005}, nu: []float64{0}}, iteration, c.record, s)
		k := l.iterations()
		if n := len(k); n < c.records[0] || n > c.records[1] || k[0] != 0 || k[n-1] != s.Iterations || status != IterationLimit {
			t.Errorf("%s: %d records, want %d, %v", name, n, c.records, status)
		}
		if at := iterate(b.p); at < 0.0005*float64(s.Iterations)-1e-9 {
			t.Errorf("%s: x = %v", name, at)
		}
	}
}

// A run with few records has early ones, after 1, 2, 4, ... checks, so that a run that ends early
// has records, too. They do not depend on where the run ends or was resumed, and none is added to
// records whose interval is a setting or is that of the checks.
func TestEarlyRecords(t *testing.T) {
	for name, c := range map[string]struct {
		set     Settings
		records []int
		early   int
	}{
		"expensive":   {Settings{Iterations: 1000, RecordWork: 1e9, LeastRecords: 5}, []int{0, 5, 10, 20, 40, 80, 200, 400, 600, 800, 1000}, 5},
		"ends early":  {Settings{Iterations: 70, Planned: 1000, RecordWork: 1e9, LeastRecords: 5}, []int{0, 5, 10, 20, 40, 70}, 4},
		"at an early": {Settings{Iterations: 40, Planned: 1000, RecordWork: 1e9, LeastRecords: 5}, []int{0, 5, 10, 20, 40}, 3},
		"few":         {Settings{Iterations: 20, RecordWork: 1e9, LeastRecords: 5}, []int{0, 1, 2, 4, 8, 12, 16, 20}, 2},
		"every check": {Settings{Iterations: 9}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0},
		// the search for a conflict follows the automatic schedule, and keeps 10 numbers
		"a setting":     {Settings{Iterations: 20, RecordEvery: 10, CheckEvery: 1}, []int{0, 10, 20}, 3 - 10},
		"with patience": {Settings{Iterations: 600, Patience: 1000, CheckEvery: 100, RecordWork: 1e9}, []int{0, 100, 200, 300, 400, 500, 600}, 0},
	} {
		c.set.ValidationMerit = func() Merit { return Merit{} }
		b, status, l := onClock(t, square(problem.Regularizer{}), 4, &scripted{moves: []float64{0}, nu: []float64{0}}, time.Second, time.Millisecond, c.set)
		if k := l.iterations(); !slices.Equal(k, c.records) || status != IterationLimit {
			t.Errorf("%s: records after %v iterations, want %v (%v)", name, k, c.records, status)
		}
		if n := len(b.conflict.recent); n != len(c.records)-c.early {
			t.Errorf("%s: %d records count for a conflict, want %d without the early ones", name, n, len(c.records)-c.early)
		}
	}
	// Records of 0.2 s: the early ones leave time for two others. Those of 0.1 s fit into the second.
	for record, want := range map[time.Duration][]int{200 * time.Millisecond: {0, 1, 4, 8, 20}, 100 * time.Millisecond: {0, 1, 2, 4, 8, 12, 16, 20}} {
		_, _, l := onClock(t, square(problem.Regularizer{}), 4, &scripted{moves: []float64{0}, nu: []float64{0}}, time.Millisecond, record,
			Settings{Iterations: 20, RecordWork: 1e9, LeastRecords: 5, RecordShare: 0.1})
		if k := l.iterations(); !slices.Equal(k, want) {
			t.Errorf("records of %v: after %v iterations, want %v", record, k, want)
		}
	}
	_, _, few := onClock(t, square(problem.Regularizer{}), 4, &scripted{moves: []float64{0}, nu: []float64{0}}, time.Millisecond, 20*time.Millisecond,
		Settings{Iterations: 20, RecordWork: 1e9, LeastRecords: 5, RecordShare: 0.1, FreeRecords: 100 * time.Millisecond})
	if k, want := few.iterations(), []int{0, 1, 4, 8, 20}; !slices.Equal(k, want) {
		t.Errorf("a tenth of a second of records: after %v iterations, want %v", k, want)
	}
	// A tenth of the work is that of 41.7 records.
	_, _, l := onClock(t, square(problem.Regularizer{}), 4, &scripted{moves: []float64{0}, nu: []float64{0}}, time.Second, time.Millisecond,
		Settings{Iterations: 1000, RecordWork: 2.4, LeastRecords: 5})
	if n := len(l.records); n < 33 || n > 41 {
		t.Errorf("%d records, want at most 41 and not much less", n)
	}
}

// A resumed run counts its own training time only.
func TestRecordShareAfterResume(t *testing.T) {
	w := timed{share: 0.1, free: freeRecords, from: 100}
	w.recorded(400 * time.Millisecond) // with two more: 1.2 s
	if w.affordable(111.9, 2) || !w.affordable(112.1, 2) {
		t.Errorf("%+v", w)
	}
	p := begin(t, square(problem.Regularizer{}), 0)
	b, err := newRun(t.Context(), p, &scripted{}, Settings{})
	require.NoError(t, err)
	b.seconds = 7
	state := Capture(p, b.m)
	b.visitProgress(&saver{s: state, p: p, prefix: progressPrefix})
	if b, err = newRun(t.Context(), p, &scripted{}, Settings{Resume: state}); err != nil || b.timed.from != 7 {
		t.Errorf("%+v, error %v", b.timed, err)
	}
}

// A run ends at the same iterate, with the same status and a record of the last iterate, whether or
// not expensive records are skipped: at the tolerance, and with a proof that the constraints cannot
// be met.
func TestSkippedRecordsKeepTheEnd(t *testing.T) {
	impossible := problem.Functions{N: 1, M: 2,
		F: func(x []float64) float64 { return x[0] * x[0] / 2 }, Gradient: func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0]+1, -x[0]+1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] - w[1] }}
	onceFeasible := problem.Functions{N: 1, M: 1, // x^2 + 1 <= 0 cannot be met, except at 2
		F: func(x []float64) float64 { return x[0] * x[0] / 2 }, Gradient: func(dst, x []float64) { dst[0] = x[0] },
		G: func(dst, x []float64) {
			if dst[0] = x[0]*x[0] + 1; x[0] == 2 {
				dst[0] = -1
			}
		},
		JacobianT: func(dst, x, w []float64) { dst[0] = 2 * x[0] * w[0] }}
	for name, c := range map[string]struct {
		fn   problem.Functions
		x    float64
		m    scripted
		set  Settings
		want Status
	}{
		"tolerance": {square(problem.Regularizer{}), 4, scripted{moves: append(slices.Repeat([]float64{-0.125}, 32), 0), nu: []float64{0}},
			Settings{Tolerance: 0.1}, Converged},
		"conflict":          {impossible, 4, scripted{moves: []float64{0}, gradients: 100}, Settings{}, Infeasible},
		"feasible for once": {onceFeasible, 3, scripted{moves: []float64{-1, -1, 0}, gradients: 100}, Settings{}, IterationLimit},
		"feasible early":    {onceFeasible, 3, scripted{moves: []float64{-0.5, -0.5, -1, 0}, gradients: 100}, Settings{RecordWork: 1e9}, IterationLimit},
	} {
		c.set.Iterations, c.set.RecordEvery, c.set.CheckEvery = 60, 2, 3
		if c.set.RecordWork > 0 {
			c.set.RecordEvery, c.set.CheckEvery, c.set.LeastRecords = 0, 1, 5
		}
		ends, searches := []int{}, []float64{}
		for _, share := range []float64{0, 0.1} {
			s, m := c.set, c.m
			s.RecordShare = share
			if name == "feasible for once" {
				s.RecordEvery = 1
			}
			b, status, l := onClock(t, c.fn, c.x, &m, time.Millisecond, time.Second, s)
			k := l.iterations()
			if status != c.want || k[len(k)-1] != b.at.Iteration || share > 0 && len(k) != 2 {
				t.Errorf("%s, share %v: %v after %d iterations, records %v", name, share, status, b.at.Iteration, k)
			}
			ends, searches = append(ends, b.at.Iteration), append(searches, b.conflict.spent)
		}
		if searches[0] != searches[1] {
			t.Errorf("%s: searches for a conflict cost %v gradients", name, searches)
		}
		if ends[0] != ends[1] || c.want != IterationLimit && ends[0] == 60 {
			t.Errorf("%s: the runs end after %v iterations", name, ends)
		}
	}
}
