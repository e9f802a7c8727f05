package ranks

import (
	"errors"
	"fmt"
	"slices"
)

// Team runs procedures in all processes of a Collective. All processes register the same procedures
// in the same order. Then rank 0 calls procedures, and the other processes Serve until rank 0 calls
// Release. A procedure may call the methods of the Collective, because all processes run it. After
// an error of an exchange the processes may wait for each other, so the Team calls Abort.
type Team struct {
	Collective
	procedures []func(message []byte) error
	head       []float64 // of the present call
	buffer     []float64 // for the message of a call in a process that serves
	inside     bool      // a procedure runs, or ended by an error or a panic
}

// Procedure runs in all processes, with the message that rank 0 gives. Only rank 0 calls it.
type Procedure func(message []byte) error

// NewTeam returns the team of the processes of c, without procedures.
func NewTeam(c Collective) *Team { return &Team{Collective: c, head: make([]float64, headNumbers)} }

// release is the number that ends Serve.
const release = -1

// Rank returns the number of this process, from 0.
func (t *Team) Rank() int {
	if t == nil {
		return 0
	}
	return t.Collective.Rank()
}

// Size returns the number of processes.
func (t *Team) Size() int {
	if t == nil {
		return 1
	}
	return t.Collective.Size()
}

// Sum adds x over the processes.
func (t *Team) Sum(x []float64) error {
	if t == nil {
		return nil
	}
	return t.Collective.Sum(x)
}

// Register adds a procedure. The message is valid until the procedure returns, and its memory is
// aligned for Numbers. If the procedure returns an error in one process, the other processes may
// wait for it: the run of all processes ends with the error.
func (t *Team) Register(do func(message []byte) error) Procedure {
	if t == nil {
		return do
	}
	number := len(t.procedures)
	t.procedures = append(t.procedures, do)
	return func(message []byte) error {
		if t.Rank() != 0 {
			return fmt.Errorf("ranks: process %d calls procedure %d, which is for process 0", t.Rank(), number)
		}
		if err := t.send(number, message); err != nil {
			return err
		}
		return t.run(number, message)
	}
}

// send tells the processes that serve what to run next.
func (t *Team) send(number int, message []byte) error {
	t.head[0], t.head[1] = float64(number), float64(len(message))
	if len(message) <= mostInHead {
		copy(Bytes(t.head[2:]), message)
		return t.broadcast(Bytes(t.head))
	}
	if err := t.broadcast(Bytes(t.head)); err != nil {
		return err
	}
	return t.broadcast(message)
}

// broadcast is Broadcast. An error ends the run of all processes.
func (t *Team) broadcast(message []byte) error {
	err := t.Broadcast(message)
	if err != nil {
		t.Abort(err)
	}
	return err
}

// A head is the number of a procedure, the length of its message in bytes, and a short message.
const (
	headNumbers = 64
	mostInHead  = 8 * (headNumbers - 2)
)

func (t *Team) run(number int, message []byte) error {
	t.inside = true
	err := t.procedures[number](message)
	if err != nil {
		t.Abort(err)
	}
	t.inside = err != nil
	return err
}

// Serve runs the procedures that rank 0 calls, in a process that is not rank 0, until rank 0 calls
// Release.
func (t *Team) Serve() error {
	for {
		if err := t.broadcast(Bytes(t.head)); err != nil {
			return err
		}
		number, length := int(t.head[0]), int(t.head[1])
		if number == release {
			return nil
		}
		message := Bytes(t.head[2:])[:min(length, mostInHead)]
		if length > mostInHead {
			if words := (length + 7) / 8; words > len(t.buffer) {
				t.buffer = make([]float64, words)
			}
			message = Bytes(t.buffer)[:length]
			if err := t.broadcast(message); err != nil {
				return err
			}
		}
		if err := t.run(number, message); err != nil {
			return err
		}
	}
}

// Release ends Serve in the other processes. Only rank 0 calls Release. If a procedure did not
// return, the other processes may wait inside the procedure: then Release does nothing, and the
// caller calls Abort.
func (t *Team) Release() error {
	if t.inside {
		return nil
	}
	return t.send(release, nil)
}

// Vote reports whether a process votes for true. See Tell for a process that has failed.
func (t *Team) Vote(own bool) (any bool, err error) {
	vote := 0.0
	if own {
		vote = 0.5
	}
	votes, err := t.Tell(vote)
	return err == nil && slices.Max(votes) > 0, err
}

// Tell returns the numbers of all processes. A number must not be 1. A process that has failed and
// calls Agree in place of Tell ends the exchange: the others then get an error that wraps
// ErrElsewhere, and do not call Agree.
func (t *Team) Tell(own float64) (all []float64, err error) {
	all = make([]float64, t.Size())
	all[t.Rank()] = own
	if err := t.Sum(all); err != nil {
		t.Abort(err)
		return nil, err
	}
	if one := slices.Index(all, 1); one >= 0 {
		return nil, fmt.Errorf("ranks: process %d: %w", one, ErrElsewhere)
	}
	return all, nil
}

// ErrElsewhere is wrapped by the errors of Agree in processes without an error of their own.
var ErrElsewhere = errors.New("another process failed")

// Agree tells all processes whether one of them has failed. It returns err, or an error that wraps
// ErrElsewhere and names the first process that failed. first says that this process is the
// first that failed, so that it reports its error.
func (t *Team) Agree(err error) (all error, first bool) {
	failed := make([]float64, t.Size())
	if err != nil {
		failed[t.Rank()] = 1
	}
	if exchange := t.Sum(failed); exchange != nil {
		all = errors.Join(err, exchange)
		t.Abort(all)
		return all, true
	}
	one := slices.Index(failed, 1)
	if err == nil && one >= 0 {
		err = fmt.Errorf("ranks: process %d: %w", one, ErrElsewhere)
	}
	return err, one == t.Rank()
}
