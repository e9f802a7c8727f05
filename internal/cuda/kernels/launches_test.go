package kernels_test

import (
	"archive/zip"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/cuda/kernels/device"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
	"ppal/trainer/problem"
)

// compiler is a driver that only loads modules.
type compiler struct {
	driver.Driver
	entries map[string]kernels.Entry // entries of the loaded modules
	loads   int
	taken   []string // compiled modules that were loaded
	refuses bool     // compiled modules
	major   int      // of the compute capability; 0 has no compiled modules
	minor   int
	fails   error
}

func (c *compiler) Load(ptx string) (driver.Module, error) {
	c.loads++
	for _, e := range kernels.Entries(ptx) {
		c.entries[e.Name] = e
	}
	return 1, c.fails
}

func (c *compiler) Info() driver.Info { return driver.Info{Major: c.major, Minor: c.minor} }

func (c *compiler) LoadBinary(module []byte) (driver.Module, error) {
	if c.refuses {
		return 0, errors.New("refused")
	}
	c.taken = append(c.taken, string(module))
	return 1, nil
}

func (c *compiler) Function(_ driver.Module, name string) (driver.Function, error) { return 1, nil }

// recorder is a queue that records launches. Its scratch memory and counters have arbitrary
// addresses.
type recorder struct{ launches []driver.Launch }

func (r *recorder) Launch(l *driver.Launch) error {
	r.launches = append(r.launches, *l)
	return nil
}

func (r *recorder) Clear(driver.Pointer, int) error      { return nil }
func (r *recorder) Scratch(int) (driver.Pointer, error)  { return 0x1000, nil }
func (r *recorder) Counters(int) (driver.Pointer, error) { return 0x2000, nil }

func matrix(rows, cols int) kernels.Operand {
	return kernels.Operand{At: 0x4000, Rows: rows, Cols: cols, Stride: cols}
}

// mapped2 compiles an expression of two operands.
func mapped2(t *testing.T, e *describe.Expr) *kernels.Map {
	t.Helper()
	m, err := kernels.NewMap(e, []kernels.Operand{matrix(3, 4), matrix(3, 4)}, matrix(3, 4))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// everything calls every launching function, in every form that has its own kernel.
func everything(t *testing.T, s *kernels.Set, q kernels.Queue) {
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const p driver.Pointer = 0x8000
	for f := kernels.Identity; f <= kernels.ReLU; f++ {
		do(s.BiasActivation(q, f, matrix(5, 4), matrix(1, 4)))
		do(s.ActivationGrad(q, f, matrix(5, 4), matrix(5, 4)))
		do(s.Slopes(q, kernels.Slopes{Activation: f, A: matrix(5, 4), D: matrix(5, 4), Sums: matrix(1, 4)}))
	}
	do(s.RankOne(q, -1, matrix(1, 5), matrix(1, 4), matrix(5, 4)))
	do(s.Copy(q, matrix(5, 4), matrix(5, 4)))
	do(s.Map(q, mapped2(t, &describe.Expr{Op: describe.Sub, X: &describe.Expr{Op: describe.Load}, Y: &describe.Expr{Op: describe.Load, Arg: 1}}), 0))
	do(s.Map(q, mapped2(t, &describe.Expr{Op: describe.Exp, X: &describe.Expr{Op: describe.Load}}), p))
	for _, over := range []plan.Axis{plan.OverRows, plan.OverColumns, plan.OverAll} {
		do(s.Sums(q, over, matrix(5, 4), matrix(1, 1), true))
	}
	do(s.WeightedSums(q, 2, matrix(1, 5), matrix(5, 4), matrix(1, 4), false))
	groups := describe.Groups{Rows: 5, Count: 2, Starts: []int{0, 2, 5}}
	m := kernels.NewMeans(kernels.MeansStep{Groups: groups, Out: matrix(2, 1)})
	w := kernels.NewMeansGrad(kernels.MeansGradStep{Groups: groups, W: matrix(2, 1)})
	do(s.GroupMeans(q, m, p, matrix(5, 1)))
	do(s.GroupMeansGrad(q, w, p, matrix(5, 1), false))
	pairs := kernels.NewPairs(describe.Pairs{Documents: 5, Groups: 1, Order: []int32{3, 0, 2}, Blocks: []describe.Block{{End: 1}, {End: 3, Level: 1}},
		Queries: []int32{0, 2}, Counts: []int64{2}})
	do(s.PairMeans(q, pairs, p, kernels.PhiSigmoid, matrix(5, 1), matrix(1, 1)))
	do(s.PairMeansGrad(q, pairs, p, kernels.PhiSigmoid, matrix(5, 1), matrix(1, 1), matrix(5, 1)))
	for _, l := range []kernels.Loss{{Kind: kernels.Margins, Labels: p, Scores: matrix(5, 3)},
		{Kind: kernels.Signs, Labels: p, Scores: matrix(5, 1)}} {
		do(s.LossValues(q, l, matrix(5, 1)))
		do(s.LossGrad(q, l, matrix(5, 1), l.Scores, false))
		do(s.LossMeans(q, m, p, l))
		do(s.LossGradMeans(q, l, w, p, l.Scores, true))
	}
	for c := 1; c <= kernels.Narrow; c++ {
		do(s.OutputForward(q, kernels.OutputForward{A: matrix(5, 4), W: matrix(4, c), Out: matrix(5, c)}))
		do(s.OutputBackward(q, kernels.OutputBackward{A: matrix(5, 4), D: matrix(5, c), G: matrix(4, c)}))
	}
	for _, c := range kernels.WideScores {
		for f := kernels.Identity; f <= kernels.ReLU; f++ {
			do(s.OutputForward(q, kernels.OutputForward{Activation: f, A: matrix(5, 4), W: matrix(4, c), Out: matrix(5, c)}))
			do(s.OutputForward(q, kernels.OutputForward{Activation: f, A: matrix(5, 6), W: matrix(6, c), Out: matrix(5, c)}))
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, c), W: matrix(4, c), DA: matrix(5, 4)}))
		}
	}
	for _, longest := range []int{3, 5000} {
		do(s.SparseProduct(q, kernels.Sparse{Rows: 5, Cols: 9, Entries: 7, Longest: longest, Starts: p, Columns: p}, matrix(9, 2),
			matrix(5, 2), false))
	}
	product := driver.Gemm{Rows: 5, Cols: 4, Inner: 3, A: p, B: p, C: p, StrideA: 3, StrideB: 4, StrideC: 4}
	if s.Dtype() == kernels.Float64 {
		product.Precision = driver.Float64
	}
	do(s.Multiply(q, &product))
	do(s.Widen(q, matrix(5, 4), p, 1))
	do(s.Round(q, matrix(5, 4), p))
	do(s.Pack(q, p, p, matrix(5, 4)))
	do(s.Unpack(q, p, p, matrix(5, 4)))
	if s.Dtype() == kernels.Float32 {
		everyQuantized(t, s, q, p)
	}
	everyVector(t, s, q, p)
}

// everyQuantized calls the launching functions that only float32 plans use.
func everyQuantized(t *testing.T, s *kernels.Set, q kernels.Queue, p driver.Pointer) {
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	terms := kernels.BFloat16s{At: []driver.Pointer{p, p}, Stride: 4}
	do(s.AddParts(q, p, 3, matrix(5, 4), true))
	do(s.CenterDigits(q, kernels.NewDigits(5, 4, 3, 16, 1).Place(p), matrix(5, 4), matrix(1, 5), matrix(1, 4), matrix(1, 4)))
	do(s.WidenBFloat16(q, terms, p, 5, 4))
	do(s.SplitBFloat16(q, terms, matrix(5, 4)))
	digits := kernels.Quantized{Digits: kernels.NewDigits(5, 4, 3, 16, 1).Place(p)}
	do(s.Quantize(q, digits, matrix(5, 4), false))
	do(s.Slopes(q, kernels.Slopes{Activation: kernels.Tanh, A: matrix(5, 4), D: matrix(5, 4), Quantized: digits}))
	for c := 1; c <= kernels.Narrow; c++ {
		for f := kernels.Identity; f <= kernels.ReLU; f++ {
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, c), W: matrix(4, c), DA: matrix(5, 4),
				Quantized: digits}))
		}
	}
	for count := 2; count <= 3; count++ {
		for _, f := range []kernels.Activation{kernels.Sigmoid, kernels.ReLU} {
			few := kernels.Quantized{Digits: kernels.NewDigits(5, 4, count, 16, 1).Place(p)}
			do(s.OutputBackward(q, kernels.OutputBackward{Activation: f, A: matrix(5, 4), D: matrix(5, 4), W: matrix(4, 4), DA: matrix(5, 4),
				Quantized: few}))
		}
	}
	do(s.LoadSigned(q, kernels.SignedBytes{At: p, Stride: 16}, kernels.SignedBytes{At: p, Stride: 16}, p, 5, 4))
	for count := 2; count <= 3; count++ {
		for _, most := range []int{3, 16} {
			for _, cols := range []int{3, 4} {
				d := kernels.Dequantize{Sums: p, SumRows: 7, Digits: kernels.NewDigits(5, cols, count, most, 1).Place(p),
					X: kernels.SignedBytes{At: p, Stride: 64}, B: matrix(5, cols), Out: matrix(7, cols)}
				do(s.Dequantize(q, d))
				do(s.MultiplyDigits(q, d))
				for d.Activation = kernels.Identity; d.Activation <= kernels.ReLU; d.Activation++ {
					d.Bias = matrix(1, cols)
					do(s.Dequantize(q, d))
				}
			}
		}
	}
	product := driver.Gemm{Rows: 5, Cols: 4, Inner: 16, TransB: true, Alpha: 1, A: p, B: p, C: p, StrideA: 16, StrideB: 16, StrideC: 4}
	for _, product.Precision = range []driver.Precision{driver.BF16, driver.Int8} {
		do(s.Multiply(q, &product))
	}
}

func everyVector(t *testing.T, s *kernels.Set, q kernels.Queue, p driver.Pointer) {
	n, one := 1000, kernels.Value(1)
	map1 := kernels.Proximal{Scale: one, Lower: one, Upper: one, Threshold: kernels.At(p)}
	g := kernels.VectorGroups{Ends: p, Count: 2, Longest: 600}
	for _, err := range []error{
		s.Combine(q, n, p, one, p, one, p), s.Dot(q, n, p, p, p), s.Dots(q, n, []driver.Pointer{p}, []driver.Pointer{p, p}, p),
		s.VectorSum(q, n, p, []float64{1, 2}, []driver.Pointer{p, p}), s.SquaredDistance(q, n, p, p, p), s.Size(q, n, p, 1, p),
		s.StepNorm(q, n, p, p, p, one, one, 1, p), s.Descend(q, n, p, p, p, one, one, map1, p),
		s.Adam(q, n, p, p, p, p, one, one, map1, 1, p), s.Adagrad(q, n, p, p, p, one, map1), s.Prox(q, n, p, map1),
		s.Sizing(q, n, p, p, &problem.SizedDescent{}, 1, p, p), s.SizingAt(q, n, p, p, p, p, p),
		s.GroupFactors(q, n, g, p, p, p, one, one, one, p), s.GroupDescend(q, n, g, p, p, p, one, one, p, p), s.GroupScale(q, n, g, p, p),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every launch names a kernel of the PTX and passes the kernel's parameters, each in a slot of 8
// bytes. Every kernel has a launching function.
func TestLaunchesFitPTX(t *testing.T) {
	for _, dtype := range []kernels.Dtype{kernels.Float32, kernels.Float64} {
		c, q := &compiler{entries: map[string]kernels.Entry{}}, &recorder{}
		s, err := kernels.Load(c, dtype)
		if err != nil {
			t.Fatal(err)
		}
		everything(t, s, q)
		if dtype == kernels.Float32 { // products of warpgroups
			c.major, c.refuses = 9, true
			if s, err = kernels.Load(c, dtype); err != nil {
				t.Fatal(err)
			}
			everyQuantized(t, s, q, 1<<20)
		}
		launched := map[string]bool{}
		for _, l := range q.launches {
			e, ok := c.entries[l.Name]
			if !ok {
				t.Errorf("%s is not in the PTX", l.Name)
			}
			launched[l.Name] = true
			if len(l.Args) != len(e.Params) {
				t.Errorf("%s: %d arguments, and %d parameters", l.Name, len(l.Args), len(e.Params))
			}
			if i := slices.IndexFunc(e.Params, func(bytes int) bool { return bytes != 8 }); i >= 0 {
				t.Errorf("%s: parameter %d has %d bytes, want 8", l.Name, i, e.Params[i])
			}
			if threads := l.Block[0] * l.Block[1] * l.Block[2]; threads > 256 {
				t.Errorf("%s: %d threads in a block, and the kernels are compiled for 256", l.Name, threads)
			}
		}
		for _, name := range inPTX(t, dtype) {
			if !launched[name] {
				t.Errorf("nothing launches %s", name)
			}
		}
	}
}

// archive opens the modules' PTX.
func archive(t *testing.T) *zip.Reader {
	t.Helper()
	r, err := kernels.PTX()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// inPTX lists the kernels of all modules of a type.
func inPTX(t *testing.T, dtype kernels.Dtype) (names []string) {
	t.Helper()
	texts := archive(t)
	files, err := fs.Glob(texts, "*_"+dtype.String()+".ptx")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(texts, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range kernels.Entries(string(text)) {
			names = append(names, e.Name)
		}
	}
	return names
}

// The first launch of a kernel compiles the kernel's module. Later launches do not compile the
// module again. The launch returns the compiler's error.
func TestModulesLoadWhenFirstUsed(t *testing.T) {
	c, q := &compiler{entries: map[string]kernels.Entry{}}, &recorder{}
	s, err := kernels.Load(c, kernels.Float32)
	if err != nil || c.loads != 0 {
		t.Fatalf("%d modules were compiled before a launch, error %v", c.loads, err)
	}
	launch := func() error {
		return errors.Join(s.Copy(q, matrix(5, 4), matrix(5, 4)), s.RankOne(q, 1, matrix(1, 5), matrix(1, 4), matrix(5, 4)))
	}
	c.fails = errors.New("no room")
	if err := launch(); !errors.Is(err, c.fails) || !strings.Contains(err.Error(), "compiling pair_f32.ptx") || len(q.launches) != 0 {
		t.Errorf("error %v, %d launches", err, len(q.launches))
	}
	c.fails, c.loads = nil, 0
	for range 2 {
		if err := launch(); err != nil {
			t.Fatal(err)
		}
	}
	if c.loads != 1 || len(q.launches) != 4 {
		t.Errorf("%d modules compiled for %d launches, want 1 for 4", c.loads, len(q.launches))
	}
}

// A compiled module for the device's architecture and the present PTX takes the place of the PTX.
// The driver compiles the PTX if it refuses the module, or if the module is for another
// architecture.
func TestCompiledModules(t *testing.T) {
	for _, test := range []struct {
		architecture string
		refuses      bool
		loads        int
	}{{"sm_90", false, 0}, {"sm_90", true, 1}, {"sm_80", false, 1}} {
		c, q := &compiler{entries: map[string]kernels.Entry{}, refuses: test.refuses, major: 9}, &recorder{}
		s, err := kernels.Load(c, kernels.Float32)
		if err != nil {
			t.Fatal(err)
		}
		kernels.SetBinaries(s, map[string]string{"data_f32.ptx": "machine code"}, test.architecture)
		if err := s.Widen(q, matrix(5, 4), 0x8000, 1); err != nil {
			t.Fatal(err)
		}
		taken := slices.Equal(c.taken, []string{"machine code"})
		if c.loads != test.loads || taken != (test.loads == 0) || len(q.launches) != 1 || q.launches[0].Name != "widen_f32" {
			t.Errorf("%+v: %d compiled, %q loaded", test, c.loads, c.taken)
		}
	}
}

// Float64 matrices have neither digits nor bfloat16 terms.
func TestQuantizedIsFloat32(t *testing.T) {
	c, q := &compiler{entries: map[string]kernels.Entry{}}, &recorder{}
	s, err := kernels.Load(c, kernels.Float64)
	if err != nil {
		t.Fatal(err)
	}
	const p driver.Pointer = 0x8000
	for _, to := range []kernels.Quantized{{Digits: kernels.NewDigits(5, 4, 3, 16, 1).Place(p)},
		{Terms: kernels.BFloat16s{At: []driver.Pointer{p, p}, Stride: 4}}} {
		for name, err := range map[string]error{
			"Quantize":       s.Quantize(q, to, matrix(5, 4), false),
			"Slopes":         s.Slopes(q, kernels.Slopes{Activation: kernels.Tanh, A: matrix(5, 4), D: matrix(5, 4), Quantized: to}),
			"OutputBackward": s.OutputBackward(q, kernels.OutputBackward{A: matrix(5, 4), D: matrix(5, 2), W: matrix(4, 2), DA: matrix(5, 4), Quantized: to}),
		} {
			if err == nil {
				t.Errorf("%s takes a matrix of float64", name)
			}
		}
	}
}

// float32Only lists the sources without a float64 module: FLOAT32_ONLY in compile.py.
var float32Only = []string{"dequantize.cu", "integers.cu", "multiply_digits.cu", "multiply_warpgroups.cu", "output_digits.cu", "output_digits_wide_1.cu",
	"output_digits_wide_10.cu", "output_digits_wide_16.cu", "output_digits_wide_2.cu", "output_digits_wide_3.cu", "output_digits_wide_4.cu",
	"output_digits_wide_8.cu", "output_wide_1.cu", "output_wide_10.cu", "output_wide_16.cu", "output_wide_2.cu", "output_wide_3.cu",
	"output_wide_4.cu", "output_wide_8.cu", "split.cu"}

// The pinned compiler wrote the PTX, for sm_80 and newer, and the products of warpgroups for
// sm_90a. Every source has one module for each number type.
func TestPTXIsOfEverySource(t *testing.T) {
	sources, err := fs.Glob(device.Sources, "*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	texts, wanted := archive(t), 0
	for _, source := range sources {
		for _, dtype := range []string{"f32", "f64"} {
			if dtype == "f64" && slices.Contains(float32Only, source) {
				continue
			}
			wanted++
			file := strings.TrimSuffix(source, ".cu") + "_" + dtype + ".ptx"
			text, err := fs.ReadFile(texts, file)
			if err != nil {
				t.Error(err)
				continue
			}
			version, target := "7.0", "sm_80"
			if source == "multiply_warpgroups.cu" {
				version, target = "8.0", "sm_90a"
			}
			for _, line := range []string{"(?m)^// Cuda compilation tools, release 12.4, V12.4.127$", "(?m)^.version " + version + "$",
				"(?m)^.target " + target + "$"} {
				if !regexp.MustCompile(line).Match(text) {
					t.Errorf("%s: no line %s", file, line)
				}
			}
			var names []string
			for _, e := range kernels.Entries(string(text)) {
				names = append(names, e.Name)
			}
			at := slices.IndexFunc(texts.File, func(f *zip.File) bool { return f.Name == file })
			if comment := strings.Fields(texts.File[at].Comment); len(names) == 0 || !slices.Equal(names, comment) {
				t.Errorf("%s: the kernels %q, and %q in the archive's list", file, names, comment)
			}
		}
	}
	if len(texts.File) != wanted {
		t.Errorf("%d modules of %d sources, want %d", len(texts.File), len(sources), wanted)
	}
}

func TestEntries(t *testing.T) {
	const text = `.visible .entry one_f32(
	.param .u64 one_f32_param_0,
	.param .align 8 .b8 one_f32_param_1[16],
	.param .f32 one_f32_param_2
)
{ }
.visible .entry none_f64()
{ }`
	got := kernels.Entries(text)
	if len(got) != 2 || got[0].Name != "one_f32" || !slices.Equal(got[0].Params, []int{8, 0, 4}) || got[1].Name != "none_f64" ||
		len(got[1].Params) != 0 {
		t.Errorf("%+v", got)
	}
}

// Warpgroups multiply on compute capability 9.0 if the driver takes their module.
func TestWarpgroups(t *testing.T) {
	for _, c := range []struct {
		device compiler
		want   bool
	}{
		{compiler{major: 9, refuses: true}, true},
		{compiler{major: 9, refuses: true, fails: errors.New("an old driver")}, false},
		{compiler{major: 8, refuses: true}, false},
		{compiler{major: 9, minor: 1, refuses: true}, false},
	} {
		c.device.entries = map[string]kernels.Entry{}
		s, err := kernels.Load(&c.device, kernels.Float32)
		if err != nil {
			t.Fatal(err)
		}
		module := "multiply_warpgroups_f32.ptx"
		if listed := slices.Contains(s.Modules(), module); listed != (c.device.major == 9 && c.device.minor == 0) {
			t.Errorf("%+v: the module is listed: %v", c.device, listed)
		}
		for range 2 {
			if s.Warpgroups() != c.want {
				t.Errorf("%+v: %v, want %v", c.device, !c.want, c.want)
			}
		}
		if c.device.loads > 1 {
			t.Errorf("%+v: %d loads", c.device, c.device.loads)
		}
	}
}
