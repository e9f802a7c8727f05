package bench

import (
	"context"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/rundir"
)

// Memory compares a run's resident memory with its budget.
type Memory struct {
	Name string `json:"name"`
	// ProcessPeak is the peak resident memory of the process, loading included. LoadedPeak is the
	// peak after loading; 0 if the system cannot measure it separately.
	ProcessPeak uint64 `json:"process_peak_bytes"`
	LoadedPeak  uint64 `json:"loaded_peak_bytes"`
	Bound       uint64 `json:"bound_bytes"` // budget for LoadedPeak and ProcessPeak
	Terms       Bound  `json:"bound"`
	Allocations        // per iteration; none has the size of the parameters or of the data
	Shape
}

// Bound is the memory budget of a run in the steady state, term by term.
type Bound struct {
	// the training rows in the layouts of the products
	Packed      uint64 `json:"packed_data_bytes"`
	OtherSplits uint64 `json:"other_splits_bytes"` // the other rows, as they were read
	Parameters  uint64 `json:"parameters_bytes"`   // four vectors with the size of the parameters
	// 1.3 times the values of the forward pass that the backward pass reads
	Activations uint64 `json:"activations_bytes"`
	Allowance   uint64 `json:"program_allowance_bytes"` // 64 MiB
}

const (
	parameterVectors     = 4
	activationPercentage = 130
	programAllowance     = 64 << 20
	steadyIterations     = 20
)

// Sum returns the total budget.
func (b Bound) Sum() uint64 {
	return b.Packed + b.OtherSplits + b.Parameters + b.Activations + b.Allowance
}

// MemoryCases returns the cases whose memory is measured: all training rows of Fashion-MNIST, and
// those of four classes of CIFAR-10.
func MemoryCases(shrink int) []Case {
	return []Case{
		imageCase("memory-fashion-mnist", "auto", "Fashion-MNIST, 10 classes, 256 hidden units", "fashion-mnist",
			fashionTrain/shrink, fashionTest/shrink, "classes", "0,1,2,3,4,5,6,7,8,9"),
		imageCase("memory-cifar10", "auto", "CIFAR-10, 4 classes, 256 hidden units", "cifar10", cifarTrain/shrink, cifarTest/shrink),
	}
}

// MeasureMemory loads the case and iterates. It measures the whole process, so the process should
// do nothing else.
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

// bound returns the budget of a workload on images, which the products read as bytes in two
// layouts.
func (w *workload) bound() Bound {
	size := uint64(4)
	if w.setting.Session.Device.Dtype == tensor.Float64 {
		size = 8
	}
	// the hidden layer and the scores
	rows, kept := uint64(w.shape.Rows), uint64(w.shape.Width+len(w.setting.Pictures.Classes))
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
