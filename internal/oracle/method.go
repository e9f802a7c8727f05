package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Name is the method that `ppal train --oracle` runs.
const Name = "oracle"

// Method lets another program train. Each forward pass that the program requests is an iteration.
// The gradient evaluations are the larger of the numbers of forward and backward passes. The
// program computes on all rows. The run ends when the program ends, and a run that ends first ends
// the program.
type Method struct {
	// Program is the name of the method; "" means Name.
	Program string
	// Command starts the program: words separated by spaces, without a shell. If Command is "", the
	// program runs already, writes requests to In and reads answers from Out.
	Command string
	In      io.Reader
	Out     io.Writer

	conn    *Conn
	process *exec.Cmd
	stdin   io.Closer
	stderr  tail
	x, w    []float64 // a point or a gradient, and values or coefficients
	d       problem.Vector
	// passes that the program asked for
	forwards, backwards int
	ended               bool
}

var (
	_ trainer.Method = (*Method)(nil)
	_ trainer.Rester = (*Method)(nil)
	_ io.Closer      = (*Method)(nil)
)

// Name implements trainer.Method.
func (m *Method) Name() string {
	if m.Program == "" {
		return Name
	}
	return m.Program
}

// Needs implements trainer.Method.
func (m *Method) Needs() trainer.Needs {
	return trainer.Needs{Of: m.Name(), Evaluations: true, AllRows: true}
}

// Init implements trainer.Method: it starts the program at the iterate. Each round of a run starts
// the program again. The error wraps problem.ErrSettings without a program, and for a second round
// with a program that Method did not start.
func (m *Method) Init(p problem.Problem, at *problem.Point) error {
	if err := m.start(); err != nil {
		return err
	}
	n, count := p.Dims()
	m.x, m.w, m.d, m.forwards, m.backwards, m.ended = make([]float64, n), make([]float64, 1+count), p.Space().New(), 0, 0, false
	if err := m.conn.Greet(m.Name(), p); err != nil {
		return m.failed(err)
	}
	return at.Forward(p)
}

// start connects the program.
func (m *Method) start() error {
	if m.Command == "" {
		if m.In == nil || m.Out == nil {
			return fmt.Errorf("oracle: %w: no program is connected: use ppal train --oracle, or ppal compare --contender", problem.ErrSettings)
		}
		if m.conn != nil {
			return fmt.Errorf("oracle: %w: bounds on decisions take several rounds, each with a new problem: use --bounds-on surrogate", problem.ErrSettings)
		}
		m.conn = NewConn(m.In, m.Out)
		return nil
	}
	if err := m.Close(); err != nil {
		return err
	}
	words := strings.Fields(m.Command)
	m.process, m.stderr = exec.Command(words[0], words[1:]...), tail{}
	m.process.Stderr = &m.stderr
	in, err := m.process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := m.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.process.Start(); err != nil {
		m.process = nil
		return fmt.Errorf("oracle: %s: %w", m.Command, err)
	}
	m.stdin, m.conn = in, NewConn(out, in)
	return nil
}

// Iterate implements trainer.Method: it answers requests up to the next forward pass.
func (m *Method) Iterate(p problem.Problem, at *problem.Point) error {
	for {
		kind, err := m.conn.Request()
		if err != nil {
			return m.failed(err)
		}
		switch kind {
		case Forward, Return:
			if err := m.conn.Read(m.x); err != nil {
				return m.failed(err)
			}
			p.Space().Write(problem.Iterate, m.x)
			if err := at.Forward(p); err != nil || kind == Return {
				return err
			}
			m.forwards++
			at.GradientEvaluations = max(at.GradientEvaluations, m.forwards)
			m.w[0] = at.Objective
			copy(m.w[1:], at.Constraints)
			if err := m.conn.Write(m.w); err != nil {
				return m.failed(err)
			}
			return nil
		case Backward:
			if err := m.conn.Read(m.w); err != nil {
				return m.failed(err)
			}
			before := at.GradientEvaluations
			if err := at.Backward(p, m.w, m.d); err != nil {
				return err
			}
			m.backwards++
			at.GradientEvaluations = max(before, m.backwards)
			p.Space().Read(m.x, m.d)
			if err := m.conn.Write(m.x); err != nil {
				return m.failed(err)
			}
		default:
			m.ended = true
			return m.failed(nil)
		}
	}
}

// failed ends the program after err, which is nil at the end of the requests. It returns nil if the
// program then exits with status 0, and otherwise an error with the last line that the program
// wrote to standard error.
func (m *Method) failed(err error) error {
	m.ended = true
	if m.process == nil {
		return err
	}
	if err != nil {
		_ = m.process.Process.Kill()
	}
	_ = m.stdin.Close()
	status := m.process.Wait()
	m.process = nil
	if err = errors.Join(err, status); err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), "\n", ", ")
	if last := m.stderr.last(); last != "" {
		text += ": " + last
	}
	return fmt.Errorf("oracle: %s: %s", m.Command, text)
}

// Close implements io.Closer: it ends the program.
func (m *Method) Close() error {
	if m.process == nil {
		return nil
	}
	_ = m.process.Process.Kill()
	_ = m.process.Wait() // the signal
	m.process = nil
	return nil
}

// Resting implements trainer.Rester: the program has ended.
func (m *Method) Resting() bool { return m.ended }

// Report implements trainer.Method.
func (m *Method) Report() trainer.Report { return trainer.NewReport(math.NaN(), nil) }

// VisitState implements trainer.Method. The method has no state; the program has.
func (m *Method) VisitState(problem.StateVisitor) {}

// tail keeps the last tailLength bytes that a program writes.
type tail struct{ text []byte }

const tailLength = 4096

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailLength):]
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return string(bytes.TrimSpace(lines[len(lines)-1]))
}
