package describe

// PairMeans is s [n] or [n, 1] -> the means of phi over the cells of Pairs [Pairs.Cells()]:
//
//	out_c = 1/Counts[c] sum over the pairs (i, j) of cell c of phi(s_i - s_j).
//
// A cell without pairs has the mean 0.
type PairMeans struct {
	Pairs
	Phi Surrogate
}

// PairMeansGrad is s, w [Pairs.Cells()] -> ds of s's shape, with v_c = w_c/Counts[c]:
//
//	ds_i = sum over the pairs (i, j) of v_c phi'(s_i - s_j)
//	     - sum over the pairs (j, i) of v_c phi'(s_j - s_i).
type PairMeansGrad struct {
	Pairs
	Phi Surrogate
}

func (PairMeans) description()     {}
func (PairMeansGrad) description() {}

// Pairs are the pairs (i, j) of documents of one query in which document i has the higher level, a
// grade of relevance. They are not stored one by one. Order lists the documents of each query by
// level, then by group. A block is a run of Order with one query, level and group. Every document
// of a block forms pairs with every document of the blocks of its query with lower levels.
//
// The cell of a pair is a Groups + b for a document i of group a and a document j of group b, all
// queries together, or q Groups^2 + a Groups + b if Each query q has cells of its own.
type Pairs struct {
	Documents int     // n
	Groups    int     // the groups are 0..Groups-1
	Order     []int32 // rows; not those of queries without pairs
	Blocks    []Block
	Queries   []int32 // query q has the blocks Queries[q] to Queries[q+1]-1, by increasing level
	Each      bool
	Counts    []int64 // the number of pairs of each cell
}

// Block is a run of Pairs.Order that ends before End and begins at the End of the block before, or
// at 0. Level and Group are those of its documents.
type Block struct {
	End   int32
	Level uint8
	Group uint16
}

// Cells returns the number of cells.
func (p *Pairs) Cells() int { return len(p.Counts) }

// Start returns the place in Order at which block b begins.
func (p *Pairs) Start(b int) int {
	if b == 0 {
		return 0
	}
	return int(p.Blocks[b-1].End)
}

// Cell returns the cell of the pairs of query q with a document of block i and one of block j.
func (p *Pairs) Cell(q int, i, j Block) int {
	k := int(i.Group)*p.Groups + int(j.Group)
	if p.Each {
		k += q * p.Groups * p.Groups
	}
	return k
}

// OfQuery returns the number of pairs of query q.
func (p *Pairs) OfQuery(q int) (n int64) {
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	level := from // the first block with the level of block i
	for i := from; i < to; i++ {
		if p.Blocks[i].Level != p.Blocks[level].Level {
			level = i
		}
		n += int64(int(p.Blocks[i].End)-p.Start(i)) * int64(p.Start(level)-p.Start(from))
	}
	return n
}

// Total returns the number of all pairs.
func (p *Pairs) Total() (n int64) {
	for _, c := range p.Counts {
		n += c
	}
	return n
}
