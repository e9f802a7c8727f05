package gpucheck

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"ppal/datasets/picture"
	"ppal/internal/config"
	"ppal/internal/cuda/driver"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// size is the size of a training check.
type size struct{ rowsPerClass, width, iterations int }

// The sizes of the comparison in float64, which also runs on the CPU, and of the runs in float32.
var (
	compared = size{rowsPerClass: 500, width: 64, iterations: 100}
	full     = size{rowsPerClass: 0, width: 256, iterations: 200}
)

// trainingCases train on Fashion-MNIST, which load reads from Options.Data. 100 iterations in
// float64 must end where the CPU's end. In float32, TF32 and with digits, two runs must agree bit
// for bit and end close to the CPU's run.
func trainingCases(compared, full size, load func(dir string) (*picture.Images, error)) (list []Case) {
	add := func(name string, run func(context.Context, Options, *picture.Images) ([]Result, error)) {
		list = append(list, Case{Name: name, Run: func(ctx context.Context, o Options) ([]Result, error) {
			if o.Data == "" {
				return []Result{Skipped(name, "the training files are missing")}, nil
			}
			images, err := load(o.Data)
			if err != nil {
				return nil, err
			}
			return run(ctx, o, images)
		}})
	}
	for _, products := range trainedProducts {
		add("ppala in "+products, func(ctx context.Context, o Options, images *picture.Images) ([]Result, error) {
			return trainProducts(ctx, o, images, full, products)
		})
	}
	for _, method := range trainedMethods {
		add(method+" in float64", func(ctx context.Context, o Options, images *picture.Images) ([]Result, error) {
			return trainMethod(ctx, o, images, compared, method)
		})
	}
	return list
}

// The products and methods of the training checks.
var (
	trainedProducts = []string{"int8x3", "float32", "tf32", "bf16x3"}
	trainedMethods  = []string{"ppala", "plada", "gdpa"}
)

// Bounds of the differences. In float64 the weights differ by roundings, which the path amplifies:
// by plain gradient steps of ppala to 1e-12 after 100 iterations, and to 2e-4 after 200 (between
// two CPU kernels). So 100 iterations are compared. In float32 f and g are compared: after 200
// iterations f is about 0.004, mostly 26 of 6,000 rows that are wrong.
const (
	pathBound      = 1e-6
	objectiveBound = 1e-3
	gapBound       = 2e-2
)

// trainMethod compares a method's weights in float64 with the CPU's.
func trainMethod(ctx context.Context, o Options, images *picture.Images, compared size, method string) (list []Result, err error) {
	var ends [2]trained
	for i, device := range []string{"cpu", "cuda"} {
		settings := config.Values{"method": method, "primal": "gradient", "dtype": "float64", "device": device}
		if ends[i], err = train(ctx, o, images, compared, settings); err != nil {
			return nil, err
		}
	}
	return []Result{AtMost(fmt.Sprintf("weights after %d iterations of %s in float64", compared.iterations, method),
		Distance(ends[1].x, ends[0].x), pathBound, "relative to the CPU's")}, nil
}

// trainProducts compares two runs with each other and with the CPU's.
func trainProducts(ctx context.Context, o Options, images *picture.Images, full size, products string) (list []Result, err error) {
	want, err := train(ctx, o, images, full, config.Values{"device": "cpu"})
	if err != nil {
		return nil, err
	}
	var runs [2]trained
	for i := range runs {
		if runs[i], err = train(ctx, o, images, full, config.Values{"device": "cuda", "products": products}); err != nil {
			return nil, err
		}
	}
	differ := 0.0
	if !slices.Equal(runs[0].x, runs[1].x) {
		differ = 1
	}
	var gap float64
	for j, g := range want.constraints {
		gap = max(gap, math.Abs(runs[0].constraints[j]-g))
	}
	title := fmt.Sprintf("%d iterations of ppala in %s", full.iterations, products)
	return []Result{
		AtMost(title+": two runs differ in a bit", differ, noDifference, ""),
		AtMost(title+": objective", math.Abs(runs[0].objective-want.objective), objectiveBound, "from the CPU's"),
		AtMost(title+": constraints", gap, gapBound, "from the CPU's"),
	}, nil
}

// trained is the result of a run.
type trained struct {
	x, constraints []float64
	objective      float64
}

// train runs a method on the first rows of four classes.
func train(ctx context.Context, o Options, images *picture.Images, s size, settings config.Values) (t trained, err error) {
	settings["dataset"], settings["hidden"] = "fashion-mnist", strconv.Itoa(s.width)
	settings["iterations"] = strconv.Itoa(s.iterations)
	cfg, err := config.Resolve(settings, nil)
	if err != nil {
		return t, err
	}
	rows, err := picture.Select(images, cfg.Pictures.Classes, s.rowsPerClass)
	if err != nil {
		return t, err
	}
	few, err := picture.Select(images, cfg.Pictures.Classes, 1) // no measures are computed on these rows
	if err != nil {
		return t, err
	}
	options, err := cfg.SessionOptions("")
	if err != nil {
		return t, err
	}
	options.Data = session.ImagesAtHand{Train: rows, Test: few, Normalize: cfg.Pictures.Normalize}
	options.Device.OpenGPU = onGPU(func(int) (driver.Driver, error) { return o.Open() }, timedCase{})
	run, err := session.New(ctx, options)
	if err != nil {
		return t, err
	}
	defer func() {
		if closeErr := run.Close(); err == nil {
			err = closeErr
		}
	}()
	p := run.Problem()
	r, err := trainer.Train(ctx, p, run.Method(), trainer.Settings{Iterations: s.iterations, RecordEvery: s.iterations})
	if err != nil {
		return t, fmt.Errorf("gpu-check: %v: %w", settings, err)
	}
	n, _ := p.Dims()
	t = trained{x: make([]float64, n), constraints: r.Point.Constraints, objective: r.Objective}
	p.Space().Read(t.x, problem.Iterate)
	return t, nil
}
