package kernel

// Float is an element type.
type Float interface{ float32 | float64 }

// Kernels holds the kernels of one level for one element type. It holds no data and does not
// change, so any number of goroutines may use it.
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

// New returns the kernels of a level. The error is an *UnsupportedError if this machine does not
// support the level.
func New[F Float](level Level) (*Kernels[F], error) {
	if err := level.check(); err != nil {
		return nil, err
	}
	if level == Go {
		return reference[F](), nil
	}
	k := &Kernels[F]{level: level}
	switch k := any(k).(type) {
	case *Kernels[float32]:
		assemble32(k, level)
	case *Kernels[float64]:
		assemble64(k, level)
	}
	return k, nil
}

// reference returns the kernels in Go, which define what the assembly computes.
func reference[F Float]() *Kernels[F] {
	return &Kernels[F]{
		level:    Go,
		products: productsGo[F](),
		narrow:   narrowGo[F](),
		passes:   passesGo[F](),
		sweeps:   sweepsGo[F](),
		sparse:   sparseGo[F](),
		losses:   lossesGo[F](),
		tails:    tailsGo[F](),
		sets:     rowSetsGo[F](),
	}
}

// Level returns the level of the kernels.
func (k *Kernels[F]) Level() Level { return k.level }
