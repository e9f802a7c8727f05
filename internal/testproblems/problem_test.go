package testproblems

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, p := range All() {
		if p.Name == "" || p.Source == "" || names[p.Name] {
			t.Errorf("%q: name missing or used twice, or no source", p.Name)
		}
		names[p.Name] = true
		if len(p.Start) != p.N || len(p.Optimum) != p.N {
			t.Errorf("%s: N = %d, Start %d, Optimum %d", p.Name, p.N, len(p.Start), len(p.Optimum))
		}
		if (p.Lower == nil) != (p.Upper == nil) || p.Lower != nil && (len(p.Lower) != p.N || len(p.Upper) != p.N) {
			t.Errorf("%s: box of %d and %d bounds", p.Name, len(p.Lower), len(p.Upper))
		}
		if p.LICQ && !p.MFCQ {
			t.Errorf("%s: LICQ without MFCQ", p.Name)
		}
		want := p.M
		if (p.Kind == Kink) != (p.Pieces != nil) {
			t.Errorf("%s: kind %v with %d pieces", p.Name, p.Kind, len(p.Pieces))
		}
		if p.Kind == Kink {
			want = len(p.Pieces)
			last := 0
			for _, c := range p.Pieces {
				if c.Constraint < last || c.Constraint > last+1 || c.Term < 0 || c.Term >= p.M {
					t.Errorf("%s: piece %+v out of order or range", p.Name, c)
				}
				last = c.Constraint
			}
		}
		if len(p.Multipliers) != want {
			t.Errorf("%s: %d multipliers, want %d", p.Name, len(p.Multipliers), want)
		}
	}
}

func TestByName(t *testing.T) {
	p, ok := ByName("HS43")
	if !ok || p.Name != "HS43" {
		t.Errorf("ByName(HS43) = %q, %v", p.Name, ok)
	}
	p.Optimum[0], p.Start[0] = 17, 17
	if q, _ := ByName("HS43"); q.Optimum[0] != 0 || q.Start[0] != 0 {
		t.Error("ByName returned a value that shares memory with an earlier one")
	}
	if _, ok := ByName("HS0"); ok {
		t.Error("ByName(HS0) found something")
	}
}

func TestConstraintsAreMaxima(t *testing.T) {
	p, _ := ByName("abs-branch-and-kink")
	got := make([]float64, p.NumConstraints())
	p.Constraints(got, []float64{-3, 2})
	if diff := cmp.Diff([]float64{2.75, 2}, got); diff != "" {
		t.Errorf("|h| - eps (-want +got):\n%s", diff)
	}
	if eps, ok := p.Absolute(); !ok || !cmp.Equal(eps, []float64{0.25, 0}) {
		t.Errorf("Absolute() = %v, %v", eps, ok)
	}

	p, _ = ByName("hinge-branch")
	p.Constraints(got[:1], []float64{-3})
	if got[0] != -0.25 {
		t.Errorf("max(0, -3) - 0.25 = %v", got[0])
	}
	for _, name := range []string{"hinge-branch", "max-of-abs", "max-kink", "HS43"} {
		if p, _ := ByName(name); true {
			if _, ok := p.Absolute(); ok {
				t.Errorf("%s taken for absolute values", name)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	p, _ := ByName("hinge-branch")
	s := p.Split()
	if s.M != 1 || s.Kind != Smooth || !cmp.Equal(s.Multipliers, []float64{0.15}) {
		t.Errorf("split hinge: M = %d, kind %v, multipliers %v", s.M, s.Kind, s.Multipliers)
	}
	p, _ = ByName("max-of-abs")
	s = p.Split()
	g := make([]float64, 4)
	s.G(g, []float64{0, 0, 0})
	// h = (2.5, -5.5).
	if diff := cmp.Diff([]float64{2, -3, -6, 5}, g); diff != "" {
		t.Errorf("split terms (-want +got):\n%s", diff)
	}
}

func TestBoundsAsConstraints(t *testing.T) {
	p, _ := ByName("HS36")
	s := p.BoundsAsConstraints()
	want := []float64{110, 0, 55, 0, 80, 0, 0}
	if diff := cmp.Diff(want, s.Multipliers); diff != "" {
		t.Errorf("multipliers (-want +got):\n%s", diff)
	}
	g := make([]float64, s.M)
	s.G(g, []float64{1, 2, 3})
	if diff := cmp.Diff([]float64{-61, -1, -19, -2, -9, -3, -39}, g); diff != "" {
		t.Errorf("g (-want +got):\n%s", diff)
	}
}

func TestScaled(t *testing.T) {
	for _, name := range []string{"HS36", "max-of-abs"} {
		p, _ := ByName(name)
		s := p.Scaled(0.5, 4)
		if got, want := s.F(p.Start), 0.5*p.F(p.Start); got != want {
			t.Errorf("%s: f = %v, want %v", name, got, want)
		}
		got, want := make([]float64, p.NumConstraints()), make([]float64, p.NumConstraints())
		terms := make([]float64, p.M)
		s.G(terms, p.Start)
		s.Constraints(got, terms)
		p.G(terms, p.Start)
		p.Constraints(want, terms)
		scale(want, 4)
		if !cmp.Equal(got, want) {
			t.Errorf("%s: g = %v, want %v", name, got, want)
		}
		if r := p.Multipliers[0] / 8; s.Multipliers[0] != r {
			t.Errorf("%s: multiplier %v, want %v", name, s.Multipliers[0], r)
		}
		if (s.Pieces == nil) != (p.Pieces == nil) {
			t.Errorf("%s: pieces %v", name, s.Pieces)
		}
	}
}

// TestOptimumIsLocalMinimum compares the exact penalty function
// f + c sum max(0, g), c above the largest multiplier, with its value at x* on
// random points of the box or ball around x*.
func TestOptimumIsLocalMinimum(t *testing.T) {
	for _, original := range All() {
		p := original.Split()
		rng := rand.New(rand.NewPCG(13, 17))
		c := 1.0
		for _, nu := range p.Multipliers {
			c = max(c, 2*nu)
		}
		g := make([]float64, p.M)
		penalty := func(x []float64) float64 {
			p.G(g, x)
			sum := p.F(x)
			for _, gj := range g {
				sum += c * max(0, gj)
			}
			return sum
		}
		floor := penalty(p.Optimum) - 1e-11*(1+math.Abs(p.Value))
		x := make([]float64, p.N)
		for k := range 3000 {
			radius := []float64{1e-1, 1e-2, 1e-3}[k%3] * (1 + norm(p.Optimum)) / 5
			for i := range x {
				x[i] = p.Optimum[i] + radius*rng.NormFloat64()/math.Sqrt(float64(p.N))
				if p.Lower != nil {
					x[i] = min(max(x[i], p.Lower[i]), p.Upper[i])
				}
			}
			if n := norm(x); p.Ball > 0 && n > p.Ball {
				for i := range x {
					x[i] *= p.Ball / n
				}
			}
			if v := penalty(x); v < floor {
				t.Errorf("%s: penalty %.12g at %v, %.12g at the optimum", p.Name, v, x, penalty(p.Optimum))
				break
			}
		}
	}
}
