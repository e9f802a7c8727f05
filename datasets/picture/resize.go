package picture

// resize writes a plane of H x W = height x width values to dst, which has h x w values. Value
// (i, j) is the mean of the plane over the rectangle [i H/h, (i+1) H/h) x [j W/w, (j+1) W/w),
// rounded half up: area averaging, and repeated pixels where the plane is smaller than dst. All
// sums are exact integers. The ratio of the sides may change.
func resize(dst []uint8, h, w int, plane []uint8, height, width int) {
	if h == height && w == width {
		copy(dst, plane)
		return
	}
	across := overlaps(width, w)
	down := overlaps(height, h)
	sums := make([]uint64, h*w)
	line := make([]uint64, w) // the sums of a row of the plane
	for y, targets := range down {
		clear(line)
		for x, v := range plane[y*width : (y+1)*width] {
			for _, o := range across[x] {
				line[o.target] += o.weight * uint64(v)
			}
		}
		for _, o := range targets {
			for j, s := range line {
				sums[o.target*w+j] += o.weight * s
			}
		}
	}
	area := uint64(height) * uint64(width)
	for i, s := range sums {
		dst[i] = uint8((s + area/2) / area)
	}
}

// overlap is the share of a source pixel in a target pixel. The weights of a target pixel add up to
// the number of source pixels.
type overlap struct {
	target int
	weight uint64
}

// overlaps returns the overlaps of each of n source pixels with m target pixels of the same total
// length: source s is [s m, (s+1) m), and target t is [t n, (t+1) n).
func overlaps(n, m int) [][]overlap {
	all := make([][]overlap, n)
	for s := range all {
		for t := s * m / n; t < m && t*n < (s+1)*m; t++ {
			all[s] = append(all[s], overlap{t, uint64(min((s+1)*m, (t+1)*n) - max(s*m, t*n))})
		}
	}
	return all
}
