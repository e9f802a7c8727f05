package suite

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"ppal/trainer/problem"
)

// header is the first line of an oracle, in JSON. The start follows as n numbers.
type header struct {
	Problem string   `json:"problem"`
	N       int      `json:"n"`
	M       int      `json:"m"`
	Radius  *float64 `json:"radius"` // of the ball of r; null: no ball
	Lower   *float64 `json:"lower"`  // bound of every coordinate; null: no bound
	Upper   *float64 `json:"upper"`
	Dtype   string   `json:"dtype"` // the precision in which the oracle computes
}

// The requests of the protocol. Each request is a byte, followed by numbers: little-endian float64.
const (
	requestForward  = 'F' // x: n numbers; the answer is f and g(x), 1 + m numbers
	requestBackward = 'B' // w: 1 + m numbers; the answer is w_0 grad f + J^T w at the last F, n numbers
	requestReturn   = 'R' // x: n numbers, a point that the optimiser returns; no answer
	requestQuit     = 'Q' // ends the oracle, as the end of the input does
)

// Serve answers the requests of an optimiser for a built problem: the oracle. The start is the
// iterate, inside the domain of r. If trace is not nil, Serve writes a line of JSON for every
// forward pass (Evaluation) and for every checkpoint (Checkpoint).
func Serve(b *Built, in io.Reader, out io.Writer, trace io.Writer) error {
	n, m := b.Dims()
	s := &server{in: bufio.NewReader(in), out: bufio.NewWriter(out), x: make([]float64, n), w: make([]float64, 1+m), bytes: make([]byte, 8*max(n, 1+m))}
	var onEvaluation func(Evaluation) error
	var onCheckpoint func(Checkpoint) error
	if trace != nil {
		lines := json.NewEncoder(trace)
		onEvaluation = func(e Evaluation) error { return lines.Encode(e) }
		onCheckpoint = func(c Checkpoint) error { return lines.Encode(c) }
	}
	s.meter = newMeter(b, onEvaluation, onCheckpoint)
	s.d = b.Space().New()
	if err := s.greet(b); err != nil {
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
	in    *bufio.Reader
	out   *bufio.Writer
	x, w  []float64 // a point or a gradient, and values or coefficients
	bytes []byte
	d     problem.Vector
}

// greet writes the header and the start.
func (s *server) greet(b *Built) error {
	h := header{Problem: b.Name, N: len(s.x), M: len(s.w) - 1, Dtype: b.dtype().String()}
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	switch r := b.Space().Regularizer; r.Kind {
	case problem.Ball:
		h.Radius = &r.Radius
	case problem.Box:
		h.Lower, h.Upper = finite(r.Lower), finite(r.Upper)
	case problem.NoRegularizer:
	default:
		return fmt.Errorf("suite: %s has the regularizer %v, which the protocol of the oracle lacks", b.Name, r.Kind)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b.Space().Project()
	b.Space().Read(s.x, problem.Iterate)
	if _, err := s.out.Write(append(text, '\n')); err != nil {
		return err
	}
	return s.write(s.x)
}

// answer reads and answers one request. It returns false after the last request.
func (s *server) answer() (more bool, err error) {
	kind, err := s.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch kind {
	case requestForward:
		if err := s.read(s.x); err != nil {
			return false, err
		}
		s.meter.Space().Write(problem.Iterate, s.x)
		if s.w[0], err = s.meter.Forward(s.w[1:]); err != nil {
			return false, err
		}
		return true, s.write(s.w)
	case requestBackward:
		if err := s.read(s.w); err != nil {
			return false, err
		}
		if s.meter.last.Forwards == 0 {
			return false, errors.New("request B before the first F")
		}
		if err := s.meter.Backward(s.w, s.d); err != nil {
			return false, err
		}
		s.meter.Space().Read(s.x, s.d)
		return true, s.write(s.x)
	case requestReturn:
		if err := s.read(s.x); err != nil {
			return false, err
		}
		return true, s.meter.returned(s.x)
	case requestQuit:
		return false, nil
	}
	return false, fmt.Errorf("unknown request %q, want F, B, R or Q", kind)
}

// read reads numbers. The transfer does not count as the optimiser's time.
func (s *server) read(x []float64) error {
	s.meter.clock.pause()
	defer s.meter.clock.resume()
	bytes := s.bytes[:8*len(x)]
	if _, err := io.ReadFull(s.in, bytes); err != nil {
		return err
	}
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
	}
	return nil
}

// write writes numbers. The transfer does not count as the optimiser's time.
func (s *server) write(x []float64) error {
	s.meter.clock.pause()
	defer s.meter.clock.resume()
	bytes := s.bytes[:8*len(x)]
	for i, v := range x {
		binary.LittleEndian.PutUint64(bytes[8*i:], math.Float64bits(v))
	}
	if _, err := s.out.Write(bytes); err != nil {
		return err
	}
	return s.out.Flush()
}
