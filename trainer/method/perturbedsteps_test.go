package method_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// handPerturbed is the state of PPALA and PLADA by hand.
type handPerturbed struct {
	alpha, rho, tau float64
	k               int
	u, lambda, mu   [2]float64
}

func newHandPerturbed(g [2]float64, slack float64) handPerturbed {
	s := handPerturbed{alpha: 5, rho: 5 / (1 + 5*0.25)}
	s.tau = slack / s.rho
	for j := range g {
		s.u[j] = math.Max(0, -g[j])
	}
	return s
}

// step computes mu+ and lambda+ from g at x+ and from u+. The scalar s is the fraction of lambda -
// mu that is added to mu.
func (h *handPerturbed) step(s float64, g [2]float64) {
	for j := range g {
		h.mu[j] += s * (h.lambda[j] - h.mu[j])
		h.lambda[j] = h.mu[j] + h.rho*(g[j]+h.u[j])
	}
	h.k++
}

func (h *handPerturbed) part(p float64) float64 {
	d := minus(h.lambda, h.mu)
	return 1 / (p*float64(h.k) + 1) / (d[0]*d[0] + d[1]*d[1] + 1)
}

// handP returns the default of p. It depends on the primal step: a fixed gradient step as in the
// paper or Adam, gradient steps by the curvature rule, and momentum.
func handP(s handStep) float64 {
	switch {
	case s.kind == step.Adam || s.kind == step.Gradient && s.fixed:
		return 1e-3
	case s.kind == step.Gradient:
		return 0.1
	}
	return 0.05
}

func TestPPALAStepsByHand(t *testing.T) {
	for name, kind := range handKinds() {
		t.Run(name, func(t *testing.T) {
			h, s := newHandPerturbed(testkit.HandH(handStart), 0.9/2), kind.hand
			s.c, s.swings = 2*h.rho, true
			m := &method.PPALA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: kind.set}
			compare(t, handProblem(t, testkit.HandFunctions()), m, handSteps, func(x [2]float64) ([2]float64, []float64) {
				var w [2]float64
				for j, g := range testkit.HandH(x) {
					w[j] = h.lambda[j] + h.rho*(g+h.u[j])
				}
				x = s.move(x, w)
				part := h.part(handP(s))
				for j, g := range testkit.HandH(x) {
					h.u[j] = math.Max(0, h.u[j]-h.tau*(h.lambda[j]+h.rho*(g+h.u[j])))
				}
				h.step(part, testkit.HandH(x))
				return x, h.lambda[:]
			})
		})
	}
}

func TestPLADASubgradientStepsByHand(t *testing.T) {
	for name, kind := range handKinds() {
		for _, sigma := range []float64{0, 0.01} {
			for _, box := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					constraint := func(x [2]float64) (g [2]float64) {
						for j, v := range testkit.HandH(x) {
							g[j] = math.Abs(v) - 0.1
						}
						return g
					}
					fn := testkit.HandFunctions()
					fn.Pieces = problem.Abs(0.1, 0.1)
					h, s := newHandPerturbed(constraint(handStart), 0.9/3), kind.hand
					s.c, s.swings = h.rho, true // both h are positive at the start
					m := &method.PLADA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: kind.set,
						XStep: method.Subgradient, Sigma0: sigma, BoxStep: box}
					p := handProblem(t, fn)
					compare(t, p, m, handSteps, func(x [2]float64) ([2]float64, []float64) {
						var w [2]float64 // weights on h
						for j, v := range testkit.HandH(x) {
							w[j] = h.lambda[j] * math.Copysign(1, v)
						}
						x = s.move(x, w)
						part := h.part(handP(s))
						limit := sigma / h.rho
						if box {
							part, limit = h.rho*part, sigma
						}
						if sigma > 0 {
							part = math.Min(part, limit)
						}
						for j := range h.u {
							h.u[j] = math.Max(0, h.u[j]-h.tau*h.lambda[j])
						}
						h.step(part, constraint(x))
						return x, h.lambda[:]
					})
				})
			}
		}
	}
}

// oneAbsolute is min f subject to |h_1| - eps <= 0.
func oneAbsolute(eps float64) problem.Functions {
	fn := testkit.HandFunctions()
	fn.M = 1
	fn.G = func(dst, x []float64) { dst[0] = testkit.HandH([2]float64{x[0], x[1]})[0] }
	fn.JacobianT = func(dst, x, w []float64) {
		row := testkit.HandRows([2]float64{x[0], x[1]})[0]
		dst[0], dst[1] = w[0]*row[0], w[0]*row[1]
	}
	fn.Pieces = problem.Abs(eps)
	return fn
}

// The closed form of proxlinear for m = 1 is y = clip((h - eta grad h.grad f)/(eta ||grad h||^2),
// -lambda, lambda) for lambda >= 0 and lambda sign(h - eta grad h.grad f) for lambda < 0. With
// momentum b, q replaces eta grad f, and e(1 + b) replaces eta.
func TestProxLinearStepsByHand(t *testing.T) {
	for name, kind := range handKinds() {
		if kind.set.Kind == step.Adam {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if negative := proxLinearByHand(t, kind.set, kind.hand, 0.1); negative > 0 {
				t.Errorf("%d steps with a negative multiplier, want none: the constraint is violated", negative)
			}
			// If the constraint is inactive and falls, lambda becomes negative.
			if negative := proxLinearByHand(t, kind.set, kind.hand, 2); negative == 0 {
				t.Error("no step with a negative multiplier")
			}
		})
	}
}

func proxLinearByHand(t *testing.T, set step.Settings, hand handStep, eps float64) (negative int) {
	const steps = 60
	h0 := testkit.HandH(handStart)[0]
	s := newHandPerturbed([2]float64{math.Abs(h0) - eps, 0}, 0.9/3)
	y := 0.0
	hand.swings = true
	m := &method.PLADA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: set, XStep: method.ProxLinear}
	p := handProblem(t, oneAbsolute(eps))
	compare(t, p, m, steps, func(x [2]float64) ([2]float64, []float64) {
		lambda, h, row, df := s.lambda[0], testkit.HandH(x)[0], testkit.HandRows(x)[0], testkit.HandGradient(x)
		n, gram := 1+math.Abs(lambda), row[0]*row[0]+row[1]*row[1]
		e := hand.eta
		if !hand.fixed {
			if hand.k == 0 { // lambda_0 = 0: only the curvature of f
				t := 1e-3 * (1 + norm2(x)) / norm2(df)
				probe := [2]float64{x[0] - t*df[0], x[1] - t*df[1]}
				hand.start(norm2(minus(testkit.HandGradient(probe), df)) / norm2(minus(probe, x)))
			} else {
				fixed := handDirection(x, [2]float64{y, 0})
				hand.observe(norm2(minus(fixed, hand.last)) / (norm2(minus(x, hand.lastX)) * n))
			}
			e = 0.8 / (hand.l*n + s.rho*gram)
			if hand.eta > 0 {
				e = math.Min(e, hand.eta/n)
			}
		}
		b := 0.0
		if hand.kind == step.Nesterov {
			b = math.Min(hand.momentum, 1-10/(float64(hand.k)+20))
		}
		q := [2]float64{e * ((1+b)*df[0] + b*b*hand.v[0]), e * ((1+b)*df[1] + b*b*hand.v[1])}
		rest := h - row[0]*q[0] - row[1]*q[1]
		if lambda < 0 {
			negative++
			y = lambda * math.Copysign(1, rest)
		} else {
			y = math.Max(-lambda, math.Min(lambda, rest/(e*(1+b)*gram)))
		}
		d := handDirection(x, [2]float64{y, 0})
		hand.last, hand.lastX = d, x
		for i := range x {
			hand.v[i] = b*hand.v[i] + d[i]
			x[i] -= e * (d[i] + b*hand.v[i])
		}
		hand.k++
		part := s.part(handP(hand))
		s.u[0] = math.Max(0, s.u[0]-s.tau*lambda)
		s.step(part, [2]float64{math.Abs(testkit.HandH(x)[0]) - eps, -s.u[1]})
		return x, s.lambda[:1]
	})
	return negative
}

// The inner step subtracts x_k from y before it divides by e. Two separate quotients would overflow
// float32 here, and would lose digits in other cases.
func TestInnerStepDividesTheDifference(t *testing.T) {
	fn := problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] }, Gradient: func(dst, _ []float64) { dst[0] = 1 }}
	m := &method.PLADA{XStep: method.Inner, Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1e-10}}
	p := testkit.NewNarrow(t, fn, []float64{1e30})
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 3}))(t)
	if x := testkit.Iterate(p)[0]; math.Abs(x/1e30-1) > 1e-6 {
		t.Errorf("x = %v, want 1e30 but for rounding", x)
	}
}

// The x-step inner takes subgradient steps of length 2e/(t+2) on the subproblem from x_k. Its
// result is the (t+1)-weighted mean.
func TestInnerStepsByHand(t *testing.T) {
	const eta, inner = 0.05, 7
	h := newHandPerturbed([2]float64{math.Abs(testkit.HandH(handStart)[0]) - 0.1, 0}, 0.9/3)
	m := &method.PLADA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, XStep: method.Inner, InnerSteps: inner,
		Primal: step.Settings{Kind: step.Gradient, Eta: eta, Fixed: true}}
	compare(t, handProblem(t, oneAbsolute(0.1)), m, handSteps, func(x [2]float64) ([2]float64, []float64) {
		df, y, mean, total := testkit.HandGradient(x), x, [2]float64{}, 0.0
		for k := range inner {
			row, s := testkit.HandRows(y)[0], 2*eta/float64(k+2)
			w := h.lambda[0] * math.Copysign(1, testkit.HandH(y)[0])
			next := y
			for i := range y {
				next[i] = y[i] - s*(df[i]+w*row[i]+(y[i]-x[i])/eta)
			}
			y = next
			for i := range y {
				mean[i] += float64(k+1) * y[i]
			}
			total += float64(k + 1)
		}
		x = [2]float64{mean[0] / total, mean[1] / total}
		part := h.part(1e-3)
		h.u[0] = math.Max(0, h.u[0]-h.tau*h.lambda[0])
		h.step(part, [2]float64{math.Abs(testkit.HandH(x)[0]) - 0.1, -h.u[1]})
		return x, h.lambda[:1]
	})
}

// threePieces is f of the hand-made problem with the one constraint max(h_1, h_2/2 - 1/10, -h_1 -
// 2/10) <= shift.
func threePieces(shift float64) problem.Functions {
	fn := testkit.HandFunctions()
	fn.Pieces = []problem.Piece{{Constraint: 0, Term: 0, Sign: 1, Offset: -shift},
		{Constraint: 0, Term: 1, Sign: 0.5, Offset: -0.1 - shift}, {Constraint: 0, Term: 0, Sign: -1, Offset: -0.2 - shift}}
	return fn
}

// Each step minimises <grad f, y> + lambda max_p s_p(y) + ||y - x||^2/(2 eta), where s_p are the
// linearised pieces. No other point has a lower value. The multipliers are positive for shift 0,
// where the constraint is violated, and negative for shift 3, where the constraint is inactive.
func TestProxLinearMinimisesOverAnyMaximum(t *testing.T) {
	const eta = 0.05
	rng := rand.New(rand.NewPCG(11, 3))
	for _, shift := range []float64{0, 3} {
		fn := threePieces(shift)
		p := handProblem(t, fn)
		m := &method.PLADA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: eta}}
		at := &problem.Point{Constraints: make([]float64, 1)}
		var err error
		if at.Objective, err = p.Forward(at.Constraints); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, m.Init(p, at))
		positive, negative := 0, 0
		for k := range 60 {
			before := testkit.Iterate(p)
			x := [2]float64{before[0], before[1]}
			df, h, rows, lambda := testkit.HandGradient(x), testkit.HandH(x), testkit.HandRows(x), m.Report().Multipliers[0]
			model := func(y [2]float64) float64 {
				d := minus(y, x)
				worst := math.Inf(-1)
				for _, b := range fn.Pieces {
					row := rows[b.Term]
					worst = math.Max(worst, b.Sign*(h[b.Term]+row[0]*d[0]+row[1]*d[1])+b.Offset)
				}
				return df[0]*d[0] + df[1]*d[1] + lambda*worst + (d[0]*d[0]+d[1]*d[1])/(2*eta)
			}
			require.NoError(t, m.Iterate(p, at))
			after := testkit.Iterate(p)
			got := model([2]float64{after[0], after[1]})
			for range 300 {
				size := math.Pow(10, -6*rng.Float64())
				y := [2]float64{after[0] + size*rng.NormFloat64(), after[1] + size*rng.NormFloat64()}
				if v := model(y); v < got-1e-12 {
					t.Fatalf("shift %v, step %d, lambda %v: the model is %v at %v, and %v at the step %v", shift, k, lambda, v, y, got, after)
				}
			}
			switch {
			case lambda > 0:
				positive++
			case lambda < 0:
				negative++
			}
		}
		if shift == 0 && positive < 30 || shift == 3 && negative < 10 {
			t.Errorf("shift %v: %d steps with a positive multiplier and %d with a negative one", shift, positive, negative)
		}
	}
}

// The order of the pieces of |h| - eps does not matter.
func TestOrderOfPieces(t *testing.T) {
	run := func(pieces []problem.Piece) []float64 {
		fn := testkit.HandFunctions()
		fn.Pieces = pieces
		p := handProblem(t, fn)
		require.Value(trainer.Train(context.Background(), p, &method.PLADA{}, trainer.Settings{Iterations: 40}))(t)
		return testkit.Iterate(p)
	}
	for _, eps := range []float64{0, 0.1, 2} {
		pieces := problem.Abs(eps, eps/2)
		want := run(pieces)
		other := slices.Clone(pieces)
		other[0], other[1], other[2], other[3] = pieces[1], pieces[0], pieces[3], pieces[2]
		if got := run(other); testkit.Distance(got, want) > 1e-9 {
			t.Errorf("eps = %v: x = %v, in the other order %v", eps, got, want)
		}
	}
}

// The x-step for maxima allocates nothing except the eigenvalues.
func TestPieceSharesDoNotAllocate(t *testing.T) {
	p, m := handProblem(t, threePieces(0)), &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}}
	at := &problem.Point{Constraints: make([]float64, 1)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, m.Init(p, at))
	if n := testing.AllocsPerRun(100, func() {
		require.NoError(t, m.Iterate(p, at))
	}); n > 5 {
		t.Errorf("%v allocations in an iteration", n)
	}
}
