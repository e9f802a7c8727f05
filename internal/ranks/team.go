package ranks

import (
	"errors"
	"fmt"
	"slices"
)

// Team runs procedures in all processes of a Collective. All processes register the same procedures
// in the same order. Then rank 0 calls procedures, and the other processes Serve until rank 0 calls
// Release. A procedure may call the methods of the Collective, because all processes run it.
type Team struct {
	Collective
	procedures []func(args []float64) error
	args       []float64 // of the last call in a process that serves
}

// Procedure runs in all processes, with the arguments that rank 0 gives. Only rank 0 calls it.
type Procedure func(args ...float64) error

// NewTeam returns the team of the processes of c, without procedures.
func NewTeam(c Collective) *Team { return &Team{Collective: c} }

// release is the number that ends Serve.
const release = -1

// Register adds a procedure. The argument is valid until the procedure returns. If the procedure
// returns an error in one process, the other processes may wait for it: the run of all processes
// ends with the error.
func (t *Team) Register(do func(args []float64) error) Procedure {
	number := len(t.procedures)
	t.procedures = append(t.procedures, do)
	return func(args ...float64) error {
		if t.Rank() != 0 {
			return fmt.Errorf("ranks: process %d calls procedure %d, which is for process 0", t.Rank(), number)
		}
		if err := t.send(number, args); err != nil {
			return err
		}
		return t.run(number, args)
	}
}

// send tells the processes that serve what to run next.
func (t *Team) send(number int, args []float64) error {
	if err := t.Broadcast([]float64{float64(number), float64(len(args))}); err != nil || len(args) == 0 {
		return err
	}
	return t.Broadcast(args)
}

func (t *Team) run(number int, args []float64) error {
	err := t.procedures[number](args)
	if err != nil {
		t.Abort(err)
	}
	return err
}

// Serve runs the procedures that rank 0 calls, in a process that is not rank 0, until rank 0 calls
// Release.
func (t *Team) Serve() error {
	for {
		head := make([]float64, 2)
		if err := t.Broadcast(head); err != nil {
			return err
		}
		number := int(head[0])
		if number == release {
			return nil
		}
		t.args = slices.Grow(t.args[:0], int(head[1]))[:int(head[1])]
		if len(t.args) > 0 {
			if err := t.Broadcast(t.args); err != nil {
				return err
			}
		}
		if err := t.run(number, t.args); err != nil {
			return err
		}
	}
}

// Release ends Serve in the other processes. Only rank 0 calls it.
func (t *Team) Release() error { return t.send(release, nil) }

// ErrElsewhere is wrapped by the errors of Agree in processes without an error of their own.
var ErrElsewhere = errors.New("another process failed")

// Agree tells all processes whether one of them has failed. It returns err, or an error that wraps
// ErrElsewhere and names the first process that failed. alone reports that this process is the
// first that failed, so that it reports its error.
func (t *Team) Agree(err error) (all error, alone bool) {
	failed := make([]float64, t.Size())
	if err != nil {
		failed[t.Rank()] = 1
	}
	if exchange := t.Sum(failed); exchange != nil {
		return errors.Join(err, exchange), true
	}
	first := slices.Index(failed, 1)
	if err == nil && first >= 0 {
		err = fmt.Errorf("ranks: process %d: %w", first, ErrElsewhere)
	}
	return err, first == t.Rank()
}
