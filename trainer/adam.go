package trainer

import "math"

// adam is the step of Kingma and Ba, "Adam", ICLR 2015, on d_k = grad f + J^T w_k, followed by r's proximal map with that step:
// for an indicator the Euclidean projection, which is not the proximal map of Adam's metric, so a fixed point need not be
// a KKT point on the boundary. It is outside every theorem here; the certificate measures the result.
type adam struct {
	step    float64 // the setting
	last    float64
	t       int
	d, m, v Vector
}

const (
	adamDecay1  = 0.9
	adamDecay2  = 0.999
	adamEpsilon = 1e-8

	// DefaultAdamStep is the default of PrimalSettings.Eta with Adam.
	DefaultAdamStep = 3e-3
)

func newAdam(s PrimalSettings, p Problem) *adam {
	a := &adam{step: s.Eta, last: math.NaN(), d: p.NewVector(), m: p.NewVector(), v: p.NewVector()}
	if a.step == 0 {
		a.step = DefaultAdamStep
	}
	return a
}

func (a *adam) lastStep() float64 { return a.last }

func (a *adam) move(p Problem, at *Point, dir direction) error {
	if err := at.backward(p, dir.weights, a.d); err != nil {
		return err
	}
	a.t++
	a.last = a.step
	if dir.scheduledStep > 0 {
		a.last = dir.scheduledStep
	}
	p.Adam(a.d, a.m, a.v, a.last, a.t)
	return nil
}

func (a *adam) visitState(v StateVisitor) {
	v.Count("adam.t", &a.t)
	v.Number("adam.step", &a.last)
	v.Vector("adam.first", a.m)
	v.Vector("adam.second", a.v)
}
