package session

import (
	"context"
	"reflect"
	"slices"
)

// Once returns a source that reads the rows of s once and serves several sessions with the same
// Options.Device, such as the runs of a sweep. The source reads the rows again for a session with
// another seed, or with constraints that need other attributes. The source is not safe for
// concurrent use.
func Once(s Source) Source { return &once{Source: s} }

// once keeps the rows of a source.
type once struct {
	Source
	kept *loaded
	on   request // the request for which the rows were read
}

// load implements Source.
func (o *once) load(ctx context.Context, on request) (*loaded, error) {
	if o.kept == nil || !o.on.same(on) {
		l, err := o.Source.load(ctx, on)
		if err != nil {
			return nil, err
		}
		o.kept, o.on = l, request{dtype: on.dtype, seed: on.seed, needs: on.needs}
	}
	own := *o.kept
	own.splits = make([]*split, len(o.kept.splits))
	for k, s := range o.kept.splits {
		own.splits[k] = &split{name: s.name, rows: s.rows} // without data that a session builds
	}
	own.description.Data = slices.Clone(o.kept.description.Data)
	return &own, nil
}

// same reports whether rows that were read for request r are also valid for the other request.
func (r request) same(other request) bool {
	return r.dtype == other.dtype && r.seed == other.seed && reflect.DeepEqual(r.needs, other.needs)
}
