package gpucheck

import (
	"errors"
	"math"

	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
)

// bare computes the two products with the data matrix that every iteration needs, Z = X W and G =
// X^T D, with cuBLAS only, as one graph. X is rows x features, W and G are features x width, Z and
// D are rows x width.
type bare struct {
	d        driver.Driver
	stream   driver.Stream
	graph    driver.Graph
	from, to driver.Event
	buffers  []driver.Pointer
}

// newBare prepares the products on random numbers, because zeros draw less power and run faster.
func newBare(d driver.Driver, s bench.Shape, precision driver.Precision) (b *bare, err error) {
	b = &bare{d: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.stream, err = d.NewStream(); err != nil {
		return b, err
	}
	var at [5]driver.Pointer // X, W, Z, D, G
	for i, numbers := range []int{s.Rows * s.Features, s.Features * s.Width, s.Rows * s.Width, s.Rows * s.Width, s.Features * s.Width} {
		if at[i], err = b.buffer(numbers); err != nil {
			return b, err
		}
	}
	forward := &driver.Gemm{Precision: precision, Rows: s.Rows, Cols: s.Width, Inner: s.Features, Alpha: 1,
		A: at[0], B: at[1], C: at[2], StrideA: s.Features, StrideB: s.Width, StrideC: s.Width}
	backward := &driver.Gemm{Precision: precision, Rows: s.Features, Cols: s.Width, Inner: s.Rows, TransA: true, Alpha: 1,
		A: at[0], B: at[3], C: at[4], StrideA: s.Features, StrideB: s.Width, StrideC: s.Width}
	multiply := func() error { return errors.Join(d.Multiply(b.stream, forward), d.Multiply(b.stream, backward)) }
	if err := multiply(); err != nil { // the first call chooses and loads cuBLAS's kernels
		return b, err
	}
	if err := d.BeginCapture(b.stream); err != nil {
		return b, err
	}
	failed := multiply()
	if b.graph, err = d.EndCapture(b.stream); failed != nil || err != nil {
		return b, errors.Join(failed, err)
	}
	if b.from, err = d.NewEvent(); err != nil {
		return b, err
	}
	b.to, err = d.NewEvent()
	return b, err
}

// buffer allocates device memory with numbers in [0, 1).
func (b *bare) buffer(numbers int) (driver.Pointer, error) {
	const size = 4
	p, err := b.d.Allocate(numbers * size)
	if err != nil {
		return 0, err
	}
	b.buffers = append(b.buffers, p)
	host := make([]byte, numbers*size)
	state := uint32(1)
	for i := 0; i < len(host); i += size {
		state = state*1664525 + 1013904223                      // generator of Numerical Recipes
		bits := math.Float32bits(float32(state>>8) / (1 << 24)) // exact in float32
		host[i], host[i+1], host[i+2], host[i+3] = byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	return p, errors.Join(b.d.Upload(b.stream, p, host), b.d.Synchronize(b.stream))
}

// milliseconds returns the time of the two products, as the mean over consecutive runs.
func (b *bare) milliseconds(times int) (float64, error) {
	err := b.d.Record(b.from, b.stream)
	for range times {
		err = errors.Join(err, b.d.LaunchGraph(b.graph, b.stream))
	}
	if err := errors.Join(err, b.d.Record(b.to, b.stream), b.d.Synchronize(b.stream)); err != nil {
		return 0, err
	}
	took, err := b.d.Elapsed(b.from, b.to)
	return took / float64(times), err
}

// close releases everything.
func (b *bare) close() error {
	var err error
	if b.graph != 0 {
		err = b.d.FreeGraph(b.graph)
	}
	for _, e := range []driver.Event{b.from, b.to} {
		if e != 0 {
			err = errors.Join(err, b.d.FreeEvent(e))
		}
	}
	for _, p := range b.buffers {
		err = errors.Join(err, b.d.Free(p))
	}
	if b.stream != 0 {
		err = errors.Join(err, b.d.FreeStream(b.stream))
	}
	return err
}

// bandwidth returns the rate of copies within the device's memory, in bytes read and written per
// second.
func bandwidth(d driver.Driver, bytes int) (rate float64, err error) {
	b := &bare{d: d}
	defer func() { err = errors.Join(err, b.close()) }()
	if b.stream, err = d.NewStream(); err != nil {
		return 0, err
	}
	for range 2 {
		p, err := d.Allocate(bytes)
		if err != nil {
			return 0, err
		}
		b.buffers = append(b.buffers, p)
	}
	if b.from, err = d.NewEvent(); err != nil {
		return 0, err
	}
	if b.to, err = d.NewEvent(); err != nil {
		return 0, err
	}
	const runs = 10
	copies := func() (err error) {
		for range runs {
			err = errors.Join(err, d.Copy(b.stream, b.buffers[1], b.buffers[0], bytes))
		}
		return err
	}
	err = errors.Join(d.Clear(b.stream, b.buffers[0], bytes), copies(), d.Record(b.from, b.stream), copies(), d.Record(b.to, b.stream),
		d.Synchronize(b.stream))
	if err != nil {
		return 0, err
	}
	took, err := d.Elapsed(b.from, b.to)
	return 2 * runs * float64(bytes) / (took / 1e3), err
}
