package oracle

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// behaviour is the variable that makes the test binary a contender.
const behaviour = "PPAL_TEST_CONTENDER"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "":
		os.Exit(m.Run())
	case "descends":
		descend(1 << 30)
	case "returns":
		descend(5)
		send(Return, []float64{0.25, 0})
		send(Quit, nil)
	case "junk":
		fmt.Print("X")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "fails":
		fmt.Fprintln(os.Stderr, "a first line\nno module named torch")
		os.Exit(3)
	}
	os.Exit(0)
}

func send(kind byte, x []float64) {
	data := []byte{kind}
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	_, _ = os.Stdout.Write(data)
}

// descend is gradient descent-ascent by the protocol.
func descend(steps int) {
	in := bufio.NewReader(os.Stdin)
	read := func(n int) []float64 {
		x := make([]float64, n)
		if binary.Read(in, binary.LittleEndian, x) != nil {
			os.Exit(0) // the run has ended
		}
		return x
	}
	line, _ := in.ReadBytes('\n')
	var h Header
	if json.Unmarshal(line, &h) != nil || h.Dtype != "float64" || h.Radius == nil || *h.Radius != 10 {
		fmt.Fprintf(os.Stderr, "the header %s\n", line)
		os.Exit(4)
	}
	x, w := read(h.N), make([]float64, 1+h.M)
	w[0] = 1
	for range steps {
		send(Forward, x)
		values := read(1 + h.M)
		for j := range h.M {
			w[1+j] = math.Max(0, w[1+j]+0.2*values[1+j])
		}
		send(Backward, w)
		for i, d := range read(h.N) {
			x[i] -= 0.2 * d
		}
	}
}

// towards is min (x - 1)^2 + y^2 with x <= 1/2: x = 1/2, y = 0, lambda = 1.
func towards(t *testing.T) problem.Problem {
	t.Helper()
	fn := problem.Functions{N: 2, M: 1, Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 10},
		F:         func(x []float64) float64 { return (x[0]-1)*(x[0]-1) + x[1]*x[1] },
		Gradient:  func(d, x []float64) { d[0], d[1] = 2*(x[0]-1), 2*x[1] },
		G:         func(g, x []float64) { g[0] = x[0] - 0.5 },
		JacobianT: func(d, x, w []float64) { d[0], d[1] = w[0], 0 },
	}
	return require.Value(fn.New([]float64{-1, 2}))(t)
}

func train(t *testing.T, as string, gradients int) (x []float64, r *trainer.Result, err error) {
	t.Helper()
	t.Setenv(behaviour, as)
	m, p := &Method{Program: "other", Command: os.Args[0]}, towards(t)
	r, err = trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 1000, Gradients: gradients})
	if err := m.Close(); err != nil || m.process != nil {
		t.Errorf("the process has not ended: %v", err)
	}
	x = make([]float64, 2)
	p.Space().Read(x, problem.Iterate)
	return x, r, err
}

// A program trains the problem of a run up to the run's budget, and every pass counts.
func TestProgramIsAMethod(t *testing.T) {
	x, r, err := train(t, "descends", 200)
	if err != nil || r.Point.GradientEvaluations != 200 || r.Iterations != 200 {
		t.Fatalf("%+v, %v", r, err)
	}
	if math.Abs(x[0]-0.5)+math.Abs(x[1]) > 1e-6 || math.Abs(r.Certificate.Nu[0]-1) > 1e-5 {
		t.Errorf("x = %v, nu = %v", x, r.Certificate.Nu)
	}
	x, r, err = train(t, "returns", 200)
	if err != nil || r.Point.GradientEvaluations != 5 || x[0] != 0.25 || x[1] != 0 || r.Point.Objective != 0.5625 {
		t.Errorf("x = %v, %+v, %v", x, r, err)
	}
}

// A program that fails ends the run with an error of one line, which has the program's last words.
func TestProgramFails(t *testing.T) {
	for as, want := range map[string]string{"junk": `unknown request 'X', want F, B, R or Q`, "fails": "exit status 3: no module named torch"} {
		if _, _, err := train(t, as, 10); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", as, err)
		}
	}
	p := towards(t)
	for _, m := range []*Method{{}, {Command: "no-such-program-of-ppal"}} {
		if _, err := trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 1}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", m.Command, err)
		}
	}
}
