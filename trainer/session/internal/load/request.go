package load

import (
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/mapped"
)

// Request describes the run for which package load reads rows: the seed, the needs of the task, and
// the device with its memory.
type Request struct {
	Seed    uint64
	Dtype   tensor.Dtype
	Needs   constraints.Needs // properties of the rows that the task uses
	Scores  []string          // the columns of given scores; nil: the run trains a model
	ByGroup bool              // given scores have thresholds for each value of the column that the task compares
	Batches bool              // the training draws mini-batches from all rows
	CPU     *cpu.Device       // the device that trains; nil: a GPU or Gorgonia's machine trains, or nothing
	// Integers reports whether the training device multiplies 8-bit data with cols columns as
	// integers; nil: it does not.
	Integers func(cols int) bool
	Share    tabular.Share // the processes that share the rows; nil: only this process
	Pages    *mapped.Dir   // the mapped files of the rows; nil: the rows are in memory
	// CheckMemory returns an error for rows that are larger than the free memory; nil: no limit.
	CheckMemory func(bytes uint64) error
	Kept        string // the folder of rows in files that ppal keeps for later runs; "": none
	// Augment says which copies of the training pictures are rows; "": the pictures alone.
	Augment picture.Augmentation
	// Memory is the bound on the resident memory in bytes; 0: no bound, and all rows are in memory.
	Memory int64
}

// packs reports whether the device multiplies data with cols columns as integers.
func (r Request) packs(cols int) bool {
	return r.Dtype == tensor.Float32 && r.Integers != nil && r.Integers(cols)
}
