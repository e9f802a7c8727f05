package bench

import (
	"context"
	"strings"

	"ppal/internal/rundir"
)

// Memory is what a run holds once it is loaded, beside what it may hold.
type Memory struct {
	Name string `json:"name"`
	// ProcessPeak is the largest resident memory of the process, loading included. LoadedPeak is that of the time from the end of
	// loading on; 0 where the system cannot tell it apart.
	ProcessPeak uint64 `json:"process_peak_bytes"`
	LoadedPeak  uint64 `json:"loaded_peak_bytes"`
	Bound       uint64 `json:"bound_bytes"` // on both
	Terms       Bound  `json:"bound"`
	Allocations        // of an iteration; those of the parameters' or the data's size are none
	Shape
}

// Bound are the bytes that a run in the steady state is allowed, term by term.
type Bound struct {
	Packed      uint64 `json:"packed_data_bytes"`       // the training rows as the products read them
	OtherSplits uint64 `json:"other_splits_bytes"`      // the rest of the rows, as they were read
	Parameters  uint64 `json:"parameters_bytes"`        // four vectors of the parameters
	Activations uint64 `json:"activations_bytes"`       // 1.3 times what the backward pass reads of the forward pass
	Allowance   uint64 `json:"program_allowance_bytes"` // 64 MiB
}

const (
	parameterVectors     = 4
	activationPercentage = 130
	programAllowance     = 64 << 20
	steadyIterations     = 20
)

// Sum is the bound as a whole.
func (b Bound) Sum() uint64 {
	return b.Packed + b.OtherSplits + b.Parameters + b.Activations + b.Allowance
}

// MemoryCases are the cases whose memory is measured: all of Fashion-MNIST's training rows, and those of CIFAR-10's four classes.
func MemoryCases(shrink int) []Case {
	return []Case{
		imageCase("memory-fashion-mnist", "auto", "Fashion-MNIST, 10 classes, 256 hidden units", "fashion-mnist",
			fashionTrain/shrink, fashionTest/shrink, "classes", "0,1,2,3,4,5,6,7,8,9"),
		imageCase("memory-cifar10", "auto", "CIFAR-10, 4 classes, 256 hidden units", "cifar10", cifarTrain/shrink, cifarTest/shrink),
	}
}

// MeasureMemory loads the case and iterates. It speaks of the whole process, so that the case is best the only thing that it does.
func (c Case) MeasureMemory(ctx context.Context, o Options) (Memory, error) {
	w, err := c.prepare(ctx, o)
	if err != nil {
		return Memory{}, err
	}
	loading := rundir.PeakBytes()
	told := resetPeak()
	if err := w.repeat(steadyIterations); err != nil {
		return Memory{}, err
	}
	m := Memory{Name: c.Name, Shape: w.shape, Terms: w.bound()}
	m.Bound = m.Terms.Sum()
	m.ProcessPeak = rundir.PeakBytes()
	if told {
		m.LoadedPeak, m.ProcessPeak = m.ProcessPeak, max(loading, m.ProcessPeak)
	}
	m.Allocations, err = w.allocations()
	return m, err
}

// bound is that of the workload on images, which slices read as bytes, in two layouts.
func (w *workload) bound() Bound {
	size := uint64(4)
	if w.setting.Dtype == "float64" {
		size = 8
	}
	rows, kept := uint64(w.shape.Rows), uint64(w.shape.Width+len(w.setting.Classes)) // the hidden layer and the scores
	packed := size
	if strings.HasPrefix(w.products, "int8") {
		packed = 2
	}
	return Bound{
		Packed:      rows * uint64(w.shape.Features) * packed,
		OtherSplits: uint64(w.held) * uint64(w.shape.Features),
		Parameters:  parameterVectors * uint64(w.shape.Parameters) * size,
		Activations: rows * kept * size * activationPercentage / 100,
		Allowance:   programAllowance,
	}
}
