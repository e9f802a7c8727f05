// Package cpu gives problems of Gorgonia nodes the engine that runs on this machine's cores: the graph lowered to a plan of fused steps,
// with own kernels in place of Gorgonia's machine.
package cpu

import (
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/trainer/graph"
)

// Engine returns the engine with the widest kernels that this CPU has and that many threads; 0 means GOMAXPROCS. Results are the same bits
// for the same number of threads. The error is of a negative number.
func Engine(threads int) (graph.Engine, error) {
	d, err := cpu.New(kernel.Best(), threads)
	if err != nil {
		return nil, err
	}
	return graph.Planned(d), nil
}
