package datasets

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// alike compares tables: nil and empty slices are equal, and numbers are compared slice by slice,
// because cmp's reflection for each number took half of the time of the race detector.
var alike = cmp.Options{cmpopts.EquateEmpty(), atOnce[float64](), atOnce[int](), atOnce[uint8]()}

// atOnce compares slices of E without reflection.
func atOnce[E comparable]() cmp.Option {
	return cmp.FilterValues(func(a, b []E) bool { return len(a) > 0 && len(b) > 0 }, cmp.Comparer(slices.Equal[[]E]))
}
