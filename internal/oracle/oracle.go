// Package oracle serves f, g and gradients of a problem to another program, over a binary protocol
// on the program's standard input and output. Method makes such a program a method of a run: ppal
// sends the start, counts the evaluations, and keeps the records.
//
// The oracle first writes a line of JSON (Header) and the start, n numbers. All numbers are
// little-endian float64. A request of the program is a byte and numbers:
//
//	F x    answer: f(x) and g(x), 1 + m numbers
//	B w    answer: w_0 grad f + sum_j w_j grad g_j at the last x of F, n numbers; w has 1 + m
//	R x    no answer: the program returns the point x
//	Q      no answer: the program ends; the end of its output means the same
package oracle

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

// Header is the first line that an oracle writes.
type Header struct {
	Problem string   `json:"problem"`
	N       int      `json:"n"`
	M       int      `json:"m"`
	Radius  *float64 `json:"radius"` // of the ball of r; null: no ball
	Lower   *float64 `json:"lower"`  // bound of every coordinate; null: no bound
	Upper   *float64 `json:"upper"`
	Dtype   string   `json:"dtype"` // the precision in which the oracle computes
}

// The requests.
const (
	Forward  = 'F'
	Backward = 'B'
	Return   = 'R'
	Quit     = 'Q'
)

// Conn is the oracle's side of the protocol.
type Conn struct {
	in    *bufio.Reader
	out   *bufio.Writer
	bytes []byte
}

// NewConn returns a connection that reads requests and writes answers.
func NewConn(in io.Reader, out io.Writer) *Conn {
	return &Conn{in: bufio.NewReader(in), out: bufio.NewWriter(out)}
}

// Greet writes the header and the start, which is the iterate of p inside the domain of r.
func (c *Conn) Greet(name string, p problem.Problem) error {
	n, m := p.Dims()
	h := Header{Problem: name, N: n, M: m, Dtype: "float64"}
	if p.Space().Roundoff() > 1e-12 {
		h.Dtype = "float32"
	}
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	switch r := p.Space().Regularizer; r.Kind {
	case problem.Ball:
		h.Radius = &r.Radius
	case problem.Box:
		h.Lower, h.Upper = finite(r.Lower), finite(r.Upper)
	case problem.NoRegularizer:
	default:
		return fmt.Errorf("oracle: %w: %s has the regularizer %v, which the protocol of the oracle lacks", problem.ErrSettings, name, r.Kind)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	p.Space().Project()
	x := make([]float64, n)
	p.Space().Read(x, problem.Iterate)
	if _, err := c.out.Write(append(text, '\n')); err != nil {
		return err
	}
	return c.Write(x)
}

// Request reads the byte of a request, Quit at the end of the input. The error names an unknown
// request.
func (c *Conn) Request() (byte, error) {
	kind, err := c.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return Quit, nil
	case err != nil:
		return 0, err
	case kind != Forward && kind != Backward && kind != Return && kind != Quit:
		return 0, fmt.Errorf("oracle: unknown request %q, want F, B, R or Q", kind)
	}
	return kind, nil
}

// Read reads the numbers of a request.
func (c *Conn) Read(x []float64) error {
	bytes := c.buffer(len(x))
	if _, err := io.ReadFull(c.in, bytes); err != nil {
		return err
	}
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
	}
	return nil
}

// Write writes the numbers of an answer.
func (c *Conn) Write(x []float64) error {
	bytes := c.buffer(len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint64(bytes[8*i:], math.Float64bits(v))
	}
	if _, err := c.out.Write(bytes); err != nil {
		return err
	}
	return c.out.Flush()
}

// buffer returns the bytes of n numbers.
func (c *Conn) buffer(n int) []byte {
	if len(c.bytes) < 8*n {
		c.bytes = make([]byte, 8*n)
	}
	return c.bytes[:8*n]
}
