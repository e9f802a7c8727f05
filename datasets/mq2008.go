package datasets

import (
	"fmt"

	"ppal/internal/loader"
)

// mq2008 describes MQ2008 of LETOR 4.0: 15,211 documents of 784 queries of the Million Query track
// of TREC 2008, with grades 0 to 2 (Qin and Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597,
// 2013). Fold k trains on three of the five files from Sk on, cyclically, and has the next file for
// validation and the last one for test.
//
// The features are columns 1 to 40. Columns 41 to 46 describe the links of the document and are no
// features. The quality is column 41, PageRank.
func mq2008() Dataset {
	d := Dataset{
		Name:        "mq2008",
		Description: "documents of 784 queries, with grades 0 to 2; groups quality=low and quality=high",
		Classes:     []string{"grade<=0", "grade>0"},
		Features:    81,
		Folds:       5,
		Page:        "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/letor-4-0/ (MQ2008)",
	}
	d.Relevant = new(int)
	for k, f := range []struct {
		size   int64
		sha256 string
	}{
		{1802248, "cbd42504549a2388f6c0aefdb506f22074225b574c7a5df10194174c9b00e4e0"},
		{2233711, "055ac792cb8f7d5a029090b8acbfb6c57323339d1371251bf2465ac182aa8605"},
		{1881418, "a03fe2b6e76479de60fecdb37d560a40a4e899b0cd685553d2da31ea205af1ab"},
		{1663264, "a239850bc6fe960ad08c2b7b0d99db90fe976dd93a15358e98036591b4e7a2ac"},
		{1765771, "c68c52feb1ecae7f17b64c8e2fda2098302681bbd4ea5fad8c73a1d32a1cf2b2"},
	} {
		d.Files = append(d.Files, File{Path: fmt.Sprintf("mq2008/S%d.txt", k+1), Size: f.size, SHA256: f.sha256})
	}
	const columns = 46
	d.table = rankingTable(loader.Ranking{Features: 40, Quality: 41}, columns, func(fold int) [3][]string {
		file := func(k int) string { return d.Files[(fold-1+k)%len(d.Files)].Path }
		return [3][]string{{file(0), file(1), file(2)}, {file(3)}, {file(4)}}
	})
	return d
}
