package kernels

import (
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/trainer/graph/describe"
)

// Pairs are pairs of documents prepared for the device: tables of the tiles into which the pairs
// are divided, and of the runs of documents whose derivatives a block of threads computes.
type Pairs struct {
	table                                            []byte
	order, tiles, starts, blocks, runs, counts, rest int64 // places of the lists
	tileCount, runCount, restCount, cells, groups    int
}

// The sizes of a tile and of a run: device/rankings.cu.
const (
	tileRows    = 64
	tileColumns = 1024
	runSize     = 128
)

// pairTile is a tile with its cell.
type pairTile struct {
	cell                         int
	first, count, other, columns int
}

// NewPairs prepares the pairs.
func NewPairs(p describe.Pairs) *Pairs {
	x := &Pairs{cells: p.Cells(), groups: p.Groups}
	tiles, blocks, runs := tilesOf(&p), []int32{}, []int32{}
	for i, b := range p.Blocks {
		blocks = append(blocks, int32(p.Start(i)), b.End, int32(b.Level), int32(b.Group))
	}
	for q := range len(p.Queries) - 1 {
		from, to := p.Queries[q], p.Queries[q+1]
		for i := from; i < to; i++ {
			for at := p.Start(int(i)); at < int(p.Blocks[i].End); at += runSize {
				runs = append(runs, int32(at), int32(min(runSize, int(p.Blocks[i].End)-at)), i, from, to, int32(p.Cell(q, describe.Block{}, describe.Block{})))
				x.runCount++
			}
		}
	}
	starts, places := make([]int32, x.cells+1), []int32{}
	for _, t := range tiles {
		starts[t.cell+1]++
		places = append(places, int32(t.first), int32(t.count), int32(t.other), int32(t.columns))
	}
	for c := range x.cells {
		starts[c+1] += starts[c]
	}
	counts, paired, rest := make([]float64, x.cells), make([]bool, p.Documents), []int32{}
	for c, n := range p.Counts {
		counts[c] = float64(n)
	}
	for _, row := range p.Order {
		paired[row] = true
	}
	for row, is := range paired {
		if !is {
			rest = append(rest, int32(row))
		}
	}
	x.tileCount, x.restCount = len(tiles), len(rest)
	t := newTable(0)
	x.order, x.tiles, x.starts, x.blocks, x.runs = t.int32s(p.Order), t.int32s(places), t.int32s(starts), t.int32s(blocks), t.int32s(runs)
	x.counts, x.rest = t.float64s(counts), t.int32s(rest)
	x.table = t.bytes
	return x
}

// tilesOf divides the pairs into tiles, in the order of their cells.
func tilesOf(p *describe.Pairs) (list []pairTile) {
	for q := range len(p.Queries) - 1 {
		from, to := int(p.Queries[q]), int(p.Queries[q+1])
		for i := from; i < to; i++ {
			for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
				cell := p.Cell(q, p.Blocks[i], p.Blocks[j])
				for first := p.Start(i); first < int(p.Blocks[i].End); first += tileRows {
					for other := p.Start(j); other < int(p.Blocks[j].End); other += tileColumns {
						list = append(list, pairTile{cell, first, min(tileRows, int(p.Blocks[i].End)-first), other, min(tileColumns, int(p.Blocks[j].End)-other)})
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b pairTile) int { return a.cell - b.cell })
	return list
}

// Table returns the bytes that the caller uploads to an address that is a multiple of 8.
func (p *Pairs) Table() []byte { return p.table }

// PairMeans sets out (cells x 1) to the means of phi over the pairs: plan.PairMeans. Differences
// and sums are float64, and the order of the sums depends on the pairs only.
func (s *Set) PairMeans(q Queue, p *Pairs, table driver.Pointer, phi Phi, scores, out Operand) error {
	c := &call{name: "pair_means"}
	c.grid, c.block = [3]int{min(p.tileCount, 2048), 1, 1}, [3]int{blockSize, 1, 1}
	c.reading(table, len(p.table))
	c.ints(int(p.order), int(p.tiles), p.tileCount, int(p.starts), int(p.counts), p.cells, int(phi))
	c.in(s, scores)
	c.out(s, out)
	if err := c.partial(q, 8*p.tileCount, 1); err != nil {
		return err
	}
	return s.launch(q, c)
}

// PairMeansGrad sets out (documents x 1) to the derivative of the means times w (cells x 1):
// plan.PairMeansGrad.
func (s *Set) PairMeansGrad(q Queue, p *Pairs, table driver.Pointer, phi Phi, scores, w, out Operand) error {
	c := &call{name: "pair_means_grad"}
	c.grid, c.block = [3]int{min(p.runCount, 1<<15), 1, 1}, [3]int{runSize, 1, 1}
	c.reading(table, len(p.table))
	c.ints(int(p.order), int(p.blocks), int(p.runs), p.runCount, int(p.counts), p.groups, int(p.rest), p.restCount, int(phi))
	c.in(s, scores, w)
	c.out(s, out)
	return s.launch(q, c)
}
