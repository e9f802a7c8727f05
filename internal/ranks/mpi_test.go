//go:build mpi

package ranks

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"ppal/internal/require"
)

// world is this process's rank. `make mpi-test` starts the tests by mpirun.
var world Collective

func TestMain(m *testing.M) {
	c, end, err := MPI()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	world = c
	status := m.Run()
	if status != 0 { // the other processes may wait
		c.Abort(fmt.Errorf("a test failed"))
	}
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(status)
}

// MPI adds in the order of the ranks, for vectors shorter and longer than the number of processes.
func TestMPISums(t *testing.T) {
	if world.Size() == 1 {
		t.Fatal("one process: start the tests by mpirun (make mpi-test)")
	}
	for _, n := range []int{0, 1, 2, 7, shortSum / world.Size(), shortSum, 100_003, mostNumbers + 5} {
		term := func(rank, i int) float64 { return float64(1+rank*rank) / float64(3+i) }
		x, want := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], want[i] = term(world.Rank(), i), term(0, i)
			for rank := 1; rank < world.Size(); rank++ {
				want[i] += term(rank, i)
			}
		}
		if err := world.Sum(x); err != nil || !slices.Equal(x, want) {
			t.Errorf("rank %d: a sum of %d numbers is wrong, %v", world.Rank(), n, err)
		}
	}
	narrow := []float32{1, 2, 3, float32(world.Rank())}
	if err := world.SumFloat32(narrow); err != nil || narrow[2] != float32(3*world.Size()) {
		t.Errorf("rank %d: a float32 sum is %v, %v", world.Rank(), narrow, err)
	}
	x := []float64{float64(world.Rank() + 7)}
	if err := world.Broadcast(Bytes(x)); err != nil || x[0] != 7 {
		t.Errorf("rank %d: broadcast %v, %v", world.Rank(), x, err)
	}
	if err := world.Barrier(); err != nil {
		t.Error(err)
	}
}

// Processes train as one process does: 200 iterations with fixed steps to 1e-12, and the same bits
// as as many goroutines.
func TestMPITrainsAsOne(t *testing.T) {
	table := adult(t)
	got := require.Value(trained(table, NewTeam(world), fixedStep, 200))(t)
	if world.Rank() != 0 {
		return
	}
	one := require.Value(trained(table, nil, fixedStep, 200))(t)
	if d := got.distance(one); !(d <= 1e-12) {
		t.Errorf("%d processes differ from one by %g, want at most 1e-12", world.Size(), d)
	}
	var goroutines outcome
	require.NoError(t, together(world.Size(), func(c Collective) error {
		o, err := trained(table, NewTeam(c), fixedStep, 200)
		if c.Rank() == 0 {
			goroutines = o
		}
		return err
	}))
	if d := got.distance(goroutines); d != 0 {
		t.Errorf("processes differ from goroutines by %g, want the same bits", d)
	}
}
