package ranks

import (
	"errors"
	"slices"
	"testing"
)

// All processes run the procedures that process 0 calls, with its arguments.
func TestTeam(t *testing.T) {
	if err := together(3, func(c Collective) error {
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
	}); err != nil {
		t.Fatal(err)
	}
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

// All processes learn that one has failed, and the first that failed reports.
func TestTeamAgrees(t *testing.T) {
	broken := errors.New("broken")
	if err := together(3, func(c Collective) error {
		team := NewTeam(c)
		if err, report := team.Agree(nil); err != nil || report {
			t.Errorf("process %d: no failure: %v, %v", c.Rank(), err, report)
		}
		var own error
		if c.Rank() > 0 {
			own = broken
		}
		err, report := team.Agree(own)
		if want := map[bool]error{true: broken, false: ErrElsewhere}[c.Rank() > 0]; !errors.Is(err, want) || report != (c.Rank() == 1) {
			t.Errorf("process %d: %v, %v", c.Rank(), err, report)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
