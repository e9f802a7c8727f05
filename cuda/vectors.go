package cuda

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/trainer/problem"
)

// vectors holds a problem's vectors of n numbers in the device's memory. A scalar that the next
// pass needs stays on the device. Only Dot, Dots, Distance, Moved and Read wait
// for the device.
type vectors struct {
	d      *Device
	set    *kernels.Set
	dtype  kernels.Dtype
	n      int
	at     []driver.Pointer // by handle
	unused []problem.Vector
	err    error // the first error

	results driver.Pointer   // of Dot and Distance with a factor beside it, of the last descent, of Sizing, then of Dots
	host    []byte           // the results in pinned memory
	list    []driver.Pointer // the vectors of a call of Dots or Sum
	values  [fetched]float64 // the results of the last fetch
	settled bool             // the last fetch came after the last descent
	groups  kernels.VectorGroups
	scales  driver.Pointer // the factors of the groups
	sums    driver.Pointer // of StepSums
	rule    []float64      // the numbers of Sizing in a chained descent, in pinned memory
	numbers driver.Pointer // rule for kernels; 0: the device cannot map memory
}

var _ problem.SizedVectors = (*vectors)(nil)

// hostSteps are vectors that leave the automatic step size to the host.
type hostSteps struct{ problem.Vectors }

// Each of the first two results is two float64. The results of Sizing follow, and then the results
// of Dots, at most dotsMost at a time.
const (
	fetched      = 4 + kernels.SizingCount // the numbers before the results of Dots
	resultBytes  = 16
	sumResult    = 0
	movedResult  = resultBytes
	sizingResult = 2 * resultBytes
	dotsResult   = 8 * fetched
	dotsMost     = 256 // as many as a quasi-Newton step needs at a time
	allResults   = dotsResult + 8*dotsMost
)

// NewVectors implements plan.Device.
func (d *Device) NewVectors(t tensor.Dtype, x matrix.Matrix, groups []int) (problem.Vectors, error) {
	n, _ := x.Dims()
	v := &vectors{d: d, dtype: kernels.Float32, n: n}
	if t == tensor.Float64 {
		v.dtype = kernels.Float64
	}
	var err error
	if v.set, err = d.set(v.dtype); err != nil {
		return nil, err
	}
	if v.results, err = d.memory.allocate("norms", allResults); err != nil {
		return nil, err
	}
	if err := d.driver.Clear(d.stream, v.results, allResults); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	if v.sums, err = d.memory.allocate("the sums of a step", kernels.StepSumsBytes); err != nil {
		return nil, err
	}
	if v.host, err = d.pinned(allResults); err != nil {
		return nil, err
	}
	rule, err := d.pinned(8 * kernels.SizingNumbers)
	if err != nil {
		return nil, err
	}
	v.rule, v.numbers = typed[float64](rule), d.mapped(rule)
	if groups != nil {
		if err := v.setGroups(groups); err != nil {
			return nil, err
		}
	}
	start := make([]float64, n)
	x.Float64(start, 0, n)
	v.Write(v.New(), start)
	if d.options.HostSteps {
		return hostSteps{v}, v.err
	}
	return v, v.err
}

// setGroups uploads the ends of the groups.
func (v *vectors) setGroups(ends []int) (err error) {
	v.groups.Count = len(ends)
	wide, from := make([]int64, len(ends)), 0
	for k, end := range ends {
		wide[k] = int64(end)
		v.groups.Longest = max(v.groups.Longest, end-from)
		from = end
	}
	if v.groups.Ends, err = v.d.table("the groups' ends", raw(wide)); err != nil {
		return err
	}
	v.scales, err = v.d.memory.allocate("the groups' factors", len(ends)*8)
	return err
}

// do runs an operation after the work that waits, unless an earlier operation failed, and keeps its
// error.
func (v *vectors) do(what string, operation func() error) {
	v.d.settle()
	if v.err != nil {
		return
	}
	if err := operation(); err != nil {
		v.err = fmt.Errorf("cuda: %s: %w", what, err)
	}
}

// Err implements problem.Vectors.
func (v *vectors) Err() error { return v.err }

// Len implements problem.Vectors.
func (v *vectors) Len() int { return v.n }

// Roundoff implements problem.Vectors.
func (v *vectors) Roundoff() float64 {
	if v.dtype == kernels.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// bytes returns the size of a vector.
func (v *vectors) bytes() int { return v.n * v.dtype.Size() }

// New implements problem.Vectors.
func (v *vectors) New() problem.Vector {
	var h problem.Vector
	if k := len(v.unused); k > 0 {
		h = v.unused[k-1]
		v.unused = v.unused[:k-1]
	} else {
		h = problem.Vector(len(v.at))
		v.at = append(v.at, 0)
		v.do("a vector", func() (err error) {
			v.at[h], err = v.d.memory.allocate(fmt.Sprintf("a vector of %d parameters", v.n), v.bytes())
			return err
		})
	}
	v.do("a zero vector", func() error { return v.d.driver.Clear(v.d.stream, v.at[h], v.bytes()) })
	return h
}

// Free implements problem.Vectors.
func (v *vectors) Free(h problem.Vector) {
	if h == problem.Iterate {
		panic("cuda: the iterate cannot be freed")
	}
	v.unused = append(v.unused, h)
}

// Read implements problem.Vectors; after an error dst is NaN.
func (v *vectors) Read(dst []float64, h problem.Vector) {
	for i := range dst {
		dst[i] = math.NaN()
	}
	v.do("reading a vector", func() error { return v.d.downloadNumbers(v.dtype, v.at[h], v.n, dst) })
}

// Write implements problem.Vectors.
func (v *vectors) Write(h problem.Vector, src []float64) {
	v.do("writing a vector", func() error { return v.d.uploadNumbers(v.dtype, v.at[h], src) })
}

// Combine implements problem.Vectors.
func (v *vectors) Combine(dst problem.Vector, a float64, x problem.Vector, b float64, y problem.Vector) {
	py := v.at[y]
	if b == 0 {
		py = 0
	}
	v.do("a x + b y", func() error {
		return v.set.Combine(&v.d.queue, v.n, v.at[dst], kernels.Value(a), v.at[x], kernels.Value(b), py)
	})
}

// Dot implements problem.Vectors.
func (v *vectors) Dot(x, y problem.Vector) float64 {
	return v.sum("x.y", func() error { return v.set.Dot(&v.d.queue, v.n, v.at[x], v.at[y], v.results.Offset(sumResult)) })
}

// Dots implements problem.Vectors. It waits for the device once for each dotsMost results.
func (v *vectors) Dots(dst []float64, xs, ys []problem.Vector) {
	if len(dst) != len(xs)*len(ys) {
		panic("cuda: Dots: results and vectors of different lengths")
	}
	whole := max(dotsMost/max(len(ys), 1), 1) // the xs whose results fit
	for part := range slices.Chunk(xs, whole) {
		for from := 0; from < len(ys); from += dotsMost {
			v.dots(dst[from:], part, ys[from:min(from+dotsMost, len(ys))], len(ys))
		}
		dst = dst[min(len(part)*len(ys), len(dst)):]
	}
}

// dots sets dst[i stride + j] = xs[i].ys[j], for at most dotsMost results, and waits once.
func (v *vectors) dots(dst []float64, xs, ys []problem.Vector, stride int) {
	host := v.host[dotsResult : dotsResult+8*len(xs)*len(ys)]
	v.do("dot products", func() error {
		all := v.pointers(slices.Concat(xs, ys))
		if err := v.set.Dots(&v.d.queue, v.n, all[:len(xs)], all[len(xs):], v.results.Offset(dotsResult)); err != nil {
			return err
		}
		return v.download(host, v.results.Offset(dotsResult))
	})
	for i := range xs {
		row := dst[i*stride:][:len(ys)]
		copy(row, typed[float64](host)[i*len(ys):])
		for j := range row {
			if v.err != nil {
				row[j] = math.NaN()
			}
		}
	}
}

// Sum implements problem.Vectors.
func (v *vectors) Sum(dst problem.Vector, coefficients []float64, xs []problem.Vector) {
	if len(coefficients) != len(xs) {
		panic("cuda: Sum: coefficients and vectors of different lengths")
	}
	v.do("a sum of vectors", func() error {
		return v.set.VectorSum(&v.d.queue, v.n, v.at[dst], coefficients, v.pointers(xs))
	})
}

// pointers returns the addresses of vectors. The result is valid until the next call.
func (v *vectors) pointers(list []problem.Vector) []driver.Pointer {
	v.list = v.list[:0]
	for _, h := range list {
		v.list = append(v.list, v.at[h])
	}
	return v.list
}

// Distance implements problem.Vectors.
func (v *vectors) Distance(x, y problem.Vector) float64 {
	return math.Sqrt(v.sum("||x - y||", func() error {
		return v.set.SquaredDistance(&v.d.queue, v.n, v.at[x], v.at[y], v.results.Offset(sumResult))
	}))
}

// sum runs a pass that computes a sum, waits, and returns the sum, or NaN after an error.
func (v *vectors) sum(what string, pass func() error) float64 {
	v.do(what, pass)
	v.do(what, v.fetch)
	if v.err != nil {
		return math.NaN()
	}
	return v.values[0]
}

// Moved implements problem.Vectors. Both numbers are NaN after an error.
func (v *vectors) Moved() (distance, norm float64) {
	if !v.settled {
		v.do("the step's length", v.fetch)
	}
	if v.err != nil {
		return math.NaN(), math.NaN()
	}
	return math.Sqrt(v.values[2]), math.Sqrt(v.values[3])
}

// fetch waits for the results. It fetches the lengths of the last descent together with any sum.
func (v *vectors) fetch() error {
	host := v.host[:dotsResult]
	if err := v.download(host, v.results); err != nil {
		return err
	}
	copy(v.values[:], typed[float64](host))
	v.settled = true
	return nil
}

// download copies results to pinned memory and waits.
func (v *vectors) download(host []byte, from driver.Pointer) error {
	if err := v.d.driver.Download(v.d.stream, host, from); err != nil {
		return err
	}
	if err := v.d.driver.Synchronize(v.d.stream); err != nil {
		return err
	}
	return v.d.hostReads(host)
}
