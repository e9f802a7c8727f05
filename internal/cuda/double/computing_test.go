//go:build gpu

package double_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/require"
)

// device opens a double and its kernel that copies float32 matrices.
func device(t *testing.T, o double.Options) (*double.Driver, driver.Function) {
	t.Helper()
	d := double.Computing(o)
	texts := require.Value(kernels.PTX())(t)
	text := require.Value(fs.ReadFile(texts, "pair_f32.ptx"))(t)
	m := require.Value(d.Load(string(text)))(t)
	f := require.Value(d.Function(m, "copy_f32"))(t)
	return d, f
}

// The host compiles every kernel that exists in PTX, with the same parameters.
func TestLoadsEveryModule(t *testing.T) {
	texts, err := kernels.PTX()
	if err != nil || len(texts.File) == 0 {
		t.Fatal(texts, err)
	}
	d := double.Computing(double.Options{})
	for _, file := range texts.File {
		text, err := fs.ReadFile(texts, file.Name)
		ok(t, err)
		_, err = d.Load(string(text))
		ok(t, err)
	}
}

// copying returns the launch that copies n numbers.
func copying(f driver.Function, to, from driver.Pointer, n int) *driver.Launch {
	return &driver.Launch{Function: f, Name: "copy_f32", Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1},
		Args:  []uint64{uint64(to), driver.IntArg(n), uint64(from), driver.IntArg(n), driver.IntArg(1), driver.IntArg(n)},
		Reads: []driver.Span{{At: from, Bytes: 4 * n}}, Writes: []driver.Span{{At: to, Bytes: 4 * n}}}
}

func encode(list ...float32) []byte {
	var b []byte
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// refused checks that err is a violation that contains the words of what.
func refused(t *testing.T, err error, what string) {
	t.Helper()
	var v *double.Violation
	if !errors.As(err, &v) || !strings.Contains(v.What, what) {
		t.Errorf("%v, want a violation with %q", err, what)
	}
}

func allocate(t *testing.T, d *double.Driver, bytes int) driver.Pointer {
	t.Helper()
	p, err := d.Allocate(bytes)
	ok(t, err)
	return p
}

func TestMemory(t *testing.T) {
	d := double.Computing(double.Options{Memory: 1000})
	p := allocate(t, d, 600)
	if p%256 != 0 {
		t.Errorf("the address %#x is not a multiple of 256", p)
	}
	free, total, err := d.Memory()
	if free != 400 || total != 1000 || err != nil {
		t.Errorf("%d of %d are free, %v, want 400 of 1000", free, total, err)
	}
	var full *driver.Error
	if _, err = d.Allocate(401); !errors.Is(err, driver.ErrOutOfMemory) || !errors.As(err, &full) || full.Name != "CUDA_ERROR_OUT_OF_MEMORY" {
		t.Errorf("%v is not ErrOutOfMemory", err)
	}
	_, err = d.Allocate(0)
	refused(t, err, "0 bytes")
	b := make([]byte, 600)
	refused(t, d.Download(0, b, p), "which nothing wrote")
	ok(t, d.Clear(0, p.Offset(8), 4), d.Upload(0, p, []byte{1, 2, 3, 4, 5, 6, 7, 8}), d.Copy(0, p.Offset(100), p.Offset(4), 8))
	ok(t, d.Download(0, b[:8], p.Offset(100)))
	if want := []byte{5, 6, 7, 8, 0, 0, 0, 0}; !slices.Equal(b[:8], want) {
		t.Errorf("%v, want %v", b[:8], want)
	}
	refused(t, d.Upload(0, p.Offset(593), b[:8]), "8 bytes from byte 593 of 600")
	ok(t, d.Free(p))
	refused(t, d.Free(p), "freed")
	refused(t, d.Clear(0, p, 4), "freed")
	refused(t, d.Clear(0, 0x10, 4), "does not belong to an allocation")
	ok(t, d.Close())
}

// A kernel reads NaN from memory that nothing wrote.
func TestNewMemoryIsPoison(t *testing.T) {
	d, f := device(t, double.Options{})
	p, q := allocate(t, d, 16), allocate(t, d, 16)
	l := copying(f, p, q, 4)
	l.Reads[0].Bytes = 12
	b := make([]byte, 16)
	ok(t, d.Upload(0, q, encode(1, 2, 3)), d.Launch(0, l), d.Download(0, b, p))
	if x := math.Float32frombits(binary.LittleEndian.Uint32(b[12:])); x == x {
		t.Errorf("new memory is %v", x)
	}
}

func TestLaunchChecks(t *testing.T) {
	d, f := device(t, double.Options{})
	p, q := allocate(t, d, 16), allocate(t, d, 16)
	ok(t, d.Upload(0, q, encode(1, 2, 3, 4)), d.Launch(0, copying(f, p, q, 4)))
	b := make([]byte, 16)
	ok(t, d.Download(0, b, p))
	if !slices.Equal(b, encode(1, 2, 3, 4)) {
		t.Errorf("%v", b)
	}
	refused(t, d.Launch(0, copying(f, p, q, 5)), "20 bytes from byte 0 of 16")
	l := copying(f, p, q, 4)
	l.Args = l.Args[1:]
	refused(t, d.Launch(0, l), "5 arguments for copy_f32, want 6")
	l = copying(f, p, q, 4)
	for _, l.Block = range [][3]int{{32, 33, 1}, {1, 1, 65}} {
		refused(t, d.Launch(0, l), "threads in a block")
	}
	l = copying(f, p, q, 4)
	l.Grid[1] = 0
	refused(t, d.Launch(0, l), "a grid of")
	l = copying(99, p, q, 4)
	refused(t, d.Launch(0, l), "there is no function 99")
	ok(t, d.Free(q))
	refused(t, d.Launch(0, copying(f, p, q, 4)), "freed")
}

// The double finds memory that a launch reads or writes without declaring it.
func TestStrict(t *testing.T) {
	d, f := device(t, double.Options{Strict: true})
	p, q, other := allocate(t, d, 16), allocate(t, d, 16), allocate(t, d, 16)
	ok(t, d.Upload(0, q, encode(1, 2, 3, 4)), d.Upload(0, other, encode(5, 6, 7, 8)), d.Launch(0, copying(f, p, q, 4)))
	b := make([]byte, 16)
	ok(t, d.Download(0, b, p))
	if !slices.Equal(b, encode(1, 2, 3, 4)) {
		t.Errorf("%v", b)
	}
	ok(t, d.Download(0, b, other))
	if !slices.Equal(b, encode(5, 6, 7, 8)) {
		t.Errorf("what the launch has nothing to do with became %v", b)
	}
	l := copying(f, p, q, 4)
	l.Writes[0].Bytes = 12
	refused(t, d.Launch(0, l), "byte 12 of the 16")
	l = copying(f, p, q, 4)
	l.Reads[0].Bytes = 12
	ok(t, d.Launch(0, l), d.Download(0, b, p))
	if x := math.Float32frombits(binary.LittleEndian.Uint32(b[12:])); x == x {
		t.Errorf("the kernel read %v, which it had not declared", x)
	}
}

// Strict mode finds a kernel whose threads read elements that other threads write: a copy of a
// matrix onto itself, shifted by one number.
func TestStrictFindsRaces(t *testing.T) {
	d, f := device(t, double.Options{Strict: true})
	p := allocate(t, d, 20)
	ok(t, d.Upload(0, p, encode(1, 2, 3, 4, 5)))
	refused(t, d.Launch(0, copying(f, p.Offset(4), p, 4)), "depend on the order of the threads")
}

// The double reports a write outside an allocation when the allocation is freed.
func TestGuards(t *testing.T) {
	d, f := device(t, double.Options{})
	p, q := allocate(t, d, 16), allocate(t, d, 32)
	l := copying(f, p, q, 5)
	l.Writes[0].Bytes = 16
	ok(t, d.Upload(0, q, make([]byte, 32)), d.Launch(0, l))
	refused(t, d.Free(p), "wrote beside the 16 bytes")
}

// A graph computes with the contents of memory at the time of its launch.
func TestCapture(t *testing.T) {
	d, f := device(t, double.Options{})
	s, err := d.NewStream()
	ok(t, err)
	p, q := allocate(t, d, 4), allocate(t, d, 4)
	staging, err := d.Pinned(4)
	ok(t, err, d.BeginCapture(s), d.Upload(s, q, staging), d.Launch(s, copying(f, p, q, 1)))
	g, err := d.EndCapture(s)
	ok(t, err)
	b := make([]byte, 4)
	for _, x := range []float32{3, 5} {
		copy(staging, encode(x))
		ok(t, d.LaunchGraph(g, s), d.Synchronize(s), d.Download(s, b, p))
		if !slices.Equal(b, encode(x)) {
			t.Errorf("the graph gave %v, want %v", b, encode(x))
		}
	}
	e, err := d.NewEvent()
	ok(t, err, d.Record(e, s), d.Wait(0, e))
	if ms, err := d.Elapsed(e, e); ms != 0 || err != nil {
		t.Error(ms, err)
	}
	refused(t, d.Close(), "1 events 1 graphs 1 streams 4 bytes of call 3 4 bytes of call 4 4 pinned bytes of call 5")
}

// A download to pinned memory arrives when the stream is synchronized, and not before.
func TestDownloadsArriveWhenSynchronized(t *testing.T) {
	d, f := device(t, double.Options{})
	p, q := allocate(t, d, 4), allocate(t, d, 4)
	in, err := d.Pinned(4)
	ok(t, err)
	out, err := d.Pinned(4)
	ok(t, err)
	copy(in, encode(3))
	ok(t, d.Upload(0, q, in), d.Launch(0, copying(f, p, q, 1)), d.Download(0, out, p))
	if slices.Equal(out, encode(3)) {
		t.Error("the result is there before the stream was synchronized")
	}
	ok(t, d.Synchronize(0))
	if !slices.Equal(out, encode(3)) {
		t.Errorf("%v, want %v", out, encode(3))
	}
}

func TestLoadRefuses(t *testing.T) {
	d := double.Computing(double.Options{})
	_, err := d.Load(".visible .entry stranger()\n{}")
	refused(t, err, "stranger is not compiled for the host")
	_, err = d.Load(".visible .entry copy_f32(\n.param .u64 a\n)\n{}")
	refused(t, err, "copy_f32 has parameters of [8 8 8 8 8 8] bytes on the host and of [8] in PTX")
	m, err := d.Load("")
	ok(t, err)
	_, err = d.Function(m, "stranger")
	refused(t, err, "stranger")
}
