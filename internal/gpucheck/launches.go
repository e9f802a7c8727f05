package gpucheck

import (
	"context"
	"errors"
	"fmt"

	"ppal/internal/cuda/driver"
)

// launchTimes is the number of iterations whose launches are timed.
const launchTimes = 50

// launch describes one launch of a kernel or product.
type launch struct {
	name  string
	bytes int     // of the declared reads and writes
	ops   float64 // multiplications and additions of a product
}

// kernelLaunch describes the launch of a kernel.
func kernelLaunch(l *driver.Launch) launch {
	return launch{name: l.Name, bytes: spanBytes(l.Reads) + spanBytes(l.Writes)}
}

// productLaunch describes a product.
func productLaunch(g *driver.Gemm) launch {
	reads, writes := g.Spans()
	batch := max(g.Batch, 1)
	kind := [...]string{driver.Float32: "float32", driver.TF32: "tf32", driver.Float64: "float64", driver.BF16: "bf16",
		driver.Int8: "int8"}[g.Precision]
	return launch{
		name:  fmt.Sprintf("product %s %d x %d x %d, %d at once", kind, g.Rows, g.Cols, g.Inner, batch),
		bytes: spanBytes(reads) + spanBytes(writes),
		ops:   2 * float64(batch) * float64(g.Rows) * float64(g.Cols) * float64(g.Inner),
	}
}

func spanBytes(spans []driver.Span) (bytes int) {
	for _, s := range spans {
		bytes += s.Bytes
	}
	return bytes
}

// launchesCase times every launch of a case's iteration. The iteration runs without graphs, with an
// event before and after each launch. If the device waits for the host, a time contains the calls
// of the host, so the time of a short launch is an upper bound.
func launchesCase(c timedCase) Case {
	return Case{Name: c.label() + " launches", Run: func(ctx context.Context, o Options) (results []Result, err error) {
		w := &watch{}
		c.direct = true
		p, err := c.prepare(ctx, o, o.opened(func(d driver.Driver) driver.Driver { w.Driver = d; return w }))
		if p != nil {
			defer func() { err = errors.Join(err, p.Close()) }()
		}
		if err != nil {
			return nil, err
		}
		return timeLaunches(c.label(), launchTimes, p.Iterate, w)
	}}
}

// timeLaunches returns a result for every kind of launch of some iterations, in the order of the
// first launches. Launches with the same name and number of bytes are of one kind.
func timeLaunches(label string, iterations int, iterate func(times int) error, w *watch) (results []Result, err error) {
	w.arm()
	if err := iterate(iterations); err != nil {
		return nil, err
	}
	took, err := w.took()
	if err != nil {
		return nil, err
	}
	var kinds []launch
	times := map[launch][]float64{}
	for i, s := range w.spans {
		if times[s.launch] == nil {
			kinds = append(kinds, s.launch)
		}
		times[s.launch] = append(times[s.launch], took[i])
	}
	for i, k := range kinds {
		ms := median(times[k])
		r := Measurement(fmt.Sprintf("%s: launch %02d %s", label, i+1, k.name), 1e3*ms, "us")
		r.Detail = fmt.Sprintf("%.3g in an iteration, %.4g MB, %.4g GB/s", float64(len(times[k]))/float64(iterations), float64(k.bytes)/1e6,
			float64(k.bytes)/ms/1e6)
		if k.ops > 0 {
			r.Detail += fmt.Sprintf(", %.4g TOP/s", k.ops/ms/1e9)
		}
		results = append(results, r)
	}
	return results, nil
}
