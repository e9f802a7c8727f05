package loader

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/recordio"
	"ppal/internal/vec"
)

// Ranking describes how the documents of a published ranking become a table. The features are the
// first columns of the files, the quality of the document (1: high), and the means of these columns
// over the documents of the query. The documents of high and of low quality are the groups.
type Ranking struct {
	Features int // number of the columns that become features
	Quality  int // the column, from 1, that is high above its 40th percentile in the training rows
	// Cut replaces the percentile; nil: the training rows give it
	Cut *float64
	Log bool // x becomes sign(x) log(1 + |x|)
	// Filter keeps a part of the queries and documents; nil: all
	Filter *RankingFilter
}

// RankingFilter keeps documents of the first queries that have enough of them.
type RankingFilter struct {
	Queries [3]int // the largest number of queries of each part
	Rank    int    // the column, from 1, of the ranks
	// Keep returns the documents of a query to keep, as increasing indices; nil: drop the query
	Keep func(s vec.Stream, grades, ranks []float64, high []bool) []int
}

// filterStream separates the random streams of filters from other streams of the same seed.
const filterStream = 0x66696c746572

// RankingFile is a file of a ranking, with the part of its rows: an index into PartNames.
type RankingFile struct {
	Name    string
	Part    int8
	X       *matrix.Singles
	Grades  []float64
	Queries *tabular.Queries
}

// qualityName is the attribute of a document's quality, and qualities are its values.
const qualityName = "quality"

var qualities = []string{"low", "high"}

// qualityPercentile is the percentile of the training rows above which the quality is high.
const qualityPercentile = 40

// ReadRanking reads a file of documents with the given number of columns.
func ReadRanking(path string, cols int, part int8) (*RankingFile, error) {
	file, err := loadLIBSVM(path, &SparseRows{Cols: cols, Dense: true})
	if err != nil {
		return nil, err
	}
	f := &RankingFile{Name: path, Part: part, X: file.Singles, Grades: file.Labels, Queries: file.Queries}
	if f.X == nil {
		f.X = singlesOf(file.X)
	}
	if f.Queries == nil {
		return nil, &dataerr.FileError{Path: path, Offset: -1, Line: LibsvmLine(path, 0), Err: fmt.Errorf("%w: the row has no qid", dataerr.ErrFormat)}
	}
	return f, nil
}

// Table makes the source of the documents, in the order of the files.
func (r *Ranking) Table(files []*RankingFile, o tabular.TableOptions) (*Source, error) {
	s := &Source{queries: &tabular.Queries{}}
	high := r.quality(files)
	if r.Filter != nil {
		high = r.Filter.apply(files, high, o.Seed)
	}
	var all queryList
	var grades []float64
	for _, f := range files {
		s.Files = append(s.Files, tabular.FileRows{Name: f.Name, Rows: len(f.Grades)})
		grades = append(grades, f.Grades...)
		s.assigned = append(s.assigned, slices.Repeat([]int8{f.Part}, len(f.Grades))...)
		for _, run := range runsOf(f.Queries) {
			all.add(run)
		}
	}
	file := &LIBSVM{Labels: grades, Queries: all.queries()}
	if err := s.setGrades(files[0].Name, file, &o); err != nil {
		return nil, err
	}
	if err := s.setQuality(high, o); err != nil {
		return nil, err
	}
	names := make([]string, 2*r.Features+1)
	for j := range r.Features {
		names[j], names[r.Features+1+j] = strconv.Itoa(j+1), "mean "+strconv.Itoa(j+1)
	}
	names[r.Features] = qualityName
	d := &SparseDesign{Names: names}
	dropped, err := d.Find(o.Ignore, len(names))
	if err != nil {
		return nil, err
	}
	if o.DropSensitive {
		dropped = append(dropped, int32(r.Features))
	}
	s.Features = &ranked{newSingles(r.features(files, high, s.queries), d, dropped, nil)}
	return s, nil
}

// quality reports which documents are of high quality.
func (r *Ranking) quality(files []*RankingFile) []bool {
	at := r.Quality - 1
	var train []float64
	for _, f := range files {
		for i := 0; f.Part == 0 && i < f.X.Rows; i++ {
			train = append(train, float64(f.X.Row(i)[at]))
		}
	}
	slices.Sort(train)
	cut := Quantile(train, qualityPercentile)
	if r.Cut != nil {
		cut = *r.Cut
	}
	var high []bool
	for _, f := range files {
		for i := range f.X.Rows {
			high = append(high, float64(f.X.Row(i)[at]) > cut)
		}
	}
	return high
}

// apply replaces the files by those of the kept documents, and returns their qualities.
func (r *RankingFilter) apply(files []*RankingFile, high []bool, seed uint64) (kept []bool) {
	for k, f := range files {
		stream := vec.NewStream(seed, filterStream+uint64(f.Part))
		own := &RankingFile{Name: "kept queries of " + f.Name, Part: f.Part, Queries: &tabular.Queries{}}
		var rows []int
		for q, list := range f.Queries.Lists() {
			if len(own.Queries.Names) == r.Queries[f.Part] {
				break
			}
			grades, ranks, quality := make([]float64, len(list)), make([]float64, len(list)), make([]bool, len(list))
			for at, i := range list {
				grades[at], ranks[at], quality[at] = f.Grades[i], float64(f.X.Row(i)[r.Rank-1]), high[i]
			}
			places := r.Keep(stream, grades, ranks, quality)
			if places == nil {
				continue
			}
			for _, at := range places {
				rows, kept = append(rows, list[at]), append(kept, quality[at])
				own.Grades, own.Queries.Of = append(own.Grades, grades[at]), append(own.Queries.Of, int32(len(own.Queries.Names)))
			}
			own.Queries.Names = append(own.Queries.Names, f.Queries.Names[q])
		}
		own.X = matrix.NewSingles(len(rows), f.X.Cols)
		for at, i := range rows {
			copy(own.X.Row(at), f.X.Row(i))
		}
		files[k], high = own, high[len(f.Grades):]
	}
	return kept
}

// setQuality sets the groups, and the attribute if the options name it.
func (s *Source) setQuality(high []bool, o tabular.TableOptions) error {
	a := tabular.Attribute{Name: qualityName, Values: qualities, Of: make([]int, len(high))}
	for i, is := range high {
		a.Of[i] = vec.Indicator(is)
	}
	for k, g := range a.Groups() {
		g.Name = qualityName + "=" + qualities[k]
		g.Conditions = []string{g.Name}
		s.groups = append(s.groups, g)
	}
	for _, name := range slices.Concat(o.Groups, o.Attributes) {
		if name != qualityName {
			return fmt.Errorf("datasets: %w: %w", dataerr.ErrGroup, recordio.NoColumn(name, []string{qualityName}))
		}
	}
	if len(o.Attributes) > 0 {
		s.attributes = []tabular.Attribute{a}
	}
	return nil
}

// features returns the features of all documents before they are standardised.
func (r *Ranking) features(files []*RankingFile, high []bool, q *tabular.Queries) *matrix.Singles {
	out := matrix.NewSingles(len(high), 2*r.Features+1)
	at := 0
	for _, f := range files {
		for i := range f.X.Rows {
			row := out.Row(at)
			for j, v := range f.X.Row(i)[:r.Features] {
				if row[j] = v; r.Log {
					row[j] = float32(math.Copysign(math.Log1p(math.Abs(float64(v))), float64(v)))
				}
			}
			row[r.Features] = float32(vec.Indicator(high[at]))
			at++
		}
		f.X = nil // the features replace it
	}
	sums := make([]float64, r.Features)
	for _, rows := range q.Lists() {
		clear(sums)
		for _, i := range rows {
			for j, v := range out.Row(i)[:r.Features] {
				sums[j] += float64(v)
			}
		}
		for _, i := range rows {
			means := out.Row(i)[r.Features+1:]
			for j, sum := range sums {
				means[j] = float32(sum / float64(len(rows)))
			}
		}
	}
	return out
}

// ranked are the features of a published ranking. They depend on the other documents of the query,
// so that a Preparation, which takes single rows, cannot describe them.
type ranked struct{ *singles }

// Preparation returns nil.
func (*ranked) Preparation() *tabular.Preparation { return nil }
