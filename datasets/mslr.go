package datasets

import (
	"fmt"

	"ppal/internal/loader"
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
	files := func(fold int) (list [3][]string) {
		for part, name := range []string{"train", "vali", "test"} {
			list[part] = []string{fmt.Sprintf("mslr/Fold%d/%s.txt", fold, name)}
		}
		return list
	}
	for fold := 1; fold <= d.Folds; fold++ {
		for _, paths := range files(fold) {
			d.Files = append(d.Files, File{Path: paths[0]})
		}
	}
	d.table = rankingTable(mslrDesign(), mslrColumns, files)
	return d
}
