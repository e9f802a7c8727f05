package session

import (
	"context"
	"reflect"
	"slices"
)

// Cached returns a source that reads the rows of s once and serves several sessions with the same
// Options.Device, such as the runs of a sweep. The source reads the rows again for a session with
// another seed, or with constraints that need other attributes. The source is not safe for
// concurrent use.
func Cached(s Source) Source { return &cachedSource{Source: s} }

// cachedSource keeps the rows of a source.
type cachedSource struct {
	Source
	kept *Data
	on   Request // the request for which the rows were read
}

// Load implements Source.
func (c *cachedSource) Load(ctx context.Context, on Request) (*Data, error) {
	if c.kept == nil || !c.on.same(on) {
		l, err := c.Source.Load(ctx, on)
		if err != nil {
			return nil, err
		}
		c.kept, c.on = l, Request{dtype: on.dtype, seed: on.seed, needs: on.needs}
	}
	own := *c.kept
	own.splits = make([]*split, len(c.kept.splits))
	for k, s := range c.kept.splits {
		own.splits[k] = &split{name: s.name, rows: s.rows} // without data that a session builds
	}
	own.description.Data = slices.Clone(c.kept.description.Data)
	return &own, nil
}

// same reports whether rows that were read for request r are also valid for the other Request.
func (r Request) same(other Request) bool {
	return r.dtype == other.dtype && r.seed == other.seed && reflect.DeepEqual(r.needs, other.needs)
}
