package cuda

import (
	"fmt"
	"unsafe"

	"gorgonia.org/tensor"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
)

// Vectors are the passes of primal steps over vectors of n numbers of one type on a device (plan.Vectors has the formulas). Scalars that
// a pass computes for the next stay on the device; Dot, Distance and Moved alone wait for it.
type Vectors struct {
	d       *Device
	set     *kernels.Set
	dtype   kernels.Dtype
	n       int
	results driver.Pointer // what Dot and the like leave, the factor beside it; what Descend leaves
	host    []byte         // pinned, for all of them
	values  [4]float64     // of the results when they were last fetched
	settled bool           // that was after the last descent
	groups  kernels.VectorGroups
	scales  driver.Pointer // of the groups
}

// Each of the two results is two float64.
const (
	resultBytes = 16
	reachResult = 0
	movedResult = resultBytes
)

// NewVectors prepares the passes; ends are those of groups of the numbers, for the block soft threshold, or nil.
func (d *Device) NewVectors(t tensor.Dtype, n int, ends []int) (*Vectors, error) {
	v := &Vectors{d: d, dtype: kernels.Float32, n: n}
	if t == tensor.Float64 {
		v.dtype = kernels.Float64
	}
	var err error
	if v.set, err = d.set(v.dtype); err != nil {
		return nil, err
	}
	if v.results, err = d.memory.allocate("norms", 2*resultBytes); err != nil {
		return nil, err
	}
	if err := d.driver.Clear(d.stream, v.results, 2*resultBytes); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	if v.host, err = d.pinned(2 * resultBytes); err != nil || ends == nil {
		return v, err
	}
	v.groups.Count = len(ends)
	wide, from := make([]int64, len(ends)), 0
	for k, end := range ends {
		wide[k] = int64(end)
		v.groups.Longest = max(v.groups.Longest, end-from)
		from = end
	}
	if v.groups.Ends, err = d.table("the groups' ends", raw(wide)); err != nil {
		return nil, err
	}
	v.scales, err = d.memory.allocate("the groups' factors", len(ends)*8)
	return v, err
}

// Len is n.
func (v *Vectors) Len() int { return v.n }

// Roundoff is the unit roundoff of the numbers.
func (v *Vectors) Roundoff() float64 {
	if v.dtype == kernels.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// New returns a zero vector.
func (v *Vectors) New() (driver.Pointer, error) {
	p, err := v.d.memory.allocate(fmt.Sprintf("a vector of %d parameters", v.n), v.n*v.dtype.Size())
	if err != nil {
		return 0, err
	}
	return p, v.Clear(p)
}

// Clear sets a vector to zero.
func (v *Vectors) Clear(p driver.Pointer) error {
	return v.d.driver.Clear(v.d.stream, p, v.n*v.dtype.Size())
}

// Read widens a vector to the host.
func (v *Vectors) Read(dst []float64, p driver.Pointer) error {
	return v.d.downloadNumbers(v.dtype, p, v.n, dst)
}

// Write rounds numbers from the host.
func (v *Vectors) Write(p driver.Pointer, src []float64) error {
	return v.d.uploadNumbers(v.dtype, p, src)
}

// Combine sets dst = a x + b y; dst may be x or y, and y is not read where b = 0.
func (v *Vectors) Combine(dst driver.Pointer, a float64, x driver.Pointer, b float64, y driver.Pointer) error {
	if b == 0 {
		y = 0
	}
	return v.set.Combine(&v.d.queue, v.n, dst, kernels.Value(a), x, kernels.Value(b), y)
}

// Dot returns x.y.
func (v *Vectors) Dot(x, y driver.Pointer) (float64, error) {
	if err := v.set.Dot(&v.d.queue, v.n, x, y, v.results.Offset(reachResult)); err != nil {
		return 0, err
	}
	err := v.fetch()
	return v.values[0], err
}

// SquaredDistance returns ||x - y||^2.
func (v *Vectors) SquaredDistance(x, y driver.Pointer) (float64, error) {
	if err := v.set.SquaredDistance(&v.d.queue, v.n, x, y, v.results.Offset(reachResult)); err != nil {
		return 0, err
	}
	err := v.fetch()
	return v.values[0], err
}

// fetch waits for the results: the lengths of the last descent come with a product or a distance that is asked for anyway.
func (v *Vectors) fetch() error {
	if err := v.d.driver.Download(v.d.stream, v.host, v.results); err != nil {
		return err
	}
	if err := v.d.driver.Synchronize(v.d.stream); err != nil {
		return err
	}
	copy(v.values[:], typed[float64](v.host))
	v.settled = true
	return nil
}

// Step is x - e (d + b v') with v' = b v + d, what a proximal map is applied to; v is not used where b = 0.
type Step struct {
	X, D, V driver.Pointer
	E, B    float64
}

func (s Step) velocity() driver.Pointer {
	if s.B == 0 {
		return 0
	}
	return s.V
}

// Descend sets v = b v + d and x = P(x - e (d + b v)). Moved has the lengths.
func (v *Vectors) Descend(s Step, p kernels.Proximal) error {
	v.settled = false
	return v.set.Descend(&v.d.queue, v.n, s.X, s.D, s.velocity(), kernels.Value(s.E), kernels.Value(s.B), p, v.results.Offset(movedResult))
}

// DescendBall is Descend with the projection onto the ball of that radius.
func (v *Vectors) DescendBall(s Step, radius float64) error {
	if err := v.set.StepNorm(&v.d.queue, v.n, s.X, s.D, s.velocity(), kernels.Value(s.E), kernels.Value(s.B), radius,
		v.results.Offset(reachResult)); err != nil {
		return err
	}
	return v.Descend(s, v.ballMap())
}

// DescendGroups is Descend with the block soft threshold.
func (v *Vectors) DescendGroups(s Step, threshold float64) error {
	v.settled = false
	if err := v.set.GroupFactors(&v.d.queue, v.n, v.groups, s.X, s.D, s.velocity(), kernels.Value(s.E), kernels.Value(s.B),
		kernels.Value(threshold), v.scales); err != nil {
		return err
	}
	return v.set.GroupDescend(&v.d.queue, v.n, v.groups, s.X, s.D, s.velocity(), kernels.Value(s.E), kernels.Value(s.B), v.scales,
		v.results.Offset(movedResult))
}

// Moved returns ||x+ - x||^2 and ||x+||^2 of the last descent.
func (v *Vectors) Moved() (moved, size float64, err error) {
	if !v.settled {
		err = v.fetch()
	}
	return v.values[2], v.values[3], err
}

// Prox sets x = P(x).
func (v *Vectors) Prox(x driver.Pointer, p kernels.Proximal) error {
	return v.set.Prox(&v.d.queue, v.n, x, p)
}

// ProjectBall projects x onto the ball of that radius.
func (v *Vectors) ProjectBall(x driver.Pointer, radius float64) error {
	if err := v.set.Size(&v.d.queue, v.n, x, radius, v.results.Offset(reachResult)); err != nil {
		return err
	}
	return v.Prox(x, v.ballMap())
}

// ThresholdGroups multiplies the groups of x by the factors of the block soft threshold.
func (v *Vectors) ThresholdGroups(x driver.Pointer, threshold float64) error {
	if err := v.set.GroupFactors(&v.d.queue, v.n, v.groups, x, 0, 0, kernels.Number{}, kernels.Number{}, kernels.Value(threshold),
		v.scales); err != nil {
		return err
	}
	return v.set.GroupScale(&v.d.queue, v.n, v.groups, x, v.scales)
}

// Adam is plan.Vectors' Adam; where radius > 0 the result is projected onto that ball.
func (v *Vectors) Adam(x, d, m1, m2 driver.Pointer, rate, root float64, p kernels.Proximal, radius float64) error {
	if err := v.set.Adam(&v.d.queue, v.n, x, d, m1, m2, kernels.Value(rate), kernels.Value(root), p, radius,
		v.results.Offset(reachResult)); err != nil || radius == 0 {
		return err
	}
	return v.Prox(x, v.ballMap())
}

// Adagrad sets squares = squares + d^2 and x = P(x - step d/(sqrt(squares) + 1e-10)).
func (v *Vectors) Adagrad(x, d, squares driver.Pointer, step float64, p kernels.Proximal) error {
	return v.set.Adagrad(&v.d.queue, v.n, x, d, squares, kernels.Value(step), p)
}

// ballMap multiplies by the factor that the last pass left on the device.
func (v *Vectors) ballMap() kernels.Proximal {
	p := Identity()
	p.Scale = kernels.At(v.results.Offset(reachResult + int(unsafe.Sizeof(float64(0)))))
	return p
}
