package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ppal/internal/oracle"
	"ppal/trainer/problem"
)

// Serve answers the requests of an optimiser for a built problem. The start is the iterate, inside
// the domain of r. If trace is not nil, Serve writes a line of JSON for every forward pass
// (Evaluation) and for every checkpoint (Checkpoint).
func Serve(b *Built, in io.Reader, out io.Writer, trace io.Writer) error {
	n, m := b.Dims()
	s := &server{conn: oracle.NewConn(in, out), x: make([]float64, n), w: make([]float64, 1+m)}
	var onEvaluation func(Evaluation) error
	var onCheckpoint func(Checkpoint) error
	if trace != nil {
		lines := json.NewEncoder(trace)
		onEvaluation = func(e Evaluation) error { return lines.Encode(e) }
		onCheckpoint = func(c Checkpoint) error { return lines.Encode(c) }
	}
	s.meter = newMeter(b, onEvaluation, onCheckpoint)
	s.d = b.Space().New()
	if err := s.conn.Greet(b.Name, b); err != nil {
		return err
	}
	for {
		more, err := s.answer()
		if err != nil {
			return fmt.Errorf("suite: the oracle of %s: %w", b.Name, err)
		}
		if !more {
			return s.meter.finish()
		}
	}
}

// server is a running oracle.
type server struct {
	meter *meter
	conn  *oracle.Conn
	x, w  []float64 // a point or a gradient, and values or coefficients
	d     problem.Vector
}

// answer reads and answers one request. It returns false after the last request.
func (s *server) answer() (more bool, err error) {
	kind, err := s.conn.Request()
	if err != nil {
		return false, err
	}
	switch kind {
	case oracle.Forward:
		if err := s.transfer(s.conn.Read, s.x); err != nil {
			return false, err
		}
		s.meter.Space().Write(problem.Iterate, s.x)
		if s.w[0], err = s.meter.Forward(s.w[1:]); err != nil {
			return false, err
		}
		return true, s.transfer(s.conn.Write, s.w)
	case oracle.Backward:
		if err := s.transfer(s.conn.Read, s.w); err != nil {
			return false, err
		}
		if s.meter.last.Forwards == 0 {
			return false, errors.New("request B before the first F")
		}
		if err := s.meter.Backward(s.w, s.d); err != nil {
			return false, err
		}
		s.meter.Space().Read(s.x, s.d)
		return true, s.transfer(s.conn.Write, s.x)
	case oracle.Return:
		if err := s.transfer(s.conn.Read, s.x); err != nil {
			return false, err
		}
		return true, s.meter.returned(s.x)
	}
	return false, nil
}

// transfer reads or writes numbers. The transfer does not count as the optimiser's time.
func (s *server) transfer(move func(x []float64) error, x []float64) error {
	s.meter.clock.pause()
	defer s.meter.clock.resume()
	return move(x)
}
