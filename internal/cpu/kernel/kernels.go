package kernel

// Float is an element type.
type Float interface{ float32 | float64 }

// Kernels are the kernels of one level for one element type. They hold no
// data, do not change and may be used by any number of goroutines.
type Kernels[F Float] struct {
	level    Level
	products products[F]
	narrow   narrows[F]
	passes   passes[F]
	sparse   sparse[F]
}

// New returns the kernels of a level. It fails with an *UnsupportedError if
// this machine lacks the level's instructions.
func New[F Float](level Level) (*Kernels[F], error) {
	if level < Go || level > Best() {
		return nil, &UnsupportedError{Level: level, Best: Best()}
	}
	k := &Kernels[F]{level: level}
	switch k := any(k).(type) {
	case *Kernels[float32]:
		k.products, k.narrow, k.passes, k.sparse = products32(level), narrow32(level), passes32(level), sparse32(level)
	case *Kernels[float64]:
		k.products, k.narrow, k.passes, k.sparse = products64(level), narrow64(level), passes64(level), sparse64(level)
	}
	return k, nil
}

// Level is the level that the kernels are written for.
func (k *Kernels[F]) Level() Level { return k.level }
