package method_test

import (
	"context"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

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
