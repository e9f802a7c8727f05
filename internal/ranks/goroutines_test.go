package ranks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/trainer/problem"
)

// A sum adds in the order of the ranks: (1 + 1e16) - 1e16 = 0, while 1 + (1e16 - 1e16) = 1.
func TestSumOrder(t *testing.T) {
	if err := together(3, func(c Collective) error {
		x := []float64{[]float64{1, 1e16, -1e16}[c.Rank()], float64(c.Rank())}
		if err := c.Sum(x); err != nil || !slices.Equal(x, []float64{0, 3}) {
			t.Errorf("rank %d: sum %v, %v", c.Rank(), x, err)
		}
		x = []float64{float64(c.Rank() + 7)}
		if err := c.Broadcast(x); err != nil || x[0] != 7 {
			t.Errorf("rank %d: broadcast %v, %v", c.Rank(), x, err)
		}
		return c.Barrier()
	}); err != nil {
		t.Fatal(err)
	}
}

// A rank that ends the run, or that gives another number of elements, ends all ranks with an error.
func TestAbort(t *testing.T) {
	broken := errors.New("broken")
	if err := together(3, func(c Collective) error {
		if c.Rank() == 1 {
			c.Abort(broken)
			c.Abort(errors.New("later"))
		}
		if err := c.Barrier(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "process 1") {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := together(2, func(c Collective) error {
		if err := c.Sum(make([]float64, 1+c.Rank())); err == nil {
			t.Errorf("rank %d: a sum of 1 and 2 numbers gave no error", c.Rank())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// square is a part: rank/2 + x^2, with the constraint x - rank.
func square(start float64, rank int) (problem.Problem, error) {
	return problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return float64(rank)/2 + x[0]*x[0] },
		Gradient:  func(dst, x []float64) { dst[0] = 2 * x[0] },
		G:         func(dst, x []float64) { dst[0] = x[0] - float64(rank) },
		JacobianT: func(dst, x, w []float64) { dst[0] = w[0] },
	}.New([]float64{start})
}

// Ranks with another iterate, or with other coefficients, end all ranks with an error.
func TestRanksThatDiffer(t *testing.T) {
	for name, differ := range map[string]func(rank int) (start, coefficient float64){
		"iterate":      func(rank int) (float64, float64) { return float64(rank), 1 },
		"coefficients": func(rank int) (float64, float64) { return 2, float64(rank) },
		"nothing":      func(int) (float64, float64) { return 2, 1 },
	} {
		err := together(3, func(c Collective) error {
			start, coefficient := differ(c.Rank())
			part, err := square(start, c.Rank())
			if err != nil {
				return err
			}
			p, err := Summed(part, c)
			if err != nil {
				return err
			}
			g := make([]float64, 1)
			f, err := p.Forward(g)
			if err != nil {
				return err
			}
			d := p.Space().New()
			if err := p.Backward([]float64{1, coefficient}, d); err != nil {
				return err
			}
			got := make([]float64, 1)
			p.Space().Read(got, d)
			if f != 13.5 || g[0] != 3 || got[0] != 15 {
				t.Errorf("f = %v, g = %v, gradient %v, want 13.5, 3, 15", f, g, got)
			}
			return c.Barrier()
		})
		if (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Parts with mini-batches or maxima are refused; one process needs no sums.
func TestSummedRefuses(t *testing.T) {
	part, err := square(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	maxima, err := problem.MakePiecewise(part, problem.Abs(1))
	if err != nil {
		t.Fatal(err)
	}
	two := Goroutines(2)[0]
	for name, p := range map[string]problem.Problem{"maxima": maxima, "batches": batches{part}} {
		if _, err := Summed(p, two); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := Summed(maxima, Goroutines(1)[0]); err != nil || p != problem.Problem(maxima) {
		t.Errorf("one process: %v, %v", p, err)
	}
}

// batches is a problem with mini-batches.
type batches struct{ problem.Problem }

func (batches) Sample(int) error { return nil }
