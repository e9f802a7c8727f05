package ranks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// All processes run the procedures that process 0 calls, with its arguments.
func TestTeam(t *testing.T) {
	require.NoError(t, together(3, func(c Collective) error {
		team := NewTeam(c)
		var got []float64
		add := team.Register(func(message []byte) error { got = append(got, Numbers[float64](message)...); return nil })
		total := 0.0
		count := team.Register(func([]byte) error {
			x := []float64{1}
			err := team.Sum(x)
			total += x[0]
			return err
		})
		if c.Rank() > 0 {
			if err := team.Serve(); err != nil {
				return err
			}
			if err := add(nil); err == nil {
				t.Error("a process that serves called a procedure without an error")
			}
		} else if err := errors.Join(add(Bytes([]float64{1, 2})), count(nil), add(nil), add(Bytes([]float64{3})), add(Bytes(make([]float64, 1000))), count(nil), team.Release()); err != nil {
			return err
		}
		if len(got) != 1003 || !slices.Equal(got[:4], []float64{1, 2, 3, 0}) || total != 6 {
			t.Errorf("process %d: %d arguments, %v, total %v", c.Rank(), len(got), got[:min(4, len(got))], total)
		}
		return nil
	}))
}

// A message of any length arrives, in the head or after it.
func TestTeamMessages(t *testing.T) {
	require.NoError(t, together(2, func(c Collective) error {
		team := NewTeam(c)
		var got []byte
		say := team.Register(func(message []byte) error { got = append(got[:0], message...); return team.Barrier() })
		if c.Rank() > 0 {
			return team.Serve()
		}
		for _, length := range []int{0, 1, mostInHead - 1, mostInHead, mostInHead + 1, 5000, mostInHead + 8, 5001, 5007, 5008, 5009} {
			message := make([]byte, length)
			for i := range message {
				message[i] = byte(i % 251)
			}
			if err := say(message); err != nil || !slices.Equal(got, message) {
				return fmt.Errorf("%d bytes: %d arrive, %v", length, len(got), err)
			}
		}
		return team.Release()
	}))
}

// An error of a procedure in one process ends the run of all processes.
func TestTeamFails(t *testing.T) {
	broken := errors.New("broken")
	for failing := range 3 {
		_ = together(3, func(c Collective) error {
			team := NewTeam(c)
			fail := team.Register(func([]byte) error {
				if c.Rank() == failing {
					return broken
				}
				return team.Barrier()
			})
			err := error(nil)
			if c.Rank() > 0 {
				err = team.Serve()
			} else {
				err = fail(nil)
			}
			if !errors.Is(err, broken) {
				t.Errorf("process %d of 3, of which %d fails: %v", c.Rank(), failing, err)
			}
			return nil
		})
	}
}

// A vote tells all processes whether one of them votes, or has failed.
func TestTeamVotes(t *testing.T) {
	require.NoError(t, together(3, func(c Collective) error {
		team := NewTeam(c)
		if any, err := team.Vote(false); any || err != nil {
			t.Errorf("process %d: nobody votes: %v, %v", c.Rank(), any, err)
		}
		if any, err := team.Vote(c.Rank() == 2); !any || err != nil {
			t.Errorf("process %d: process 2 votes: %v, %v", c.Rank(), any, err)
		}
		for failing := range 3 {
			if c.Rank() == failing {
				if _, first := team.Agree(errors.New("broken")); !first {
					t.Errorf("process %d is not the first that failed", failing)
				}
			} else if any, err := team.Vote(true); any || !errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), fmt.Sprint("process ", failing)) {
				t.Errorf("process %d: process %d failed: %t, %v", c.Rank(), failing, any, err)
			}
		}
		return nil
	}))
}

// All processes learn that one has failed, and the first that failed reports.
func TestTeamAgrees(t *testing.T) {
	broken := errors.New("broken")
	require.NoError(t, together(3, func(c Collective) error {
		team := NewTeam(c)
		if err, report := team.Agree(nil); err != nil || report {
			t.Errorf("process %d: no failure: %v, %v", c.Rank(), err, report)
		}
		for _, failing := range [][]int{{1, 2}, {0}, {2}} {
			var own error
			want := ErrElsewhere
			if slices.Contains(failing, c.Rank()) {
				own, want = broken, broken
			}
			if err, report := team.Agree(own); !errors.Is(err, want) || report != (c.Rank() == failing[0]) {
				t.Errorf("process %d, %v fail: %v, %v", c.Rank(), failing, err, report)
			}
		}
		return nil
	}))
}

// After a panic in a procedure of process 0, Release does not talk to processes that wait inside
// the procedure.
func TestTeamPanics(t *testing.T) {
	broken := errors.New("broken")
	require.NoError(t, together(3, func(c Collective) error {
		team := NewTeam(c)
		do := team.Register(func([]byte) error {
			if c.Rank() == 0 {
				panic("a bug")
			}
			return team.Barrier()
		})
		if c.Rank() > 0 {
			if err := team.Serve(); !errors.Is(err, broken) {
				t.Errorf("process %d: %v", c.Rank(), err)
			}
			return nil
		}
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
			if err := team.Release(); err != nil {
				t.Errorf("Release: %v", err)
			}
			team.Abort(broken)
		}()
		return do(nil)
	}))
}

// failing is a process whose broadcasts or sums fail.
type failing struct {
	Collective
	sums, broadcasts error
	reason           error // of Abort
	good             int   // the first broadcasts, which do not fail
}

func (f *failing) Sum(x []float64) error { return errors.Join(f.sums, f.Collective.Sum(x)) }
func (f *failing) Broadcast(b []byte) error {
	if f.good--; f.good >= 0 {
		return f.Collective.Broadcast(b)
	}
	return errors.Join(f.broadcasts, f.Collective.Broadcast(b))
}
func (f *failing) Abort(reason error) { f.reason = reason }

// A team ends the run of all processes after an exchange that fails.
func TestTeamEndsAfterFailedExchange(t *testing.T) {
	broken := errors.New("broken")
	for name, do := range map[string]func(team *Team) error{
		"call":    func(team *Team) error { return team.Register(func([]byte) error { return nil })(nil) },
		"message": func(team *Team) error { return team.Register(func([]byte) error { return nil })(make([]byte, 5000)) },
		"release": (*Team).Release,
		"serve":   (*Team).Serve,
		"agree": func(team *Team) error {
			err, report := team.Agree(nil)
			if !report {
				t.Error("agree: no process reports the error")
			}
			return err
		},
		"vote": func(team *Team) error {
			any, err := team.Vote(true)
			if any {
				t.Error("vote: the result of a failed sum")
			}
			return err
		},
		"long message": func(team *Team) error { return team.Register(func([]byte) error { return nil })(make([]byte, 5000)) },
	} {
		c := &failing{Collective: Goroutines(1)[0], sums: broken, broadcasts: broken}
		if name == "long message" {
			c.good = 1
		}
		if err := do(NewTeam(c)); !errors.Is(err, broken) || !errors.Is(c.reason, broken) {
			t.Errorf("%s: the error is %v, and the run ends with %v", name, err, c.reason)
		}
	}
}

// Without a team, the procedures run in the only process, and sums stay.
func TestNoTeam(t *testing.T) {
	var none *Team
	x := []float64{3}
	failure := errors.New("failure")
	if err := none.Register(func(message []byte) error { x[0] += float64(len(message)); return failure })(make([]byte, 2)); err != failure {
		t.Error(err)
	}
	if err := none.Sum(x); err != nil || x[0] != 5 || none.Rank() != 0 || none.Size() != 1 {
		t.Errorf("%v, %v, process %d of %d", x, err, none.Rank(), none.Size())
	}
}

// A sum adds in the order of the ranks: (1 + 1e16) - 1e16 = 0, while 1 + (1e16 - 1e16) = 1.
func TestSumOrder(t *testing.T) {
	if err := together(3, func(c Collective) error {
		x := []float64{[]float64{1, 1e16, -1e16}[c.Rank()], float64(c.Rank())}
		if err := c.Sum(x); err != nil || !slices.Equal(x, []float64{0, 3}) {
			t.Errorf("rank %d: sum %v, %v", c.Rank(), x, err)
		}
		narrow := []float32{[]float32{1, 1e8, -1e8}[c.Rank()]} // in float32 the sum would be 0
		if err := c.SumFloat32(narrow); err != nil || narrow[0] != 1 {
			t.Errorf("rank %d: float32 sum %v, %v", c.Rank(), narrow, err)
		}
		x = []float64{float64(c.Rank() + 7)}
		if err := c.Broadcast(Bytes(x)); err != nil || x[0] != 7 {
			t.Errorf("rank %d: broadcast %v, %v", c.Rank(), x, err)
		}
		return c.Barrier()
	}); err != nil {
		t.Fatal(err)
	}
}

// A rank that ends the run, or that gives another number of elements, ends all ranks with an error.
func TestAbort(t *testing.T) {
	broken := errors.New("broken")
	require.NoError(t, together(3, func(c Collective) error {
		if c.Rank() == 1 {
			c.Abort(broken)
			c.Abort(errors.New("later"))
		}
		if err := c.Barrier(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "process 1") {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		if err := c.SumFloat32(nil); !errors.Is(err, broken) {
			t.Errorf("rank %d: a later sum: %v", c.Rank(), err)
		}
		if err := c.Broadcast(nil); !errors.Is(err, broken) {
			t.Errorf("rank %d: a later broadcast: %v", c.Rank(), err)
		}
		return nil
	}))
	require.NoError(t, together(2, func(c Collective) error {
		if err := c.Sum(make([]float64, 1+c.Rank())); err == nil {
			t.Errorf("rank %d: a sum of 1 and 2 numbers gave no error", c.Rank())
		}
		return nil
	}))
	for _, pair := range [][2]func(c Collective) error{
		{Collective.Barrier, func(c Collective) error { return c.Broadcast(nil) }},
		{func(c Collective) error { return c.SumFloat32(nil) }, Collective.Barrier},
	} {
		require.NoError(t, together(2, func(c Collective) error {
			if err := pair[c.Rank()](c); err == nil {
				t.Errorf("rank %d: two different exchanges gave no error", c.Rank())
			}
			return nil
		}))
	}
}

// An exchange that all ranks have joined succeeds in all, also if one aborts right afterwards.
func TestAbortAfterExchange(t *testing.T) {
	for range 500 { // a rank may wake up before or after the abort
		require.NoError(t, together(3, func(c Collective) error {
			x := []float64{1}
			if err := c.Sum(x); err != nil || x[0] != 3 {
				return fmt.Errorf("rank %d: sum %v, %w", c.Rank(), x, err)
			}
			c.Abort(errors.New("broken"))
			return nil
		}))
	}
}

// Processes on one machine count each other.
func TestNeighbours(t *testing.T) {
	require.NoError(t, together(3, func(c Collective) error {
		place, n, err := neighbours(c, []string{"a", "b", "a"}[c.Rank()])
		if want := [][2]int{{0, 2}, {0, 1}, {1, 2}}[c.Rank()]; place != want[0] || n != want[1] {
			t.Errorf("process %d is number %d of %d neighbours, want %d", c.Rank(), place, n, want)
		}
		return err
	}))
}
