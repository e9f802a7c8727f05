package ranks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

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
