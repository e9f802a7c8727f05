package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
)

// pool is a device's memory. The pool keeps released memory for later allocations, and gives it
// back to the driver when the driver has no more.
type pool struct {
	driver     driver.Driver
	used, idle []piece
	held, peak int64 // bytes from the driver, now and at most
}

// piece is one allocation of the driver.
type piece struct {
	driver.Span
	name string
}

const (
	// grain is the multiple to which sizes are rounded up, so that pieces fit again.
	grain = 512
	// waste is the largest ratio of a kept piece to the requested size.
	waste = 2
)

// allocate returns memory with undefined contents.
func (p *pool) allocate(name string, bytes int) (driver.Pointer, error) {
	bytes = (max(bytes, 1) + grain - 1) / grain * grain
	best := -1
	for i, c := range p.idle {
		if c.Bytes >= bytes && c.Bytes <= waste*bytes && (best < 0 || c.Bytes < p.idle[best].Bytes) {
			best = i
		}
	}
	if best >= 0 {
		c := p.idle[best]
		p.idle = slices.Delete(p.idle, best, best+1)
		c.name = name
		p.used = append(p.used, c)
		return c.At, nil
	}
	at, err := p.driver.Allocate(bytes)
	if errors.Is(err, driver.ErrOutOfMemory) && len(p.idle) > 0 {
		if err := p.trim(); err != nil {
			return 0, err
		}
		at, err = p.driver.Allocate(bytes)
	}
	if err != nil {
		return 0, p.failure(name, bytes, err)
	}
	p.used = append(p.used, piece{driver.Span{At: at, Bytes: bytes}, name})
	p.held += int64(bytes)
	p.peak = max(p.peak, p.held)
	return at, nil
}

// failure returns an error that names the allocation and says what to do.
func (p *pool) failure(name string, bytes int, err error) error {
	if !errors.Is(err, driver.ErrOutOfMemory) {
		return fmt.Errorf("cuda: allocating %s: %w", name, err)
	}
	free, total, memoryErr := p.driver.Memory()
	if memoryErr != nil {
		return fmt.Errorf("cuda: %s needs %s: %w", name, quantity(int64(bytes)), err)
	}
	return fmt.Errorf("cuda: %w: %s needs %s, and %s of %s are free; --micro-batch N takes N rows at a time",
		driver.ErrOutOfMemory, name, quantity(int64(bytes)), quantity(free), quantity(total))
}

// release takes a piece back. Queued work may still use the piece, because the next user is queued
// after.
func (p *pool) release(at driver.Pointer) {
	i := slices.IndexFunc(p.used, func(c piece) bool { return c.At == at })
	if i < 0 {
		panic(fmt.Sprintf("cuda: %#x is not in use", uint64(at)))
	}
	p.idle = append(p.idle, p.used[i])
	p.used = slices.Delete(p.used, i, i+1)
}

// trim gives unused pieces back to the driver.
func (p *pool) trim() error {
	var failed error
	for _, c := range p.idle {
		if err := p.driver.Free(c.At); err != nil {
			failed = errors.Join(failed, fmt.Errorf("cuda: freeing %s: %w", c.name, err))
			continue
		}
		p.held -= int64(c.Bytes)
	}
	p.idle = nil
	return failed
}

// close gives everything back.
func (p *pool) close() error {
	p.idle = append(p.idle, p.used...)
	p.used = nil
	return p.trim()
}

// quantity formats a number of bytes with a decimal prefix.
func quantity(n int64) string {
	x := float64(n)
	for _, prefix := range []string{"", "k", "M"} {
		if x < 1000 {
			return fmt.Sprintf("%.4g %sB", x, prefix)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.4g GB", x)
}
