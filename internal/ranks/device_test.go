package ranks

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// memory is the iterate of a process, and counts what the process does with vectors.
type memory struct {
	problem.Vectors
	x         []float64
	new, sets int
}

func (m *memory) Len() int                                { return len(m.x) }
func (m *memory) New() problem.Vector                     { m.new++; return problem.Vector(m.new) }
func (m *memory) Read(dst []float64, _ problem.Vector)    { copy(dst, m.x) }
func (m *memory) Write(_ problem.Vector, value []float64) { m.sets++; copy(m.x, value) }

// noting is a program that notes its calls. Its results are functions of the arguments.
type noting struct {
	plan.Program
	x     *memory
	calls []string
	fail  error
}

func (n *noting) note(format string, args ...any) error {
	n.calls = append(n.calls, fmt.Sprintf(format, args...))
	return n.fail
}

func (n *noting) Forward(g []float64) (float64, error) {
	for i := range g {
		g[i] = n.x.x[1] + float64(i)
	}
	return n.x.x[0], n.note("forward %v, %d constraints", n.x.x, len(g))
}

func (n *noting) Backward(c []float64, d problem.Vector) error {
	return n.note("backward %v in %d", c, d)
}

func (n *noting) Contents(v plan.View, dst []float64) error {
	for i := range dst {
		dst[i] = float64(i)
	}
	return n.note("contents %v in %d numbers", v, len(dst))
}

func (n *noting) Bind(v plan.View, m matrix.Matrix) error { return n.note("bind %v", v) }

// keeping is a noting that can keep matrices.
type keeping struct{ *noting }

func (k keeping) Keep(v plan.View, m matrix.Matrix) (func(), error) {
	return func() {}, k.note("keep %v", v)
}

// compiler is a device with one program.
type compiler struct {
	plan.Device
	program plan.Program
	fail    error
}

func (c compiler) Compile(*plan.Plan, problem.Vectors) (plan.Program, error) {
	return c.program, c.fail
}

// The program of process 0 runs in all processes, at the iterate of process 0, which keeps the
// results.
func TestDevice(t *testing.T) {
	third, narrow := 1.0/3, float64(float32(1.0/3))
	view := plan.View{Buffer: 1, Offset: 2, Stride: 3, Rows: 4, Cols: 5}
	for dtype, others := range map[tensor.Dtype]float64{tensor.Float64: third, tensor.Float32: narrow} {
		if err := together(3, func(c Collective) error {
			team, x := NewTeam(c), &memory{x: []float64{third, 7}}
			if c.Rank() > 0 {
				x.x = []float64{0, 0}
			}
			inner := &noting{x: x}
			p, err := Device(compiler{program: inner}, team).Compile(&plan.Plan{Dtype: dtype, Constraints: []plan.View{{Rows: 2, Cols: 1}, {Rows: 1, Cols: 1}}}, x)
			if err != nil {
				return err
			}
			value, d := third, 5
			if c.Rank() > 0 {
				value, d = others, 1
				err = team.Serve()
			} else {
				g, contents := make([]float64, 3), make([]float64, 20)
				f, failed := p.Forward(g)
				_, again := p.Forward(g)
				err = errors.Join(failed, again, p.Backward([]float64{1, 2}, 5), p.Backward([]float64{3}, 5), p.Contents(view, contents), p.Contents(view, contents),
					team.Release())
				if f != third || !slices.Equal(g, []float64{7, 8, 9}) || contents[19] != 19 {
					t.Errorf("%v: objective %v, constraints %v, contents %v", dtype, f, g, contents)
				}
			}
			forward := fmt.Sprintf("forward [%v 7], 3 constraints", value)
			want := []string{forward, forward, fmt.Sprintf("backward [1 2] in %d", d), fmt.Sprintf("backward [3] in %d", d), fmt.Sprintf("contents %v in 20 numbers", view),
				fmt.Sprintf("contents %v in 20 numbers", view)}
			if !slices.Equal(inner.calls, want) || x.new != min(1, c.Rank()) || x.sets != 2*min(1, c.Rank()) {
				t.Errorf("%v, process %d: %q, want %q; %d vectors, %d iterates", dtype, c.Rank(), inner.calls, want, x.new, x.sets)
			}
			return err
		}); err != nil {
			t.Errorf("%v: %v", dtype, err)
		}
	}
}

// Errors of the process's own program are errors of the shared program, and matrices stay in their
// process.
func TestDeviceFails(t *testing.T) {
	broken := errors.New("broken")
	compile := func(inner plan.Program, fail error) (plan.Program, error) {
		return Device(compiler{program: inner, fail: fail}, NewTeam(Goroutines(1)[0])).Compile(&plan.Plan{}, &memory{x: []float64{1, 2}})
	}
	if p, err := compile(&noting{}, broken); err != broken || p != nil {
		t.Errorf("a program that does not compile: %v, %v", p, err)
	}
	for name, call := range map[string]func(p plan.Program) error{
		"forward":  func(p plan.Program) error { _, err := p.Forward(nil); return err },
		"backward": func(p plan.Program) error { return p.Backward(nil, 0) },
		"contents": func(p plan.Program) error { return p.Contents(plan.View{}, nil) },
		"bind":     func(p plan.Program) error { return p.Bind(plan.View{}, nil) },
		"keep":     func(p plan.Program) error { _, err := p.(plan.Keeper).Keep(plan.View{}, nil); return err },
	} {
		p := require.Value(compile(keeping{&noting{x: &memory{x: []float64{1, 2}}, fail: broken}}, nil))(t)
		if err := call(p); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	inner := &noting{}
	p := require.Value(compile(inner, nil))(t)
	if err := p.Contents(plan.View{Rows: 9, Cols: 9}, make([]float64, 2)); err != nil || inner.calls[0] != "contents {0 0 0 9 9} in 2 numbers" {
		t.Errorf("room for 2 of 81 numbers: %q, %v", inner.calls, err)
	}
	if use, err := p.(plan.Keeper).Keep(plan.View{}, nil); use != nil || err != nil {
		t.Errorf("a program that keeps no matrices: %v", err)
	}
}
