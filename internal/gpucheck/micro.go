package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ppal/cuda"
	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
)

const (
	microLaunches = 1000 // launches of a kernel on one number, timed together
	microTrips    = 200  // round trips between host and device
	graphLaunches = 10   // launches in a graph
	sweepRounds   = 3    // turns of iterations for each case of the sweep
)

// tuned is a case with other constants of the device.
type tuned struct {
	name string
	timedCase
}

// sweep returns the cases that compare constants of the device, whose defaults were chosen on an
// H200.
func sweep() (list []tuned) {
	timed := func(name, products, what string, o cuda.Options) {
		c := timedCase{name: name, products: products, constants: o}
		list = append(list, tuned{c.label() + ", " + what, c})
	}
	for _, name := range []string{"mnpc-fashion-mnist", "mnpc-cifar10"} {
		timed(name, "int8x3", "own product forward", cuda.Options{Digits: cuda.ForwardDigits})
		timed(name, "int8x3", "the library's products", cuda.Options{Digits: cuda.LibraryDigits})
	}
	add := func(products, what string, o cuda.Options) { timed("mnpc-fashion-mnist", products, what, o) }
	add("int8x3", "step sizes by the host", cuda.Options{HostSteps: true})
	add("int8x3", "f, g and coefficients by copies", cuda.Options{Copies: true})
	for _, mebibytes := range []int{8, 16, 32, 64, 128} {
		add("int8x3", fmt.Sprintf("%d MiB of sums", mebibytes), cuda.Options{Sums: mebibytes << 20})
	}
	for _, rows := range []int{1024, 2048, 4096} {
		add("int8x3", fmt.Sprintf("%d rows with one scale", rows), cuda.Options{ScaleRows: rows})
	}
	for _, rows := range []int{8192, 1 << 20} {
		add("bf16x3", fmt.Sprintf("sums of at most %d rows", rows), cuda.Options{InnerBlock: rows})
	}
	return list
}

// microCases time what an iteration pays for besides the work of its kernels: launches, graphs,
// round trips between host and device, and compiling. They also time the bare products of int8
// digits and of bfloat16 terms, and compare constants of the device.
func microCases() []Case {
	list := []Case{
		{Name: "launches and round trips", Run: micro},
		{Name: "compiling", Limit: 2 * time.Minute, Run: compiling},
		{Name: "resources", Limit: 2 * time.Minute, Run: resources},
	}
	for _, name := range []string{"mnpc-fashion-mnist", "mnpc-cifar10"} {
		list = append(list, Case{Name: name + " bare digits", Run: func(ctx context.Context, o Options) ([]Result, error) {
			return bareDigits(ctx, o, name)
		}})
	}
	for _, w := range sweep() {
		list = append(list, Case{Name: w.name, Run: func(ctx context.Context, o Options) ([]Result, error) {
			ms, err := w.time(ctx, o)
			return []Result{Measurement(w.name+": time of an iteration", ms, "ms")}, err
		}})
	}
	return list
}

// time returns the median time of an iteration in milliseconds.
func (c timedCase) time(ctx context.Context, o Options) (ms float64, err error) {
	p, err := c.prepare(ctx, o, func(int) (driver.Driver, error) { return o.Open() })
	if p != nil {
		defer func() { err = errors.Join(err, p.Close()) }()
	}
	if err != nil {
		return 0, err
	}
	times, err := turnOf(o, p)
	if err != nil {
		return 0, err
	}
	var list []float64
	for range sweepRounds {
		one, err := milliseconds(p, times)
		if err != nil {
			return 0, err
		}
		list = append(list, one)
	}
	return median(list), nil
}

// stand is a device with a stream, events, two float32 numbers, and pinned memory for one.
type stand struct {
	*bare
	set    *kernels.Set
	host   []byte
	mapped driver.Pointer // the pinned memory for kernels
	refuse error          // why there is no mapped memory
}

func newStand(o Options) (s *stand, err error) {
	d, err := o.Open()
	if err != nil {
		return nil, err
	}
	s = &stand{bare: &bare{d: d}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.stream, err = d.NewStream(); err != nil {
		return s, err
	}
	for _, e := range []*driver.Event{&s.from, &s.to} {
		if *e, err = d.NewEvent(); err != nil {
			return s, err
		}
	}
	for range 2 {
		if _, err = s.buffer(1); err != nil {
			return s, err
		}
	}
	if s.host, err = d.Pinned(4); err != nil {
		return s, err
	}
	clear(s.host)
	s.mapped, s.refuse = d.Mapped(s.host)
	s.set, err = kernels.Load(d, kernels.Float32)
	return s, err
}

func (s *stand) close() error {
	var err error
	if s.host != nil {
		err = s.d.FreePinned(s.host)
	}
	return errors.Join(err, s.bare.close(), s.d.Close())
}

// Launch, Clear, Scratch and Counters implement kernels.Queue, for kernels without scratch memory.
func (s *stand) Launch(l *driver.Launch) error           { return s.d.Launch(s.stream, l) }
func (s *stand) Clear(p driver.Pointer, bytes int) error { return s.d.Clear(s.stream, p, bytes) }
func (s *stand) Scratch(int) (driver.Pointer, error) {
	return 0, errors.New("gpu-check: no scratch memory")
}
func (s *stand) Counters(int) (driver.Pointer, error) { return 0, errors.New("gpu-check: no counters") }
func (s *stand) number(i int) kernels.Operand {
	return kernels.Operand{At: s.buffers[i], Rows: 1, Cols: 1, Stride: 1}
}
func (s *stand) kernel() error   { return s.set.Copy(s, s.number(1), s.number(0)) }
func (s *stand) wait() error     { return s.d.Synchronize(s.stream) }
func (s *stand) download() error { return s.d.Download(s.stream, s.host, s.buffers[1]) }
func (s *stand) upload() error   { return s.d.Upload(s.stream, s.buffers[0], s.host) }

// store runs the kernel with its result in mapped memory, and load with its argument there.
func (s *stand) store() error {
	if s.refuse != nil {
		return s.refuse
	}
	return s.set.Copy(s, s.host1(), s.number(0))
}
func (s *stand) load() error {
	if s.refuse != nil {
		return s.refuse
	}
	return s.set.Copy(s, s.number(1), s.host1())
}
func (s *stand) host1() kernels.Operand {
	return kernels.Operand{At: s.mapped, Rows: 1, Cols: 1, Stride: 1}
}

// between returns the microseconds on the device of a run of f, as the mean over times runs.
func (s *stand) between(times int, f func() error) (float64, error) {
	err := errors.Join(s.wait(), s.d.Record(s.from, s.stream))
	for range times {
		err = errors.Join(err, f())
	}
	if err := errors.Join(err, s.d.Record(s.to, s.stream), s.wait()); err != nil {
		return 0, err
	}
	ms, err := s.d.Elapsed(s.from, s.to)
	return 1e3 * ms / float64(times), err
}

// trip returns the median microseconds on the host of a run of the functions, one after the other.
func (s *stand) trip(list ...func() error) (float64, error) {
	times := make([]float64, 0, microTrips)
	for range microTrips {
		began := time.Now()
		for _, f := range list {
			if err := f(); err != nil {
				return 0, err
			}
		}
		times = append(times, 1e6*time.Since(began).Seconds())
	}
	return median(times), nil
}

// micro times the smallest kernel in several ways.
func micro(_ context.Context, o Options) (results []Result, err error) {
	s, err := newStand(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := errors.Join(s.kernel(), s.wait(), s.d.BeginCapture(s.stream)); err != nil { // the first launch compiles
		return nil, err
	}
	for range graphLaunches {
		err = errors.Join(err, s.kernel())
	}
	graph, failed := s.d.EndCapture(s.stream)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	s.graph = graph
	replay := func() error { return s.d.LaunchGraph(s.graph, s.stream) }
	for _, m := range []struct {
		name string
		run  func() (float64, error)
	}{
		{"a launch of a kernel on one number, among many", func() (float64, error) { return s.between(microLaunches, s.kernel) }},
		{fmt.Sprintf("a graph of %d such launches, among many", graphLaunches), func() (float64, error) {
			return s.between(microLaunches/graphLaunches, replay)
		}},
		{"waiting for an idle stream", func() (float64, error) { return s.trip(s.wait) }},
		{"launch and wait", func() (float64, error) { return s.trip(s.kernel, s.wait) }},
		{"launch, copy 4 bytes to pinned memory, and wait", func() (float64, error) { return s.trip(s.kernel, s.download, s.wait) }},
		{"launch, store 4 bytes in mapped memory, and wait", func() (float64, error) { return s.trip(s.store, s.wait) }},
		{"copy 4 bytes from pinned memory, launch, and wait", func() (float64, error) { return s.trip(s.upload, s.kernel, s.wait) }},
		{"launch, load 4 bytes from mapped memory, and wait", func() (float64, error) { return s.trip(s.load, s.wait) }},
		{fmt.Sprintf("graph of %d launches, and wait", graphLaunches), func() (float64, error) { return s.trip(replay, s.wait) }},
	} {
		us, err := m.run()
		if s.refuse != nil && errors.Is(err, s.refuse) {
			results = append(results, Skipped(m.name, err.Error()))
			continue
		}
		if err != nil {
			return results, err
		}
		results = append(results, Measurement(m.name, us, "us"))
	}
	return results, nil
}

// compiling times how long the driver takes to compile or load every module of float32. A compile
// cache shortens the times.
func compiling(_ context.Context, o Options) (results []Result, err error) {
	d, err := o.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	set, err := kernels.Load(d, kernels.Float32)
	if err != nil {
		return nil, err
	}
	all := time.Now()
	for _, module := range set.Modules() {
		began := time.Now()
		if err := set.Prepare(module); err != nil {
			return results, err
		}
		results = append(results, Measurement("loading "+module, 1e3*time.Since(began).Seconds(), "ms"))
	}
	return append(results, Measurement("loading all modules of float32", 1e3*time.Since(all).Seconds(), "ms")), nil
}

// resources lists the registers, the memory and the occupancy of every kernel of float32.
func resources(_ context.Context, o Options) (results []Result, err error) {
	d, err := o.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	set, err := kernels.Load(d, kernels.Float32)
	if err != nil {
		return nil, err
	}
	for _, module := range set.Modules() {
		found, err := set.Inspect(module)
		if errors.Is(err, kernels.ErrNotInspected) {
			return []Result{Skipped("resources", err.Error())}, nil
		}
		if err != nil {
			return results, err
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			k := found[name]
			r := Measurement("registers of "+name, float64(k.Registers), "")
			r.Detail = fmt.Sprintf("%d bytes of local memory, %d bytes of shared memory; %d blocks of %d threads at a time on a multiprocessor",
				k.Local, k.Shared, k.Resident, kernels.BlockSize)
			results = append(results, r)
		}
	}
	return results, nil
}

// bareDigits times the library's products of three int8 digits, and of three bfloat16 terms, with
// the data of a case: forward, and backward in blocks of rows.
func bareDigits(ctx context.Context, o Options, name string) (results []Result, err error) {
	shape, err := shapeOf(ctx, o, name)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name      string
		precision driver.Precision
	}{{"int8", driver.Int8}, {"bfloat16", driver.BF16}} {
		for i, g := range digitProducts(shape, p.precision) {
			half := [...]string{"forward", "backward"}[i]
			us, err := timeProduct(o, g)
			r := Measurement(fmt.Sprintf("%s: bare %s product with three digits, %s", name, p.name, half), us, "us")
			if err != nil {
				r = Skipped(r.Name, err.Error())
			} else {
				r.Detail = fmt.Sprintf("%d x %d x %d, %d at once, %.4g TOP/s", g.Rows, g.Cols, g.Inner, max(g.Batch, 1), productLaunch(g).ops/us/1e6)
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// digitProducts returns the products with three digits side by side. Bytes and digits lie as rows
// along the sums.
func digitProducts(s bench.Shape, precision driver.Precision) []*driver.Gemm {
	list := []*driver.Gemm{}
	for _, n := range []struct{ rows, inner, length int }{{s.Rows, s.Features, kernels.ExactIndices}, {s.Features, s.Rows, cuda.ScaleRows}} {
		d := kernels.NewDigits(n.inner, s.Width, 3, n.length, 1)
		wide, rows := d.Count*d.Width, max(n.rows, kernels.FewestRows)
		list = append(list, &driver.Gemm{Precision: precision, Rows: rows, Cols: wide, Inner: d.Length, TransB: true, Alpha: 1,
			StrideA: d.Blocks * d.Length, StrideB: d.Length, StrideC: wide, Batch: d.Blocks, StepA: d.Length, StepB: wide * d.Length, StepC: rows * wide})
	}
	return list
}

// timeProduct returns the microseconds of a product on random numbers.
func timeProduct(o Options, g *driver.Gemm) (us float64, err error) {
	s, err := newStand(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	reads, writes := g.Spans()
	for i, at := range []*driver.Pointer{&g.A, &g.B, &g.C} {
		bytes := append(reads[:2:2], writes...)[i].Bytes
		if *at, err = s.buffer((bytes + 3) / 4); err != nil {
			return 0, err
		}
	}
	multiply := func() error { return s.d.Multiply(s.stream, g) }
	if err := errors.Join(multiply(), s.wait()); err != nil { // the first call chooses and loads the library's kernels
		return 0, err
	}
	return s.between(bareTimes, multiply)
}
