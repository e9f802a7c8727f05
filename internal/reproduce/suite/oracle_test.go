package suite

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"ppal/internal/oracle"
	"ppal/internal/require"
)

// client talks to an oracle as an optimiser does.
type client struct {
	t     *testing.T
	in    *bufio.Reader
	out   io.Writer
	start []float64
	oracle.Header
}

// connect serves a problem and reads the header and the start. The returned function ends the
// oracle and returns its trace.
func connect(t *testing.T, name string) (*client, func() string) {
	t.Helper()
	list := require.Value(Select(name))(t)
	b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	var trace strings.Builder
	served := make(chan error, 1)
	go func() {
		err := Serve(b, requests, answers, &trace)
		requests.CloseWithError(io.EOF) // a client that waits for the oracle gets an error
		answers.CloseWithError(io.EOF)
		served <- err
	}()
	c := &client{t: t, in: bufio.NewReader(fromServer), out: toServer}
	line := require.Value(c.in.ReadBytes('\n'))(t)
	require.NoError(t, json.Unmarshal(line, &c.Header))
	c.start = c.read(c.N)
	return c, func() string {
		toServer.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		return trace.String()
	}
}

func (c *client) send(kind byte, x []float64) {
	c.t.Helper()
	data := []byte{kind}
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	if _, err := c.out.Write(data); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read(n int) []float64 {
	c.t.Helper()
	x := make([]float64, n)
	if err := binary.Read(c.in, binary.LittleEndian, x); err != nil {
		c.t.Fatal(err)
	}
	return x
}

// values requests f and g at x.
func (c *client) values(x []float64) []float64 {
	c.send(oracle.Forward, x)
	return c.read(1 + c.M)
}

// gradient requests w_0 grad f + J^T w at the point of the last values.
func (c *client) gradient(w []float64) []float64 {
	c.send(oracle.Backward, w)
	return c.read(c.N)
}

// The gradient of every function is the difference of the values. The oracle counts the requests
// and certifies a returned KKT point.
func TestOracle(t *testing.T) {
	for _, name := range []string{"hs113", "hs086", "ball-and-plane"} {
		t.Run(name, func(t *testing.T) {
			c, end := connect(t, name)
			x := append([]float64{}, c.start...)
			for i := range x {
				x[i] += 0.1 * float64(i%3)
			}
			w := make([]float64, 1+c.M)
			for j := range w {
				w[j] = 1 + 0.5*float64(j)
			}
			lagrangian := func(x []float64) (sum float64) {
				for j, v := range c.values(x) {
					sum += w[j] * v
				}
				return sum
			}
			c.values(x)
			got := c.gradient(w)
			const h = 1e-5
			for i := range x {
				at := x[i]
				x[i] = at + h
				above := lagrangian(x)
				x[i] = at - h
				want := (above - lagrangian(x)) / (2 * h)
				x[i] = at
				if math.Abs(got[i]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("gradient %d is %v, the difference of the values gives %v", i, got[i], want)
				}
			}
			lines := strings.Split(strings.TrimSpace(end()), "\n")
			var last Evaluation
			forwards := 1 + 2*c.N
			passed := 0 // checkpoints that an evaluation passes
			for _, k := range Checkpoints() {
				if k < forwards {
					passed++
				}
			}
			require.NoError(t, json.Unmarshal([]byte(lines[forwards-1+passed]), &last))
			if last.Forwards != forwards || last.Backwards != 1 || last.Evaluations != forwards {
				t.Errorf("the last evaluation is %+v, want %d forward passes", last, forwards)
			}
			if len(lines) != forwards+len(Checkpoints()) {
				t.Errorf("%d lines of trace, want %d", len(lines), forwards+len(Checkpoints()))
			}
		})
	}
}

// A returned point is certified, and the next gradient is still the gradient at the last F.
func TestOracleCertifiesReturnedPoint(t *testing.T) {
	c, end := connect(t, "hs043")
	optimum := []float64{0, 1, 2, -1}
	w := []float64{1, 0.5, 0, 2}
	c.values(c.start)
	before := c.gradient(w)
	c.send(oracle.Return, optimum)
	after := c.gradient(w)
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("the gradient changed from %v to %v", before, after)
			break
		}
	}
	lines := strings.Split(strings.TrimSpace(end()), "\n")
	var at Checkpoint
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &at))
	if at.Checkpoint != 1000 || !(float64(at.Epsilon) < 1e-9) || float64(at.Best) != 0 {
		t.Errorf("the last checkpoint is %+v, want epsilon 0 and f 0, the value of the start", at)
	}
}

func TestOracleRefuses(t *testing.T) {
	list := require.Value(Select("hs043"))(t)
	for requests, text := range map[string]string{
		"X":                              `unknown request 'X', want F, B, R or Q`,
		"F123":                           "unexpected EOF",
		"B" + strings.Repeat("\x00", 32): "request B before the first F",
	} {
		b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
		if err := Serve(b, strings.NewReader(requests), io.Discard, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q", requests, err, text)
		}
	}
	if err := func() error { _, err := Select("hs0"); return err }(); err == nil {
		t.Error("Select found hs0")
	}
}
