package driver_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/driver"
)

func TestError(t *testing.T) {
	e := &driver.Error{Operation: "launch margin_loss", Call: "cuLaunchKernel(f)", File: "launch.go", Line: 7, Code: 1,
		Name: "CUDA_ERROR_INVALID_VALUE", Detail: "invalid argument"}
	if want := "launch margin_loss: cuLaunchKernel(f): CUDA_ERROR_INVALID_VALUE (1, invalid argument) at launch.go:7"; e.Error() != want {
		t.Errorf("%s, want %s", e, want)
	}
	if errors.Is(e, driver.ErrOutOfMemory) {
		t.Error("every error is out of memory")
	}
	e.Err = driver.ErrOutOfMemory
	var kept *driver.Error
	if wrapped := fmt.Errorf("training: %w", e); !errors.Is(wrapped, driver.ErrOutOfMemory) || !errors.As(wrapped, &kept) || kept.Code != 1 {
		t.Errorf("%v is not found again", wrapped)
	}
}

// Float64Arg and IntArg return the bits of a kernel parameter of 8 bytes.
func TestArguments(t *testing.T) {
	for got, want := range map[uint64]uint64{driver.Float64Arg(1): 0x3ff0000000000000, driver.Float64Arg(math.Inf(-1)): 0xfff0000000000000,
		driver.IntArg(-1): 0xffffffffffffffff, driver.IntArg(7): 7} {
		if got != want {
			t.Errorf("%#x, want %#x", got, want)
		}
	}
	if p := driver.Pointer(0x1000).Offset(-16); p != 0xff0 {
		t.Errorf("%#x", p)
	}
}

// The spans of a product run from the first element of each matrix to its last element, or to the
// last element of a strided batch.
func TestSpans(t *testing.T) {
	for name, c := range map[string]struct {
		g             driver.Gemm
		reads, writes []driver.Span
	}{
		"plain": {driver.Gemm{Rows: 2, Cols: 3, Inner: 5, A: 100, B: 200, C: 300, StrideA: 6, StrideB: 3, StrideC: 4},
			[]driver.Span{{At: 100, Bytes: 4 * 11}, {At: 200, Bytes: 4 * 15}}, []driver.Span{{At: 300, Bytes: 4 * 7}}},
		"transposed, added": {driver.Gemm{Precision: driver.BF16, Rows: 2, Cols: 3, Inner: 5, TransA: true, TransB: true, Beta: 1,
			A: 100, B: 200, C: 300, StrideA: 2, StrideB: 8, StrideC: 3},
			[]driver.Span{{At: 100, Bytes: 2 * 10}, {At: 200, Bytes: 2 * 21}, {At: 300, Bytes: 4 * 6}}, []driver.Span{{At: 300, Bytes: 4 * 6}}},
		"batch": {driver.Gemm{Precision: driver.Int8, Rows: 2, Cols: 4, Inner: 16, TransB: true, A: 0, B: 64, C: 256, StrideA: 48, StrideB: 16,
			StrideC: 4, Batch: 3, StepA: 16, StepB: 64, StepC: 8},
			[]driver.Span{{At: 0, Bytes: 32 + 64}, {At: 64, Bytes: 128 + 64}}, []driver.Span{{At: 256, Bytes: 4 * (16 + 8)}}},
		"float64": {driver.Gemm{Precision: driver.Float64, Rows: 1, Cols: 1, Inner: 1, StrideA: 1, StrideB: 1, StrideC: 1},
			[]driver.Span{{Bytes: 8}, {Bytes: 8}}, []driver.Span{{Bytes: 8}}},
	} {
		reads, writes := c.g.Spans()
		if d := cmp.Diff(c.reads, reads); d != "" {
			t.Errorf("%s reads: %s", name, d)
		}
		if d := cmp.Diff(c.writes, writes); d != "" {
			t.Errorf("%s writes: %s", name, d)
		}
	}
}

// Check refuses integer products that tensor cores do not support.
func TestCheckIntegers(t *testing.T) {
	good := driver.Gemm{Precision: driver.Int8, Rows: 5, Cols: 4, Inner: 32, TransB: true, Alpha: 1, A: 16, B: 32, C: 64, StrideA: 32, StrideB: 48,
		StrideC: 4, Batch: 2, StepA: 16, StepB: 16, StepC: 20}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(g *driver.Gemm){
		"A^T": func(g *driver.Gemm) { g.TransA = true }, "B": func(g *driver.Gemm) { g.TransB, g.StrideB = false, 48 },
		"columns": func(g *driver.Gemm) { g.Cols = 3 }, "inner": func(g *driver.Gemm) { g.Inner = 20 },
		"stride of A": func(g *driver.Gemm) { g.StrideA = 40 }, "stride of C": func(g *driver.Gemm) { g.StrideC = 6 },
		"address": func(g *driver.Gemm) { g.B = 36 }, "step": func(g *driver.Gemm) { g.StepB = 8 },
		"alpha": func(g *driver.Gemm) { g.Alpha = 2 }, "beta": func(g *driver.Gemm) { g.Beta = 1 },
		"precision": func(g *driver.Gemm) { g.Precision++ }, "batch": func(g *driver.Gemm) { g.Batch = -1 },
	} {
		g := good
		spoil(&g)
		if err := g.Check(); err == nil || !strings.HasPrefix(err.Error(), "cuda: multiply: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
