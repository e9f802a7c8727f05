package build

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
)

// SampleShares are the shares of the rows that the first quasi-Newton steps see. The larger sample
// contains the smaller one.
func SampleShares() [2]float64 { return [2]float64{1. / 8, 1. / 4} }

// AddSamples adds samples of the rows to the problem on all rows, and returns the number of rows of
// each sample.
func (b *Builder) AddSamples(p *graph.Problem, r Rows, seed uint64, dtype tensor.Dtype, weights models.Weights) (counts []int, err error) {
	strata := r.Strata()
	for _, share := range SampleShares() {
		list := SampleOf(strata, share, seed)
		if r.Queries != nil {
			paired, others := r.Queries()
			list = sampleOfQueries(paired, others, share, seed)
		}
		sample := r.Pick(list)
		counts = append(counts, len(list))
		err := p.AddSample(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			return b.definition(g, sample, dtype, weights)
		}, b.Devices.Train)
		if err != nil {
			return nil, fmt.Errorf("session: the sample of %d rows: %w", len(list), err)
		}
	}
	return counts, nil
}

// sampleStream separates the random streams of the samples from other streams of the same seed.
const sampleStream = 0x73616d706c6573

// SampleOf returns the rows of a sample in increasing order: of each stratum the first rows, the
// share rounded up, of a random order. A larger share has the rows of a smaller one.
func SampleOf(strata [][]int, share float64, seed uint64) []int {
	var list []int
	for k, rows := range strata {
		order := slices.Clone(rows)
		shuffle(order, seed, sampleStream+uint64(k))
		list = append(list, order[:int(math.Ceil(share*float64(len(order))))]...)
	}
	slices.Sort(list)
	return list
}
