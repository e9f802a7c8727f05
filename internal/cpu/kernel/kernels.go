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
	sweeps   sweeps[F]
	sparse   sparse[F]
	losses   losses[F]
	tails    tails[F]
	sets     rowSets[F]
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
		k.products, k.narrow, k.passes, k.sweeps = products32(level), narrow32(level), passes32(level), sweeps32(level)
		k.sparse, k.losses, k.tails, k.sets = sparse32(level), losses32(level), tails32(level), rowSets32(level)
	case *Kernels[float64]:
		k.products, k.narrow, k.passes, k.sweeps = products64(level), narrow64(level), passes64(level), sweeps64(level)
		k.sparse, k.losses, k.tails, k.sets = sparse64(level), losses64(level), tails64(level), rowSets64(level)
	}
	return k, nil
}

// Level is the level that the kernels are written for.
func (k *Kernels[F]) Level() Level { return k.level }
