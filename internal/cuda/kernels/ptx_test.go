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
	"ppal/internal/require"
)

// archive opens the modules' PTX.
func archive(t *testing.T) *zip.Reader {
	t.Helper()
	return require.Value(kernels.PTX())(t)
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
		text := require.Value(fs.ReadFile(texts, file))(t)
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
		require.NoError(t, launch())
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
		s := require.Value(kernels.Load(c, kernels.Float32))(t)
		kernels.SetBinaries(s, map[string]string{"data_f32.ptx": "machine code"}, test.architecture)
		stopped := false
		s.LoadCompiled(func() bool { return !stopped })
		if s.LoadCompiled(func() bool { return stopped }); c.loads != 0 || (len(c.taken) == 1) != (test.loads == 0) {
			t.Errorf("%+v: in advance %d compiled, %q loaded", test, c.loads, c.taken)
		}
		require.NoError(t, s.Widen(q, matrix(5, 4), 0x8000, 1))
		taken := slices.Equal(c.taken, []string{"machine code"})
		if c.loads != test.loads || taken != (test.loads == 0) || len(q.launches) != 1 || q.launches[0].Name != "widen_f32" {
			t.Errorf("%+v: %d compiled, %q loaded", test, c.loads, c.taken)
		}
	}
}

// Float64 matrices have neither digits nor bfloat16 terms.
func TestQuantizedIsFloat32(t *testing.T) {
	c, q := &compiler{entries: map[string]kernels.Entry{}}, &recorder{}
	s := require.Value(kernels.Load(c, kernels.Float64))(t)
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
var float32Only = []string{"convolve.cu", "dequantize.cu", "integers.cu", "multiply_digits.cu", "multiply_warpgroups.cu", "output_digits.cu", "output_digits_wide_1.cu",
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
		s := require.Value(kernels.Load(&c.device, kernels.Float32))(t)
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
