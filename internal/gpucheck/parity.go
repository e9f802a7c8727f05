package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
)

// precision is a way to compute, with its largest error relative to float64 on the CPU.
type precision struct {
	name     string
	dtype    tensor.Dtype
	products cuda.Products
	bound    float64
	digits   cuda.DigitProducts
	patches  int  // bytes of patches of pictures in memory at a time; 0: the device's default
	implicit bool // convolutions without patches
}

// problemCase is a problem of graphcases.
type problemCase interface {
	Title() string
	Problem(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error)
}

// precisions returns the precisions of a device. float32's bound is the bound of the CPU device's
// tests. TF32 rounds factors to 2^-11, and a pass has several consecutive products.
func precisions() []precision {
	return []precision{
		{name: "float64", dtype: tensor.Float64, products: cuda.Float32, bound: 1e-12},
		{name: "float32", dtype: tensor.Float32, products: cuda.Float32, bound: 2e-5},
		{name: "tf32", dtype: tensor.Float32, products: cuda.TF32, bound: 1e-2},
	}
}

// parityCases compare whole passes of every case with the CPU device, by precision and family, and
// the vectors' operations with the host's loops. The cases with the shapes of images come first.
func parityCases() []Case {
	list := []Case{{Name: "8-bit data", Limit: 2 * time.Minute, Run: func(ctx context.Context, o Options) ([]Result, error) {
		return eightBit(ctx, o, eightBitCase())
	}}, {Name: "own products with digits", Run: ownDigits}}
	for _, p := range withDigits() {
		list = append(list, passCases(p, 0, eightBitCases())...)
	}
	for _, p := range []int{1, 2, 0} { // float32 first
		list = append(list, passCases(precisions()[p], 0, slices.Concat(manyScores(graphcases.Values), graphcases.All(), graphcases.Ranked()))...)
		list = append(list, pictureCases(precisions()[p])...)
	}
	list = append(list, Case{Name: "vectors", Run: func(_ context.Context, o Options) ([]Result, error) { return vectors(o) }})
	list = append(list, passCases(precisions()[0], windowRows, graphcases.All())...)
	for _, p := range withDigits() {
		list = append(list, passCases(p, windowRows, eightBitCases())...)
	}
	return list
}

// pictureCases compare convolutional networks: all pictures at once, picture by picture in windows
// of pictureRows, layers of every kind, and in float32 convolutions without patches.
//
// Near the kinks of relu and of max-pooling, a factor that is rounded changes which elements get a
// derivative. The bound of TF32 allows for a few of these.
func pictureCases(p precision) []Case {
	if p.products == cuda.TF32 {
		p.bound *= 5
	}
	parts := p
	parts.patches = 1
	list := slices.Concat(passCases(p, 0, graphcases.PictureCases()), passCases(parts, pictureRows, graphcases.PictureCases()),
		passCases(p, 0, graphcases.PictureOperations()))
	if p.implicit = p.dtype == tensor.Float32; p.implicit {
		list = append(list, passCases(p, 0, graphcases.PictureCases())...)
	}
	return list
}

// pictureRows is the number of pictures of a window.
const pictureRows = 4

// passCases compare the passes of the cases of each family.
func passCases[C problemCase](p precision, window int, cases []C) (list []Case) {
	families := map[string][]C{}
	for _, c := range cases {
		f := family(c)
		if families[f] = append(families[f], c); len(families[f]) == 1 {
			list = append(list, Case{Name: p.title(window) + ", " + f, Run: func(ctx context.Context, o Options) ([]Result, error) {
				return passes(ctx, o, p, families[f], window)
			}})
		}
	}
	return list
}

// ownDigits runs the test that decides whether the program's own products with digits are used. The
// cases that choose these products measure other products if the test fails.
func ownDigits(_ context.Context, o Options) (list []Result, err error) {
	err = withDevice(o, cuda.Options{}, func(d *cuda.Device) error {
		r := AtMost("own products with digits: wrong products", 0, 0, "")
		if err := d.TestDigits(); err != nil {
			r.Value, r.Status, r.Detail = 1, Failed, err.Error()
		}
		list = []Result{r}
		return nil
	})
	return list, err
}

// title returns the name of a precision, with the number of rows at a time if it is not all.
func (p precision) title(window int) string {
	if p.implicit {
		return p.name + " without patches"
	}
	if window > 0 {
		return fmt.Sprintf("%s, %d rows at a time", p.name, window)
	}
	return p.name
}

// windowRows is the number of rows of a window. It is odd, and the larger cases have nine windows.
const windowRows = 37

// small runs parity on a few cases that use every kernel, for tools that slow the program down.
func small(ctx context.Context, o Options) ([]Result, error) {
	var list []Result
	cases, layers := graphcases.Ranked()[:2], graphcases.PictureOperations()
	for i, c := range graphcases.All() {
		if c.Rows < 10 && i%3 == 0 || c.Rows > 300 && i%7 == 0 {
			cases = append(cases, c)
		}
	}
	for _, p := range precisions() {
		part, err := passes(ctx, o, p, cases, 0)
		if err == nil {
			list = append(list, part...)
			part, err = passes(ctx, o, p, layers, 0)
		}
		if err != nil {
			return list, err
		}
		list = append(list, part...)
	}
	few := graphcases.Network(models.Spec{Inputs: 12, Hidden: []int{9}}, []int{20, 30}, constraints.Sigmoid, true, graphcases.Bytes)
	eight, err := eightBit(ctx, o, few)
	if list = append(list, eight...); err != nil {
		return list, err
	}
	vectors, err := vectors(o)
	return append(list, vectors...), err
}

// withDevice opens a device for do.
func withDevice(o Options, set cuda.Options, do func(d *cuda.Device) error) error {
	dev, err := o.Open()
	if err != nil {
		return err
	}
	d, err := cuda.On(dev, set)
	if err != nil {
		return err
	}
	return errors.Join(do(d), d.Close())
}

// reference returns the CPU engine for comparison.
func reference() (graph.Engine, error) {
	d, err := cpu.New(kernel.Best(), 0)
	if err != nil {
		return nil, err
	}
	return graph.On(d), nil
}

// family returns the first word of a case's name, for results.
func family(c problemCase) string {
	name, _, _ := strings.Cut(c.Title(), "/")
	if strings.Contains(name, "[") {
		return "neyman-pearson"
	}
	return name
}

// passes runs the cases' two halves and returns the worst error of each family, and whether three
// runs agree to the bit: launch by launch, captured and replayed. window is the number of rows at a
// time, 0 for all.
func passes[C problemCase](ctx context.Context, o Options, p precision, cases []C, window int) ([]Result, error) {
	host, err := reference()
	if err != nil {
		return nil, err
	}
	worst, at, differ := map[string]float64{}, map[string]string{}, 0
	var order []string
	err = withDevice(o, cuda.Options{Products: p.products, MicroBatch: window, Digits: p.digits, Patches: p.patches, Implicit: p.implicit}, func(d *cuda.Device) error {
		for _, c := range cases {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			e, same, err := caseError(c, p.dtype, host, graph.On(d))
			if err != nil {
				return fmt.Errorf("%s: %w", c.Title(), err)
			}
			if !same {
				differ++
			}
			f := family(c)
			if _, seen := worst[f]; !seen {
				order = append(order, f)
			}
			if !(e <= worst[f]) { // also if e is NaN
				worst[f], at[f] = e, c.Title()
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	title := p.title(window)
	var list []Result
	for _, f := range order {
		r := AtMost(fmt.Sprintf("both halves of %s in %s", f, title), worst[f], p.bound, "relative to float64 on the CPU")
		r.Detail = "worst: " + at[f]
		list = append(list, r)
	}
	return append(list, AtMost("cases of "+strings.Join(order, ", ")+" whose runs differ in a bit, in "+title, float64(differ), noDifference, "of "+fmt.Sprint(len(cases)))), nil
}

// noDifference is a bound of less than one case, because a bound of 0 means no bound.
const noDifference = 0.5

// caseError returns the worst relative error of f and g, the gradient and the scores, and whether
// runs repeat bit for bit.
func caseError(c problemCase, dtype tensor.Dtype, host, device graph.Engine) (worst float64, same bool, err error) {
	want, err := c.Problem(tensor.Float64, host)
	if err != nil {
		return 0, false, err
	}
	expected, err := Numbers(want)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w", c.Title(), err)
	}
	got, err := c.Problem(dtype, device)
	if err != nil {
		return 0, false, err
	}
	same = true
	var first [][]float64
	for run := range 3 {
		n, err := Numbers(got)
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", c.Title(), err)
		}
		if run == 0 {
			first = n
			for i := range expected {
				worst = math.Max(worst, Distance(n[i], expected[i]))
			}
		}
		for i := range n {
			same = same && slices.Equal(n[i], first[i])
		}
	}
	return worst, same, nil
}

// Numbers returns g and f, the gradient for some coefficients, and the scores of a problem of
// graphcases.
func Numbers(p *graph.Problem) ([][]float64, error) {
	n, m := p.Dims()
	g, d := make([]float64, m), make([]float64, n)
	f, err := p.Forward(g)
	if err != nil {
		return nil, err
	}
	weights := []float64{1}
	for j := range m {
		weights = append(weights, 0.5+float64(j))
	}
	v := p.Space().New()
	defer p.Space().Free(v)
	if err := p.Backward(weights, v); err != nil {
		return nil, err
	}
	p.Space().Read(d, v)
	scores, err := p.Watched(0)
	if err != nil {
		return nil, err
	}
	return [][]float64{append(g, f), d, graph.Float64s(scores)}, nil
}

// Distance returns ||a - b||/||b||.
func Distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var d, n float64
	for i := range b {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d / max(n, 1e-300))
}
