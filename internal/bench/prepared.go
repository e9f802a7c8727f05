package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Prepared is a case that is ready to iterate. Callers that do not use Run measure its iterations
// themselves.
type Prepared struct{ w *workload }

// Prepare builds the case's problem on the device of the options and initialises its method. Close
// releases what Prepare opened.
func (c Case) Prepare(ctx context.Context, o Options) (*Prepared, error) {
	if c.Missing != "" {
		return nil, fmt.Errorf("bench: %s cannot run: %s", c.Name, c.Missing)
	}
	w, err := c.prepare(ctx, o)
	if w == nil {
		return nil, err
	}
	p := &Prepared{w}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Shape returns the sizes that determine the work of an iteration.
func (p *Prepared) Shape() Shape { return p.w.shape }

// Iterate runs the given number of iterations.
func (p *Prepared) Iterate(times int) error { return p.w.repeat(times) }

// Close releases the device.
func (p *Prepared) Close() error {
	if c, ok := p.w.keep.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
