//go:build !amd64

package kernel

func tails32(Level) tails[float32] { return tailsGo[float32]() }

func tails64(Level) tails[float64] { return tailsGo[float64]() }

func rowSets32(Level) rowSets[float32] { return rowSetsGo[float32]() }

func rowSets64(Level) rowSets[float64] { return rowSetsGo[float64]() }
