package kernels

import "math/bits"

const (
	// blockSize is the number of threads in a block.
	blockSize = 256
	// maxGrid is the largest number of blocks along the second and third axis of a grid.
	maxGrid = 65535
)

func ceil(n, by int) int { return (n + by - 1) / by }

// atLeast returns the smallest power of two >= n, or limit if that is smaller.
func atLeast(n, limit int) int {
	if n <= 1 {
		return 1
	}
	return min(1<<bits.Len(uint(n-1)), limit)
}

// tiles returns the blocks of a pass over a matrix. Threads run along the columns, so that
// neighbouring threads read neighbouring elements; the rest of a block runs along the rows, and
// each thread takes about rowsEach rows.
func tiles(rows, cols, rowsEach int) (grid, block [3]int) {
	x := atLeast(cols, 128)
	y := blockSize / x
	return [3]int{ceil(cols, x), min(max(ceil(rows, y*rowsEach), 1), maxGrid), 1}, [3]int{x, y, 1}
}

// line returns the blocks of a pass over n numbers: four numbers a thread, and more if that takes
// more than 2048 blocks.
func line(n int) (grid, block [3]int) {
	return [3]int{min(max(ceil(n, 4*blockSize), 1), 2048), 1, 1}, [3]int{blockSize, 1, 1}
}
