package kernels

import "math/bits"

const (
	// blockSize is the number of threads of every block.
	blockSize = 256
	// maxGrid is the largest grid in its second and third directions.
	maxGrid = 65535
)

func ceil(n, by int) int { return (n + by - 1) / by }

// atLeast is the smallest power of two >= n, not above limit.
func atLeast(n, limit int) int {
	if n <= 1 {
		return 1
	}
	return min(1<<bits.Len(uint(n-1)), limit)
}

// tiles are the blocks of a pass over a matrix: threads along the columns, so that neighbours read neighbours, and the rest of a
// block along the rows, each thread rowsEach of them.
func tiles(rows, cols, rowsEach int) (grid, block [3]int) {
	x := atLeast(cols, 128)
	y := blockSize / x
	return [3]int{ceil(cols, x), min(max(ceil(rows, y*rowsEach), 1), maxGrid), 1}, [3]int{x, y, 1}
}

// line are the blocks of a pass over n numbers, each thread four of them or, of many, as many as leave 2048 blocks.
func line(n int) (grid, block [3]int) {
	return [3]int{min(max(ceil(n, 4*blockSize), 1), 2048), 1, 1}, [3]int{blockSize, 1, 1}
}
