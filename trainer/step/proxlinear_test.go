package step

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

type vec3 [3]float64

func dot3(a, b vec3) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func norm3(a vec3) float64 { return math.Sqrt(dot3(a, a)) }

// plus returns a + t b.
func plus(a vec3, t float64, b vec3) vec3 { return vec3{a[0] + t*b[0], a[1] + t*b[1], a[2] + t*b[2]} }

// termGradient is the gradient of f = (3 x_0^2 + 2 x_1^2 + x_2^2)/2 + x_0 x_1 - x_2.
func termGradient(x vec3) vec3 { return vec3{3*x[0] + x[1], 2*x[1] + x[0], x[2] - 1} }

// termValues are h_0 = x_0 + x_1^2/2 - 1, h_1 = x_0 x_2 and h_2 = x_1 - 2 x_2 + 1/2.
func termValues(x vec3) vec3 { return vec3{x[0] + x[1]*x[1]/2 - 1, x[0] * x[2], x[1] - 2*x[2] + 0.5} }

func termRows(x vec3) [3]vec3 { return [3]vec3{{1, x[1], 0}, {x[2], 0, x[0]}, {0, 1, -2}} }

// threeTerms is the problem of f and the terms h with the pieces.
func threeTerms(pieces []problem.Piece) problem.Functions {
	return problem.Functions{N: 3, M: 3, Pieces: pieces,
		F: func(x []float64) float64 {
			return (3*x[0]*x[0]+2*x[1]*x[1]+x[2]*x[2])/2 + x[0]*x[1] - x[2]
		},
		Gradient: func(dst, x []float64) { g := termGradient(vec3(x)); copy(dst, g[:]) },
		G:        func(dst, x []float64) { h := termValues(vec3(x)); copy(dst, h[:]) },
		JacobianT: func(dst, x, w []float64) {
			var sum vec3
			for t, row := range termRows(vec3(x)) {
				sum = plus(sum, w[t], row)
			}
			copy(dst, sum[:])
		}}
}

// proxByHand is the state of ProxLinearStep, computed from the formulas with plain loops.
type proxByHand struct {
	pieces              []problem.Piece
	rule, momentum      bool
	eta                 float64
	k, held             int
	l                   float64
	y, v, before, start vec3 // the terms' coefficients, the velocity, d_{k-1} and x_{k-1}
}

// direction is grad f + H^T y.
func (s *proxByHand) direction(x vec3) vec3 {
	d := termGradient(x)
	for t, row := range termRows(x) {
		d = plus(d, s.y[t], row)
	}
	return d
}

// coefficients are the sums of Sign y_p over the pieces of each term.
func (s *proxByHand) coefficients(shares []float64) (y vec3) {
	for i, p := range s.pieces {
		y[p.Term] += p.Sign * shares[i]
	}
	return y
}

// move checks that the shares of the step from x are optimal, and returns e and x+.
func (s *proxByHand) move(t *testing.T, x vec3, lambda []float64, rho float64, shares []float64) (e float64, next vec3) {
	t.Helper()
	n := 1.0
	for _, l := range lambda {
		n += math.Abs(l)
		if l < 0 {
			s.held++
		}
	}
	rows, used := termRows(x), vec3{}
	for _, p := range s.pieces {
		if p.Sign != 0 {
			used[p.Term] = 1
		}
	}
	if s.k == 0 { // the probe, with the multiplier on the first piece of each constraint
		first, group := make([]float64, len(shares)), -1
		for i, p := range s.pieces {
			if p.Constraint != group {
				first[i], group = lambda[p.Constraint], p.Constraint
			}
		}
		s.y = s.coefficients(first)
		d := s.direction(x)
		probe := plus(x, -1e-3*(1+norm3(x))/norm3(d), d)
		s.l = norm3(plus(s.direction(probe), -1, d)) / norm3(plus(probe, -1, x)) / n
	} else {
		c := norm3(plus(s.direction(x), -1, s.before)) / norm3(plus(x, -1, s.start)) / n
		s.l = math.Max(math.Min(0.995, 1-4/(float64(s.k)+40))*s.l, c)
	}
	gram := mat.NewSymDense(3, nil)
	for i := range 3 {
		for j := range 3 {
			gram.SetSym(i, j, used[i]*used[j]*dot3(rows[i], rows[j]))
		}
	}
	var eigen mat.EigenSym
	eigen.Factorize(gram, false)
	e = 0.8 / (s.l*n + rho*eigen.Values(nil)[2])
	if s.eta > 0 {
		e = math.Min(e, s.eta/n)
	}
	b := 0.0
	if s.momentum {
		b = 1 - 10/(float64(s.k)+20)
	}
	if !s.rule {
		e = s.eta
	}

	// The pieces at the end of the move -q - e (1+b) H^T y decide.
	s.y = s.coefficients(shares)
	end := plus(plus(vec3{}, -e*(1+b), s.direction(x)), -e*b*b, s.v)
	h, values := termValues(x), make([]float64, len(shares))
	sums, largest := make([]float64, len(lambda)), make([]float64, len(lambda))
	for j := range largest {
		largest[j] = math.Inf(-1)
	}
	for i, p := range s.pieces {
		values[i] = p.Sign*(h[p.Term]+dot3(rows[p.Term], end)) + p.Offset
		largest[p.Constraint] = math.Max(largest[p.Constraint], values[i])
		sums[p.Constraint] += shares[i]
	}
	for i, p := range s.pieces {
		l := lambda[p.Constraint]
		if shares[i] != 0 && values[i] < largest[p.Constraint]-1e-9 || shares[i]*l < 0 || l < 0 && shares[i] != 0 && shares[i] != l {
			t.Errorf("move %d: the piece %+v has the share %v of %v and the value %v of %v", s.k, p, shares[i], l, values[i], largest[p.Constraint])
		}
	}
	for j, sum := range sums {
		if !near(sum, lambda[j]) {
			t.Errorf("move %d: the shares of constraint %d have the sum %v, want %v", s.k, j, sum, lambda[j])
		}
	}
	d := s.direction(x)
	s.v = plus(d, b, s.v)
	s.before, s.start, s.k = d, x, s.k+1
	return e, plus(plus(x, -e, d), -e*b, s.v)
}

// Moves with maxima of pieces, absolute values and constants, multipliers of both signs, and a
// state that goes through a checkpoint.
func TestProxLinearByHand(t *testing.T) {
	maxima := []problem.Piece{{Constraint: 0, Term: 1, Sign: 0, Offset: 0.2}, {Constraint: 0, Term: 1, Sign: -0.5, Offset: 0.2},
		{Constraint: 0, Term: 0, Sign: 1, Offset: -0.1}, {Constraint: 0, Term: 2, Sign: 2, Offset: -3},
		{Constraint: 1, Term: 2, Sign: -1, Offset: 0.3}, {Constraint: 1, Term: 0, Sign: 0.7, Offset: -0.2}}
	multipliers := [][]float64{{0.5, 1.5, 0.3}, {2, 0, 0.1}, {0, 0.7, -0.4}, {1.5, -0.6, 0}, {0.3, 2.5, 1}, {-0.2, 0.9, 3}}
	for name, c := range map[string]struct {
		pieces    []problem.Piece
		set       Settings
		rho       float64
		gradients []int // of each move
	}{
		"absolute values": {problem.Abs(0.1, 0.4, 0.2), Settings{}, 0.7, []int{6, 4}},
		"maxima":          {maxima, Settings{}, 0, []int{6, 4}},
		"gradient":        {maxima, Settings{Kind: Gradient}, 0.3, []int{6, 4}},
		"capped":          {maxima, Settings{Eta: 0.02}, 0.3, []int{6, 4}},
		"fixed":           {problem.Abs(0.1, 0.4, 0.2), Settings{Eta: 0.1, Fixed: true}, 0.3, []int{4, 4}},
		"one term":        {[]problem.Piece{{Term: 0, Offset: -0.3}, {Term: 1, Sign: 2, Offset: -1}, {Term: 1, Sign: -1, Offset: 0.1}, {Term: 2, Offset: -0.2}}, Settings{}, 0.5, []int{4, 2}},
		"constants":       {[]problem.Piece{{Term: 1, Offset: 0.3}}, Settings{}, 0.5, []int{3, 1}},
		"no pieces":       {[]problem.Piece{}, Settings{}, 0.5, []int{3, 1}},
	} {
		start := vec3{1, -0.5, 0.25}
		p := newProblem(t, threeTerms(c.pieces), start[:])
		s := require.Value(NewProxLinear(c.set, p))(t)
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		hand := &proxByHand{pieces: c.pieces, rule: !c.set.Fixed, momentum: c.set.Kind != Gradient, eta: c.set.Eta}
		for k, lambda := range multipliers {
			if k == 3 {
				x := iterate(p)
				q := newProblem(t, threeTerms(c.pieces), x)
				require.NoError(t, at.Forward(q))
				other := require.Value(NewProxLinear(c.set, q))(t)
				if kept := restore(s, p.Space(), other, q.Space()); (kept["curvature.l"] == nil) == hand.rule {
					t.Errorf("%s: the state has the measured curvature %v", name, kept["curvature.l"])
				}
				if other.Last() != s.Last() || !slices.Equal(other.shares.y, s.shares.y) {
					t.Errorf("%s: the restored step is %v with the shares %v, want %v and %v", name, other.Last(), other.shares.y, s.Last(), s.shares.y)
				}
				p, s = q, other
			}
			lambda = lambda[:problem.Constraints(p)]
			x, before := vec3(iterate(p)), at.GradientEvaluations
			dir := Direction{Coefficients: append([]float64{1}, lambda...)}
			dir.PenaltyCurvature = c.rho
			require.NoError(t, s.Move(p, &at, dir))
			e, next := hand.move(t, x, lambda, c.rho, s.shares.y)
			if got := vec3(iterate(p)); !(math.Abs(s.Last()-e) <= 1e-9*e && norm3(plus(got, -1, next)) <= 1e-9) {
				t.Fatalf("%s, move %d: e = %v and x = %v, want %v and %v", name, k, s.Last(), got, e, next)
			}
			if got, want := at.GradientEvaluations-before, c.gradients[min(k, 1)]; got != want {
				t.Errorf("%s, move %d: %d gradients, want %d", name, k, got, want)
			}
			require.NoError(t, at.Forward(p))
		}
		if s.Held != hand.held {
			t.Errorf("%s: Held is %d, want %d", name, s.Held, hand.held)
		}
	}
}

// The shares keep their proportions when lambda changes. If the shares are 0, the first piece gets
// lambda.
func TestScaleByHand(t *testing.T) {
	s := &pieceShares{y: []float64{1, 3, 0, 0, 0, 0.5}, end: []int{2, 5, 6}}
	s.scale([]float64{8, 2, -3})
	for i, want := range []float64{2, 6, 2, 0, 0, -3} {
		if s.y[i] != want {
			t.Errorf("the shares are %v", s.y)
			break
		}
	}
}

// A linear problem has no curvature: the step is 1, or the cap. A Gram matrix that is not finite
// gives no eigenvalue.
func TestProxLinearSizes(t *testing.T) {
	for eta, want := range map[float64]float64{0: 1, 8: 2} {
		s := &ProxLinearStep{set: Settings{Eta: eta}}
		if got := s.size(4, 3); got != want {
			t.Errorf("eta = %v: %v, want %v", eta, got, want)
		}
	}
	for _, at := range [][2]int{{0, 0}, {0, 1}, {1, 1}} {
		s := &ProxLinearStep{rows: make([]problem.Vector, 2), gram: mat.NewSymDense(2, []float64{1, 0, 0, 1})}
		s.gram.SetSym(at[0], at[1], math.NaN())
		if got := s.largestEigenvalue(); !math.IsNaN(got) {
			t.Errorf("NaN at %v: %v, want NaN", at, got)
		}
	}
}

// The steps refuse what they do not support, and take what they support.
func TestXStepsRefuse(t *testing.T) {
	pieces := newProblem(t, threeTerms(problem.Abs(1, 1, 1)), make([]float64, 3))
	fn := threeTerms(problem.Abs(1, 1, 1))
	fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 1}
	ball := newProblem(t, fn, make([]float64, 3))
	plain := newProblem(t, quadratic(3), make([]float64, 3))
	for _, c := range []struct {
		p    problem.Problem
		set  Settings
		fine bool
	}{{pieces, Settings{}, true}, {pieces, Settings{Momentum: 0.5}, true}, {pieces, Settings{Kind: Adam}, false}, {ball, Settings{}, false}, {plain, Settings{}, false}} {
		if _, err := NewProxLinear(c.set, c.p); (err == nil) != c.fine || err != nil && !errors.Is(err, problem.ErrSettings) {
			t.Errorf("proxlinear, %+v: %v", c.set, err)
		}
	}
	for set, fine := range map[Settings]bool{{}: true, {Momentum: 0.5}: false, {Kind: Adam}: false} {
		if _, err := NewInner(set, 3, plain); (err == nil) != fine || err != nil && !errors.Is(err, problem.ErrSettings) {
			t.Errorf("inner, %+v: %v", set, err)
		}
	}
}
