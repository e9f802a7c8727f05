//go:build !amd64

package kernel

func sweeps32(Level) sweeps[float32] { return sweepsGo[float32]() }

func sweeps64(Level) sweeps[float64] { return sweepsGo[float64]() }
