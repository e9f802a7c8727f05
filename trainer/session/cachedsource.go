package session

import (
	"context"
	"reflect"
	"slices"

	"ppal/trainer/session/internal/load"
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

// readFrom returns the source that reads the rows of s.
func readFrom(s Source) Source {
	if c, ok := s.(*cachedSource); ok {
		return c.Source
	}
	return s
}

// Load implements Source.
func (c *cachedSource) Load(ctx context.Context, on Request) (*Data, error) {
	if c.kept == nil || !c.on.same(on) {
		l, err := c.Source.Load(ctx, on)
		if err != nil {
			return nil, err
		}
		c.kept, c.on = l, Request{load.Request{Dtype: on.on.Dtype, Seed: on.on.Seed, Needs: on.on.Needs}}
	}
	own := *c.kept.Data
	own.Splits = make([]*load.Split, len(c.kept.Splits))
	for k, s := range c.kept.Splits {
		part := *s // without data that a session builds
		own.Splits[k] = &part
	}
	own.Description.Data = slices.Clone(c.kept.Description.Data)
	return &Data{&own}, nil
}

// same reports whether rows that were read for request r are also valid for the other Request.
func (r Request) same(other Request) bool {
	return r.on.Dtype == other.on.Dtype && r.on.Seed == other.on.Seed && reflect.DeepEqual(r.on.Needs, other.on.Needs)
}
