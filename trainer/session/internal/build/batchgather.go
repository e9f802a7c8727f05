package build

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
)

// gathered holds rows of numbers in the precision of a run.
type gathered[T matrix.Float] struct {
	cols int
	data []T
}

// Dims implements matrix.Matrix.
func (g *gathered[T]) Dims() (rows, cols int) { return len(g.data) / g.cols, g.cols }

// Float32 implements matrix.Matrix.
func (g *gathered[T]) Float32(dst []float32, from, to int) { widenGathered(dst, g, from, to) }

// Float64 implements matrix.Matrix.
func (g *gathered[T]) Float64(dst []float64, from, to int) { widenGathered(dst, g, from, to) }

func widenGathered[T, S matrix.Float](dst []T, g *gathered[S], from, to int) {
	matrix.CheckRows(g, len(dst), from, to)
	for i, x := range g.data[from*g.cols : to*g.cols] {
		dst[i] = T(x)
	}
}

// gatherShare is the share of --memory that rows of several batches take on their way to the files.
const gatherShare = 8

// gatherRows is the number of rows that gather reads at a time.
const gatherRows = 2048

// gather returns the listed rows of data, which it reads in the order of data.
func gather[T matrix.Float](data matrix.Matrix, list []int) *gathered[T] {
	_, cols := data.Dims()
	at := make([]int, len(list)) // positions in list, by increasing rows
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return list[i] - list[j] })
	sorted := make([]int, len(list))
	for k, i := range at {
		sorted[k] = list[i]
	}
	out, buffer := &gathered[T]{cols, make([]T, len(list)*cols)}, make([]T, min(gatherRows, len(list))*cols)
	from := matrix.Pick(data, sorted)
	for first := 0; first < len(list); first += gatherRows {
		end := min(first+gatherRows, len(list))
		matrix.Widen(buffer[:(end-first)*cols], from, first, end)
		for k, i := range at[first:end] {
			copy(out.data[i*cols:(i+1)*cols], buffer[k*cols:])
		}
	}
	return out
}

// packAhead packs the k-th batch and the batches after it in the pass, as many as fit in a share
// of the memory. It reads the rows of all these batches in one pass, in the order of the table. A
// single batch needs as many pages, because its rows come from all parts of the table.
func (b *Batches) packAhead(k int) error {
	var order, list []int
	_, cols := b.data.Dims()
	size := len(b.List(b.batch(k)))
	most := max(1, int(b.gathers)/(gatherShare*size*cols*int(b.dtype.Size())))
	for end := (b.pass + 1) * len(b.order); k < min(end, b.From) && len(order) < most; k++ {
		if at := b.batch(k); b.packed[at] == nil {
			order, list = append(order, at), append(list, b.List(at)...)
		}
	}
	if b.dtype == tensor.Float32 {
		return keepGathered(b, order, gather[float32](b.data, list))
	}
	return keepGathered(b, order, gather[float64](b.data, list))
}

// keepGathered packs the batches of order. The rows of g are the rows of these batches, in order.
func keepGathered[T matrix.Float](b *Batches, order []int, g *gathered[T]) (err error) {
	size := len(g.data) / len(order)
	for i, at := range order {
		if b.packed[at], err = b.bound.Keep(0, &gathered[T]{g.cols, g.data[i*size : (i+1)*size]}); err != nil {
			return fmt.Errorf("session: batch %d: %w", at, err)
		}
	}
	return nil
}
