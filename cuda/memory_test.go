package cuda

import (
	"errors"
	"strings"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

func allocate(t *testing.T, p *pool, bytes int) driver.Pointer {
	t.Helper()
	return require.Value(p.allocate("x", bytes))(t)
}

// The pool reuses released memory for requests of at least half its size. The peak counts the
// memory that the driver allocated.
func TestPoolUsesAgain(t *testing.T) {
	r := double.New(double.Options{})
	p := &pool{driver: r}
	a, b := allocate(t, p, 1000), allocate(t, p, 5000)
	p.release(a)
	p.release(b)
	if got := allocate(t, p, 700); got != a {
		t.Errorf("700 bytes are at %#x, want those of 1000 at %#x", got, a)
	}
	if got := allocate(t, p, 700); got == b {
		t.Error("700 bytes took the place of 5000")
	}
	if got := allocate(t, p, 4000); got != b {
		t.Errorf("4000 bytes are at %#x, want those of 5000 at %#x", got, b)
	}
	if want := int64(1024 + 5120 + 1024); r.Count("Allocate") != 3 || p.peak != want || p.held != want {
		t.Errorf("%d allocations, %d bytes at most, %d held, want 3, %d, %d", r.Count("Allocate"), p.peak, p.held, want, want)
	}
	if err := p.close(); err != nil || r.Held() != 0 {
		t.Errorf("error %v, %d bytes held", err, r.Held())
	}
}

// The pool returns unused memory to the driver before an allocation fails. The error names the
// allocation, its size and the free memory.
func TestPoolOutOfMemory(t *testing.T) {
	r := double.New(double.Options{Memory: 10_240})
	p := &pool{driver: r}
	p.release(allocate(t, p, 8000))
	at := allocate(t, p, 3000) // does not reuse the 8000 bytes
	_, err := p.allocate("the gradient (784 x 256)", 9000)
	want := "cuda: out of device memory: the gradient (784 x 256) needs 9.216 kB, and 7.168 kB of 10.24 kB are free; --micro-batch N takes N rows at a time"
	if !errors.Is(err, driver.ErrOutOfMemory) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	p.release(at)
	if err := p.close(); err != nil || r.Violations() != nil {
		t.Errorf("error %v, violations %v", err, r.Violations())
	}
	lost := errors.New("lost")
	r.FailAt("Allocate", 1, lost)
	if _, err := p.allocate("x", 1); !errors.Is(err, lost) || strings.Contains(err.Error(), "micro-batch") {
		t.Errorf("error %v", err)
	}
}

func TestQuantity(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 75264000: "75.26 MB", 141e9: "141 GB", 5e12: "5000 GB"} {
		if got := quantity(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}
