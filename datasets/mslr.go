package datasets

import (
	"cmp"
	"fmt"
	"slices"

	"ppal/internal/loader"
	"ppal/internal/vec"
)

// mslrRelevant is the largest grade of a document of MSLR that is not relevant.
const mslrRelevant = 1

// mslrDesign describes the features of MSLR as the public code of Narasimhan, Cotter, Zhou, Wang
// and Guo does ("Approximate heavily-constrained learning with Lagrange multiplier models", NeurIPS
// 2020): columns 1 to 125, here with x as sign(x) log(1 + |x|). The quality is column 133.
func mslrDesign() loader.Ranking {
	return loader.Ranking{Features: 125, Quality: 133, Log: true}
}

// mslrColumns is the number of columns of MSLR.
const mslrColumns = 136

// mslr describes MSLR-WEB10K: 1.2 million documents of 10,000 queries of a web search engine, with
// grades 0 to 4 (Qin and Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, 2013). Each of
// five folds has its own training, validation and test file.
func mslr() Dataset {
	d := Dataset{
		Name:        "mslr",
		Description: "MSLR-WEB10K, documents of 10,000 queries, with grades 0 to 4; groups quality=low and quality=high",
		Classes:     []string{"grade<=1", "grade>1"},
		Features:    251,
		Relevant:    new(mslrRelevant),
		Folds:       5,
		Page:        "https://www.microsoft.com/en-us/research/project/mslr/ (MSLR-WEB10K.zip, sha256 2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba)",
	}
	for fold := 1; fold <= d.Folds; fold++ {
		for _, paths := range mslrFiles(fold) {
			d.Files = append(d.Files, File{Path: paths[0]})
		}
	}
	d.table = rankingTable(mslrDesign(), mslrColumns, mslrFiles)
	return d
}

// mslrFiles returns the training, validation and test files of a fold.
func mslrFiles(fold int) (list [3][]string) {
	for part, name := range []string{"train", "vali", "test"} {
		list[part] = []string{fmt.Sprintf("mslr/Fold%d/%s.txt", fold, name)}
	}
	return list
}

// mslrFiltered has the queries and documents of MSLR that the public code keeps (see mslrDesign):
// the first 1,000 training queries, and 200 queries of each other part, with documents of each
// relevance and quality. The quality is high above the percentile of all training documents.
func mslrFiltered() Dataset {
	d := mslr()
	d.Name, d.Description = "mslr-filtered", "the queries of mslr that the published experiment keeps, with a part of their documents"
	d.Filter = "queries with documents of each relevance and quality, without some documents that are not relevant, drawn from the seed"
	design := mslrDesign()
	design.Filter = &loader.RankingFilter{Queries: rankedQueries, Rank: 130, Keep: keepPublished} // 130: PageRank
	d.table = rankingTable(design, mslrColumns, mslrFiles)
	return d
}

// keepPublished returns the documents of a query that the public code keeps, in increasing order;
// nil if too few are left.
func keepPublished(s vec.Stream, grades, ranks []float64, high []bool) []int {
	if len(grades) < leastOfQuery {
		return nil
	}
	order, relevant := make([]int, len(grades)), make([]bool, len(grades))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ranks[i], ranks[j]) })
	for at, i := range order {
		relevant[at] = grades[i] > mslrRelevant
	}
	var list []int
	cells := [2][2]int{}
	for at, keep := range keepOthers(s, relevant) {
		if i := order[at]; keep {
			list = append(list, i)
			cells[vec.Indicator(relevant[at])][vec.Indicator(high[i])]++
		}
	}
	for _, grade := range cells {
		if grade[0]+grade[1] < leastOfGrade || min(grade[0], grade[1]) < leastOfCell {
			return nil
		}
	}
	slices.Sort(list)
	return list
}

// keepOthers draws which documents of a query the public code keeps: all relevant ones, and others
// with a probability that changes along the documents, which are ordered by rank, from one end to
// the other.
func keepOthers(s vec.Stream, relevant []bool) []bool {
	const unit = 1 << 30
	uniform := func() float64 { return float64(s.Below(unit)) / unit }
	slope, level := 2*uniform()-1, 0.7+0.3*(2*uniform()-1)
	keep := make([]bool, len(relevant))
	for i := range keep {
		drop := (0.5 + 0.5*slope - slope*float64(i)/float64(max(1, len(keep)-1))) * level
		keep[i] = relevant[i] || uniform() > drop
	}
	return keep
}
