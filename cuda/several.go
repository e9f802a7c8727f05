package cuda

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gorgonia.org/tensor"

	"ppal/cuda/driver"
	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

var _ plan.Device = (*Several)(nil)

// Several drives GPUs of this process that share the rows of the data. Each GPU computes with its
// own rows. After the regions over the rows, the sums are added over the GPUs in their order, so
// that every GPU has all sums, with the same bits. Every GPU then computes the same values and
// takes the same steps; the GPUs exchange nothing else. One goroutine drives all GPUs.
type Several struct {
	devices []*Device
	sums    Sums  // how the devices add
	without error // why the host adds instead of NCCL; nil: the host was chosen

	communicator driver.Communicator // for NCCLSums
	streams      []driver.Stream     // of the devices, for the communicator
	failed       bool                // a device failed while it worked for a program or for vectors

	processes    plan.Processes // that share the rows; nil: only this process
	first, total int            // the place of devices[0] among the GPUs of all processes, and their number
}

// Together returns devices that share the rows. The devices have the same model and the same
// options. Close closes them; so does an error of Together.
func Together(devices ...*Device) (*Several, error) {
	s := &Several{devices: devices, total: len(devices)}
	first := devices[0].Info()
	for _, d := range devices[1:] {
		i := d.Info()
		if i.Name != first.Name || i.Major != first.Major || i.Minor != first.Minor || i.Processors != first.Processors ||
			i.Products != first.Products || d.options != devices[0].options {
			return nil, errors.Join(fmt.Errorf("cuda: GPUs that share rows must be of one model, so that they compute the same bits: cuda:%d is %s, cuda:%d is %s",
				first.Ordinal, describeModel(first), i.Ordinal, describeModel(i)), s.Close())
		}
	}
	if err := s.connect(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenSeveral opens the devices with the given numbers, which share the rows. open opens a driver.
func OpenSeveral(numbers []int, open func(number int) (driver.Driver, error), o Options) (*Several, error) {
	s := &Several{}
	for _, n := range numbers {
		d, err := open(n)
		var dev *Device
		if err == nil {
			dev, err = Open(d, o)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cuda:%d: %w", n, err), s.Close())
		}
		s.devices = append(s.devices, dev)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("cuda: %w: there is no GPU", driver.ErrUnavailable)
	}
	return Together(s.devices...)
}

func describeModel(i driver.Info) string {
	return fmt.Sprintf("%s (%d.%d, %d multiprocessors, %s)", i.Name, i.Major, i.Minor, i.Processors, i.Products)
}

// Info returns the description of the first GPU.
func (s *Several) Info() driver.Info { return s.devices[0].Info() }

// GPUs describes the GPUs.
func (s *Several) GPUs() (list []driver.Info) {
	for _, d := range s.devices {
		list = append(list, d.Info())
	}
	return list
}

// PeakBytes returns the peak of the allocated memory of the GPU that allocated most.
func (s *Several) PeakBytes() (most int64) {
	for _, d := range s.devices {
		most = max(most, d.PeakBytes())
	}
	return most
}

// Products implements plan.Device.
func (s *Several) Products(cols int) Products { return s.devices[0].Products(cols) }

// Close closes the devices.
func (s *Several) Close() error {
	failed := s.wait() // no device may read the memory of a device that is closed
	if s.communicator != nil {
		failed = append(failed, s.communicator.Close())
	}
	for _, d := range s.devices {
		failed = append(failed, s.of(d, d.Close()))
	}
	return errors.Join(failed...)
}

// closePatience is the longest time for which a device waits at the end for transfers with other
// processes, which end their work at about the same time.
const closePatience = 10 * time.Second

// wait waits for all devices. After a failure it first ends NCCL's transfers: a device may wait for
// ever for a transfer of the device that failed.
func (s *Several) wait() (failed []error) {
	switch {
	case s.communicator == nil:
	case s.failed:
		s.communicator.Abort()
	case s.processes != nil: // another process may have failed
		defer s.communicator.Limit(closePatience)()
	}
	for _, d := range s.devices {
		if d.stream != 0 {
			failed = append(failed, s.of(d, d.driver.Synchronize(d.stream)))
		}
	}
	return failed
}

// of names the device of an error.
func (s *Several) of(d *Device, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda:%d: %w", d.Info().Ordinal, err)
}

// NewVectors implements plan.Device: every device has all vectors.
func (s *Several) NewVectors(t tensor.Dtype, x matrix.Matrix, groups []int) (problem.Vectors, error) {
	v := &copies{several: s}
	for _, d := range s.devices {
		own, err := d.NewVectors(t, x, groups)
		if err != nil {
			return nil, s.of(d, err)
		}
		v.list = append(v.list, own)
	}
	if _, ok := v.list[0].(problem.SizedVectors); !ok {
		return hostSteps{v}, nil
	}
	return v, nil
}

// copies are vectors that every device has. The devices run the same operations on the same
// numbers, so all copies have the same bits. Numbers come from the first device.
type copies struct {
	several *Several
	list    []problem.Vectors
	other   []float64 // a vector of another device
	err     error
}

var _ problem.SizedVectors = (*copies)(nil)

// Err implements problem.Vectors.
func (c *copies) Err() error {
	for k, v := range c.list {
		if err := v.Err(); err != nil {
			c.several.failed = true
			return c.several.of(c.several.devices[k], err)
		}
	}
	return c.err
}

// Len implements problem.Vectors.
func (c *copies) Len() int { return c.list[0].Len() }

// Roundoff implements problem.Vectors.
func (c *copies) Roundoff() float64 { return c.list[0].Roundoff() }

// New implements problem.Vectors. The copies of a vector have the same handle, because all devices
// get the same calls.
func (c *copies) New() (h problem.Vector) {
	for _, v := range c.list {
		h = v.New()
	}
	return h
}

// Free implements problem.Vectors.
func (c *copies) Free(h problem.Vector) {
	for _, v := range c.list {
		v.Free(h)
	}
}

// Combine implements problem.Vectors.
func (c *copies) Combine(dst problem.Vector, a float64, x problem.Vector, b float64, y problem.Vector) {
	for _, v := range c.list {
		v.Combine(dst, a, x, b, y)
	}
}

// Dot implements problem.Vectors.
func (c *copies) Dot(x, y problem.Vector) float64 { return c.list[0].Dot(x, y) }

// Dots implements problem.Vectors.
func (c *copies) Dots(dst []float64, xs, ys []problem.Vector) { c.list[0].Dots(dst, xs, ys) }

// Sum implements problem.Vectors.
func (c *copies) Sum(dst problem.Vector, coefficients []float64, xs []problem.Vector) {
	for _, v := range c.list {
		v.Sum(dst, coefficients, xs)
	}
}

// Distance implements problem.Vectors.
func (c *copies) Distance(x, y problem.Vector) float64 { return c.list[0].Distance(x, y) }

// Apply implements problem.Vectors.
func (c *copies) Apply(s problem.Step) {
	for _, v := range c.list {
		v.Apply(s)
	}
}

// DescendSized implements problem.SizedVectors.
func (c *copies) DescendSized(d *problem.SizedDescent, r problem.Regularizer) {
	for _, v := range c.list {
		v.(problem.SizedVectors).DescendSized(d, r)
	}
}

// Sizing implements problem.SizedVectors.
func (c *copies) Sizing() problem.Sizing { return c.list[0].(problem.SizedVectors).Sizing() }

// Moved implements problem.Vectors.
func (c *copies) Moved() (distance, norm float64) { return c.list[0].Moved() }

// Read implements problem.Vectors. It compares the copies: copies that differ are an error of a
// device.
func (c *copies) Read(dst []float64, h problem.Vector) {
	c.list[0].Read(dst, h)
	if c.other == nil {
		c.other = make([]float64, c.Len())
	}
	for k, v := range c.list[1:] {
		if v.Read(c.other, h); c.Err() == nil && !equalBits(dst, c.other) {
			c.err = c.several.differ(k+1, "a vector")
		}
	}
}

// Write implements problem.Vectors.
func (c *copies) Write(h problem.Vector, src []float64) {
	for _, v := range c.list {
		v.Write(h, src)
	}
}

// equalBits reports whether two slices of one length have the same numbers. All NaNs are equal.
func equalBits(a, b []float64) bool {
	for i, x := range a {
		if !sameNumber(x, b[i]) {
			return false
		}
	}
	return true
}

func sameNumber(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// differ returns the error of a device whose numbers differ from the first device's.
func (s *Several) differ(k int, what string) error {
	return fmt.Errorf("cuda: the GPUs %d and %d have different bits in %s, which they compute from the same numbers: one of them, or the connection between them, fails; "+
		SumsSetting+"="+string(HostSums)+" adds the sums on the host",
		s.devices[0].Info().Ordinal, s.devices[k].Info().Ordinal, what)
}
