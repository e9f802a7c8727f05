package datasets

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/vec"
)

// Sizes of the stand-in for MSLR, after the filter of pages: queries of each part, and the largest
// numbers of relevant and of other documents of a query.
var rankedQueries = [3]int{1000, 200, 200}

const (
	mostRelevant = 14
	mostOthers   = 38
	// the least number of documents of a query, then of relevant and of other kept documents, and of
	// kept documents of each relevance and quality
	leastOfQuery = 20
	leastOfGrade = 10
	leastOfCell  = 5
	// number of features of a document that decide the others
	pageTraits = 12
	// separates the random streams of the stand-in from other streams of the same seed
	pageStream = 0x70616765
)

// syntheticMSLR is the stand-in for MSLR after the filter of the public code of Narasimhan et al.
// (see mslrDesign): about 1,000 training queries with 470 pairs each.
//
// A document has traits, which are about normally distributed, and of which some are those of its
// query. The quality grows with the first trait. The relevance is a mixture of the traits, of a
// product of two of them, of the quality and of noise, and its quantiles give five grades. The
// columns are mixtures of the traits and of noise, which is twice as large in documents of low
// quality, under heavy-tailed transformations. The filter keeps more of the documents that the
// query prefers by a second property, and drops queries with few documents of a grade and quality.
func syntheticMSLR() Dataset {
	d := mslr()
	d.Description = "generated from the seed, with the shape of filtered queries of mslr"
	d.Name, d.Files, d.Page, d.Folds = "synthetic-mslr", nil, "", 0
	d.table = func(_ context.Context, _ string, o tabular.TableOptions) (*loader.Source, error) {
		w := world()
		var files []*loader.RankingFile
		for part, queries := range rankedQueries {
			f := w.draw(vec.NewStream(o.Seed, pageStream+uint64(part)), queries, strconv.Itoa(part+1))
			f.Part = int8(part)
			files = append(files, f)
		}
		design := mslrDesign()
		design.Cut = &w.cut
		return design.Table(files, o)
	}
	return d
}

// pages is the population of documents, which is the same for every seed.
type pages struct {
	relevance [pageTraits]float64
	columns   [][pageTraits]float64
	grades    [4]float64 // the relevances at which the grades 1 to 4 begin
	noisy     float64    // the quality below which the columns have more noise
	cut       float64    // the value of the quality's column above which the quality is high
}

// page is a document.
type page struct {
	traits             [pageTraits]float64
	quality, relevance float64
	rank               float64 // the property by which the filter orders the documents of a query
	grade              int
}

// normal draws from about the standard normal distribution: a binomial and a uniform number.
func normal(s vec.Stream) float64 {
	const unit, deviation = 1 << 20, 4.01 // of the sum, whose variance is 16 + 1/12
	return (float64(s.Bell()) + float64(s.Within(unit))/(2*unit)) / deviation
}

// world returns the population, whose quantiles are those of a sample.
var world = sync.OnceValue(func() *pages {
	s := vec.NewStream(0, pageStream)
	w := &pages{columns: make([][pageTraits]float64, mslrDesign().Features)}
	norm := 0.0
	for k := range w.relevance {
		w.relevance[k] = normal(s)
		norm += w.relevance[k] * w.relevance[k]
	}
	for k := range w.relevance {
		w.relevance[k] /= math.Sqrt(norm)
	}
	w.relevance[0] = 0.5
	for j := range w.columns {
		for k := range w.columns[j] {
			if x := normal(s); s.Below(10) < 3 {
				w.columns[j][k] = x
			}
		}
	}
	var relevances, qualities []float64
	for range 400 {
		for _, p := range w.query(s, 100) {
			relevances, qualities = append(relevances, p.relevance), append(qualities, p.quality)
		}
	}
	slices.Sort(relevances)
	slices.Sort(qualities)
	at := func(x []float64, share float64) float64 { return x[int(share*float64(len(x)))] }
	for k, share := range []float64{0.52, 0.84, 0.97, 0.993} {
		w.grades[k] = at(relevances, share)
	}
	w.noisy = at(qualities, 0.4)
	w.cut = qualityColumn(w.noisy)
	return w
})

// qualityColumn is the value of the quality's column.
func qualityColumn(quality float64) float64 { return math.Floor(255 / (1 + math.Exp(-1.5*quality))) }

// query draws the documents of a query.
func (w *pages) query(s vec.Stream, n int) []page {
	var traits [pageTraits]float64
	for k := range traits {
		traits[k] = 0.3 * normal(s)
	}
	shift := 0.3 * normal(s)
	list := make([]page, n)
	for i := range list {
		p := &list[i]
		for k := range p.traits {
			p.traits[k] = normal(s) + traits[k]
			p.relevance += w.relevance[k] * p.traits[k]
		}
		p.quality = 0.7*p.traits[0] + 0.7*normal(s)
		p.relevance += 0.5*p.traits[1]*p.traits[2] + 0.35*p.quality + shift + 1.1*normal(s)
		p.rank = 0.7*p.quality + 0.7*normal(s)
		for _, begin := range w.grades {
			if p.relevance >= begin {
				p.grade++
			}
		}
	}
	return list
}

// filter returns the documents that the public code keeps (see keepOthers), at most mostRelevant
// and mostOthers of them; nil if too few are left.
func (w *pages) filter(s vec.Stream, list []page) []page {
	slices.SortStableFunc(list, func(a, b page) int {
		switch {
		case a.rank < b.rank:
			return -1
		case a.rank > b.rank:
			return 1
		}
		return 0
	})
	relevant := make([]bool, len(list))
	for i, p := range list {
		relevant[i] = p.grade > mslrRelevant
	}
	var kept [2][]page
	for i, keep := range keepOthers(s, relevant) {
		if k := vec.Indicator(relevant[i]); keep {
			kept[k] = append(kept[k], list[i])
		}
	}
	var out []page
	for k, most := range [2]int{mostOthers, mostRelevant} {
		order, high := make([]int, len(kept[k])), 0
		for i := range order {
			order[i] = i
		}
		s.Shuffle(order)
		order = order[:min(most, len(order))]
		for _, i := range order {
			if out = append(out, kept[k][i]); qualityColumn(kept[k][i].quality) > w.cut {
				high++
			}
		}
		if len(order) < leastOfGrade || high < leastOfCell || len(order)-high < leastOfCell {
			return nil
		}
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	s.Shuffle(order)
	shuffled := make([]page, len(out))
	for k, i := range order {
		shuffled[k] = out[i]
	}
	return shuffled
}

// draw draws the documents of the given number of queries that pass the filter.
func (w *pages) draw(s vec.Stream, queries int, prefix string) *loader.RankingFile {
	f := &loader.RankingFile{Name: "synthetic-mslr", Queries: &tabular.Queries{}}
	var all []page
	for len(f.Queries.Names) < queries {
		n := min(max(int(62*math.Exp(0.5*normal(s))), 20), 900)
		kept := w.filter(s, w.query(s, n))
		if kept == nil {
			continue
		}
		for range kept {
			f.Queries.Of = append(f.Queries.Of, int32(len(f.Queries.Names)))
		}
		f.Queries.Names = append(f.Queries.Names, prefix+strconv.Itoa(10000+len(f.Queries.Names)))
		all = append(all, kept...)
	}
	f.X = matrix.NewSingles(len(all), mslrColumns)
	for i := range all {
		w.fill(s, &all[i], f.X.Row(i))
		f.Grades = append(f.Grades, float64(all[i].grade))
	}
	return f
}

// fill writes the columns of a document.
func (w *pages) fill(s vec.Stream, p *page, row []float32) {
	noise := 0.8
	if p.quality < w.noisy {
		noise *= 2
	}
	for j := range w.columns {
		x := noise * normal(s)
		for k, weight := range w.columns[j] {
			x += weight * p.traits[k]
		}
		switch j % 4 {
		case 0:
			x = math.Floor(math.Exp(min(max(x, -3), 6)))
		case 1:
			x = 1 / (1 + math.Exp(-x))
		case 2:
			x = max(x, 0)
		default:
			x = math.Exp(min(max(1.5*x, -4), 9))
		}
		row[j] = float32(x)
	}
	row[mslrDesign().Quality-1] = float32(qualityColumn(p.quality))
}
