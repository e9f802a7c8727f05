package load

import (
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/mapped"
)

// Request says for which run the rows are read: the seed, what the task needs of the rows, and the
// device with its memory.
type Request struct {
	Seed    uint64
	Dtype   tensor.Dtype
	Needs   constraints.Needs // properties of the rows that the task uses
	Batches bool              // the training draws mini-batches from all rows
	CPU     *cpu.Device       // trains; nil: a GPU or Gorgonia's machine trains, or nothing
	// Integers reports whether the training device multiplies 8-bit data with cols columns as
	// integers; nil: it does not.
	Integers func(cols int) bool
	Share    tabular.Share // the processes that share the rows; nil: only this process
	Pages    *mapped.Dir   // the files in which the rows lie; nil: memory
	// Room refuses rows that are larger than the free memory; nil: no limit.
	Room func(bytes uint64) error
	Kept string // the folder in which rows in files stay for later runs; "": they do not stay
	// Memory is the bound of the memory beyond which rows lie in files, in bytes; 0: all rows are in
	// memory.
	Memory int64
}

// Packs reports whether the device multiplies data with cols columns as integers.
func (r Request) Packs(cols int) bool {
	return r.Dtype == tensor.Float32 && r.Integers != nil && r.Integers(cols)
}
