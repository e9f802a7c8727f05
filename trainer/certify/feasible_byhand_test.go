package certify

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// certificateAt returns the certificate at the point (x, y) for the constraints a x + b y + c <= 0
// of the rows (a, b, c).
func certificateAt(t *testing.T, x, y float64, rows ...[3]float64) *Infeasibility {
	t.Helper()
	p := require.Value(problem.Functions{N: 2, M: len(rows),
		F:        func(x []float64) float64 { return 0 },
		Gradient: func(dst, _ []float64) { clear(dst) },
		G: func(dst, x []float64) {
			for j, row := range rows {
				dst[j] = row[0]*x[0] + row[1]*x[1] + row[2]
			}
		},
		JacobianT: func(dst, _, w []float64) {
			clear(dst)
			for j, row := range rows {
				dst[0] += w[j] * row[0]
				dst[1] += w[j] * row[1]
			}
		}}.New([]float64{x, y}))(t)
	q := newViolation(p)
	r := &search{violation: q, set: InfeasibleSettings{Sphere: 1e-12}, next: q.space.New()}
	require.Value(r.forward())(t)
	return require.Value(r.certify())(t)
}

// At (1, 2) the constraints 3x - 2, 10 - 4y and -x have the values 1, 2 and -1, so y = (1, 2, 0)/3,
// y.g = 5/3, and J^T y = (1, -8/3). The gradients have the lengths 3 and 4. With ten constraints,
// the eight largest shares stand for all.
func TestCertificateByHand(t *testing.T) {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-14*(1+math.Abs(y)) }
	c := certificateAt(t, 1, 2, [3]float64{3, 0, -2}, [3]float64{0, -4, 10}, [3]float64{-1, 0, 0})
	distance := math.Hypot(1, 8./3)
	if !near(c.Relaxation, 5./3) || !near(c.Shares[0], 1./3) || !near(c.Shares[1], 2./3) || c.Shares[2] != 0 ||
		!near(c.Stationarity, distance/(11./3)) || !near(c.Radius, 5./3/distance/(1+math.Sqrt(5))) {
		t.Errorf("%+v", c)
	}
	var rows [][3]float64
	for j := range 10 {
		rows = append(rows, [3]float64{float64(j + 1), 0, 0})
	}
	if c := certificateAt(t, 1, 0, rows...); !near(c.Relaxation, 7) || !near(c.Stationarity, 7./(380./52)) || !near(c.Radius, 0.5) {
		t.Errorf("ten constraints: %+v", c)
	}
}

// At 0, x >= 1 and x <= -1 have exactly opposite gradients of length 1, and y.g = 1. Their rounding
// counts as the distance, so that the radius is a number that a file can have.
func TestOppositeGradients(t *testing.T) {
	c := certificateAt(t, 0, 0, [3]float64{-1, 0, 1}, [3]float64{1, 0, 1})
	if c.Stationarity != 0 || c.Radius != 0x1p52 || !c.Proves() {
		t.Errorf("%+v", c)
	}
	if flat := certificateAt(t, 0, 0, [3]float64{0, 0, 1}, [3]float64{0, 0, 1}); flat.Proves() {
		t.Errorf("all gradients are 0: %+v", flat)
	}
}

// Both limits of a proof count as proven.
func TestProvesAtTheLimits(t *testing.T) {
	if c := (&Infeasibility{Stationarity: stationary, Radius: clearance}); !c.Proves() {
		t.Errorf("%+v proves nothing", c)
	}
}

// placed are steps whose back goes to x.
type placed struct {
	steps
	*violation
	x float64
}

func (p *placed) back() error {
	p.space.Write(problem.Iterate, []float64{p.x})
	_, err := p.forward()
	return err
}

// For x >= 1 and x <= -1, v is 1 + x^2 and the stationarity is |x|. The best certificate is the one
// with the least stationarity, until v is less than 0.98 of the v of the certificate.
func TestBestCertificateByHand(t *testing.T) {
	s := newAdvance(t, 0.5)
	p := &placed{violation: s.violation}
	r := &search{violation: s.violation, steps: p, set: InfeasibleSettings{Sphere: 1e-12}, next: s.next}
	for _, c := range []struct{ x, v, want float64 }{
		{0.05, 0, 0.05}, {0.01, 0, 0.01}, {0.03, 0, 0.01}, {0.04, 1.0016 / 0.979, 0.04}, {0.05, 1.0025 / 0.981, 0.04},
	} {
		if c.v > 0 {
			r.v = c.v // as if the best certificate were from an earlier point
		}
		p.x = c.x
		if err := r.test(); err != nil || math.Abs(r.best.Stationarity-c.want) > 1e-12 || r.best.X[0] != c.want {
			t.Errorf("at %v: %+v, %v, want the certificate of %v", c.x, r.best, err, c.want)
		}
	}
}

// A certificate proves a conflict only if the combination of gradients is small both against the
// gradients and against the violation.
func TestProves(t *testing.T) {
	for _, test := range []struct {
		stationarity, radius float64
		want                 bool
	}{
		{0.01, 3, true}, {0.01, 1, false}, {0.1, 3, false}, {0.1, 1, false},
	} {
		c := &Infeasibility{Stationarity: test.stationarity, Radius: test.radius}
		if got := c.Proves(); got != test.want {
			t.Errorf("stationarity %v and radius %v prove a conflict: %t", test.stationarity, test.radius, got)
		}
	}
}
