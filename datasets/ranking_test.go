package datasets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/internal/vec"
)

// pairErrors returns the number of pairs of a relevant and another document of a query, and the
// share of them that the scores order wrongly, where a tie is half an error. Index 0 is for all
// pairs, and index 1 + 2a + b for relevant documents in group a and others in group b.
func pairErrors(table *tabular.Table, scores []float64) (pairs [5]int, wrong [5]float64) {
	group := make([]int, table.Rows())
	for _, i := range table.Groups[1].Rows {
		group[i] = 1
	}
	for _, rows := range table.Queries.Lists() {
		for _, i := range rows {
			for _, j := range rows {
				if table.Labels[i] <= table.Labels[j] {
					continue
				}
				for _, cell := range []int{0, 1 + 2*group[i] + group[j]} {
					pairs[cell]++
					switch {
					case scores[i] < scores[j]:
						wrong[cell]++
					case scores[i] == scores[j]:
						wrong[cell] += 0.5
					}
				}
			}
		}
	}
	for k, n := range pairs {
		wrong[k] /= float64(n)
	}
	return pairs, wrong
}

// column returns a feature of all rows.
func column(table *tabular.Table, name string) []float64 {
	x, row := make([]float64, table.Rows()), make([]float64, len(table.Columns))
	for i := range x {
		table.Features.Float64(row, i, i+1)
		x[i] = row[slices.Index(table.Columns, name)]
	}
	return x
}

// MQ2008 has the authors' counts and the pairs that a program of its own has counted. In each fold
// the features are standardised on the training rows, and the means are those of the query.
func TestRealRankings(t *testing.T) {
	dir := datatest.RealData(t)
	for fold := 1; fold <= 5; fold++ {
		tables := require.Value(LoadTable(dir, "mq2008", tabular.TableOptions{Fold: fold}))(t)
		rows, queries, pairs, none := 0, 0, 0, 0
		for _, p := range tables.Parts() {
			rows, queries, pairs = rows+p.Rows(), queries+p.Queries.Len(), pairs+p.CountPairs()
			for _, n := range p.Queries.CountPairs(func(i int) int { return (p.Labels[i] + 1) / 2 }) {
				if n == 0 {
					none++
				}
			}
		}
		if rows != 15211 || queries != 784 || pairs != 74168 || none != 220 {
			t.Errorf("fold %d: %d rows, %d queries, %d of them without pairs, %d pairs", fold, rows, queries, none, pairs)
		}
		for part, k := range []int{0, 3, 4} {
			if want := fmt.Sprintf("mq2008/S%d.txt", (fold-1+k)%5+1); !slices.ContainsFunc(tables.Files[k:k+1], func(f tabular.FileRows) bool { return f.Name == want }) {
				t.Errorf("fold %d, part %d: files %v", fold, part, tables.Files)
			}
		}
		x, mean := column(tables.Train, "39"), column(tables.Train, "mean 39")
		sum, squares := 0.0, 0.0
		for _, v := range x {
			sum, squares = sum+v, squares+v*v
		}
		if n := float64(len(x)); math.Abs(sum/n) > 1e-6 || math.Abs(squares/n-1) > 1e-5 {
			t.Errorf("fold %d: mean %v, square %v", fold, sum/n, squares/n)
		}
		for _, list := range tables.Train.Queries.Lists()[:20] {
			for _, i := range list {
				if mean[i] != mean[list[0]] {
					t.Errorf("fold %d: two means of a query", fold)
				}
			}
		}
		if fold > 1 {
			continue
		}
		for _, c := range []struct {
			table *tabular.Table
			pairs [5]int
			error float64 // of column 39; 0: not known
		}{
			{tables.Train, [5]int{48086, 12409, 12778, 8888, 14011}, 0},
			{tables.Test, [5]int{13144, 3231, 3851, 2524, 3538}, 0.176240},
		} {
			pairs, wrong := pairErrors(c.table, column(c.table, "39"))
			if pairs != c.pairs || c.error > 0 && math.Abs(wrong[0]-c.error) > 5e-7 {
				t.Errorf("pairs %v, want %v; error %.6f, want %.6f", pairs, c.pairs, wrong[0], c.error)
			}
			if _, wrong = pairErrors(c.table, column(c.table, "quality")); wrong[2] != 1 || wrong[3] != 0 || wrong[1] != 0.5 {
				t.Errorf("the quality's own errors are %v", wrong)
			}
		}
		blind := require.Value(LoadTable(dir, "mq2008", tabular.TableOptions{DropSensitive: true, Attributes: []string{"quality"}, Ignore: []string{"3"}}))(t)
		if slices.Contains(blind.Train.Columns, "quality") || slices.Contains(blind.Train.Columns, "3") || len(blind.Train.Columns) != 79 {
			t.Errorf("features %v", blind.Train.Columns)
		}
		if a := blind.Train.Attributes[0]; fmt.Sprint(a.Name, a.Values) != "quality[low high]" || !slices.Equal(a.Groups()[1].Rows, tables.Train.Groups[1].Rows) {
			t.Errorf("attribute %s %v", a.Name, a.Values)
		}
	}
	_, err := LoadTable(dir, "mq2008", tabular.TableOptions{Attributes: []string{"sex"}})
	datatest.CheckError(t, err, dataerr.ErrGroup, `no column "sex"`)
	_, err = LoadTable(dir, "mq2008", tabular.TableOptions{Split: tabular.DefaultSplit})
	datatest.CheckError(t, err, dataerr.ErrOption, "has its own training, validation and test rows: leave out --split")
}

// MSLR is read from the files of a fold that the user puts there; another fold has other files.
func TestMSLR(t *testing.T) {
	dir, fold := t.TempDir(), filepath.Join("mslr", "Fold2")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, fold), 0o755))
	raw := func(query, i, j int) float64 { return float64((query*7+i*13+j*j*3)%97) - 40 }
	for part, name := range []string{"train", "vali", "test"} {
		var b strings.Builder
		for q := range 6 {
			for i := range 8 {
				fmt.Fprintf(&b, "%d qid:%d", (q+i)%5, 10*part+q)
				for j := 1; j <= mslrColumns; j++ {
					fmt.Fprintf(&b, " %d:%v", j, raw(q+10*part, i, j))
				}
				b.WriteString(" \n")
			}
		}
		datatest.Write(t, filepath.Join(dir, fold), name+".txt", []byte(b.String()))
	}
	tables, err := LoadTable(dir, "mslr", tabular.TableOptions{Fold: 2})
	require.NoError(t, err)
	if n := len(tables.Train.Columns); n != 251 || tables.Test.Rows() != 48 || tables.Test.Queries.Names[0] != "20" || tables.Validation.Queries.Grades[9] != uint8(2) {
		t.Errorf("%d features, %d test rows, queries %v, grades %v", n, tables.Test.Rows(), tables.Test.Queries.Names, tables.Validation.Queries.Grades)
	}
	signedLog := func(x float64) float64 { return math.Copysign(math.Log1p(math.Abs(x)), x) }
	for _, j := range []int{1, 77, 125} {
		got, mean := column(tables.Train, strconv.Itoa(j)), column(tables.Train, "mean "+strconv.Itoa(j))
		x, m := make([]float64, 48), make([]float64, 48)
		for k := range x {
			x[k] = signedLog(raw(k/8, k%8, j))
			for i := range 8 {
				m[k] += signedLog(raw(k/8, i, j)) / 8
			}
		}
		for _, pair := range [][2][]float64{{x, got}, {m, mean}} {
			standardise(pair[0])
			for k, want := range pair[0] {
				if math.Abs(want-pair[1][k]) > 1e-5 {
					t.Fatalf("feature %d, row %d: %v, want %v", j, k, pair[1][k], want)
				}
			}
		}
	}
	_, err = LoadTable(dir, "mslr", tabular.TableOptions{})
	if err == nil || !strings.Contains(err.Error(), "Fold1") || !strings.Contains(err.Error(), "get the file by hand from https://") {
		t.Errorf("error %v", err)
	}
	err = Fetch(t.Context(), dir, "mslr", FetchOptions{})
	datatest.CheckError(t, err, dataerr.ErrOption, "ppal cannot download mslr")
	report, err := Verify(t.Context(), dir, "mslr")
	require.NoError(t, err)
	states := map[State]int{}
	for _, f := range report.Files {
		states[f.State]++
	}
	if states[Unverified] != 3 || states[Missing] != 12 {
		t.Errorf("states %v", states)
	}
}

// The filtered MSLR has the first queries of each part with enough documents of each relevance and
// quality: their relevant documents, and a part of the others that the seed decides, more of them
// at one end of the ranks.
func TestFilteredMSLR(t *testing.T) {
	require.NoRace(t, "other tables run the same goroutines")
	dir := t.TempDir()
	fold := filepath.Join(dir, "mslr", "Fold1")
	require.NoError(t, os.MkdirAll(fold, 0o755))
	const queries, documents = 260, 60
	for part, name := range []string{"train", "vali", "test"} {
		var b strings.Builder
		for q := range queries {
			n := documents
			if q%10 == 3 { // too few
				n = 19
			}
			for i := range n {
				relevant := i%3 == 0
				if q%10 == 5 { // relevant documents of high quality only
					relevant = i%4 == 0
				}
				grade := 1
				if relevant {
					grade = 2
				}
				fmt.Fprintf(&b, "%d qid:%d 1:%d 130:%d 133:%d\n", grade, 1000*part+q, 1+i/(documents/2), 100-i, i%4%2*50+1+vec.Indicator(q%10 == 5 && relevant)*50)
			}
		}
		datatest.Write(t, fold, name+".txt", []byte(b.String()))
	}
	sizes := map[int]bool{}
	for _, seed := range []uint64{1, 2} {
		tables := require.Value(LoadTable(dir, "mslr-filtered", tabular.TableOptions{Seed: seed}))(t)
		for part, table := range []*tabular.Table{tables.Train, tables.Validation, tables.Test} {
			if most := min(queries*8/10, rankedQueries[part]); table.Queries.Len() > most || table.Queries.Len() < most-5 {
				t.Errorf("seed %d, part %d: %d queries, want %d", seed, part, table.Queries.Len(), most)
			}
			if table.Queries.Names[3] != strconv.Itoa(1000*part+4) || table.Queries.Names[4] != strconv.Itoa(1000*part+6) {
				t.Errorf("the queries begin with %v", table.Queries.Names[:6])
			}
			sizes[table.Rows()] = true
		}
		first := column(tables.Train, "1")
		var slopes [2]int // queries with more others in the first or in the second half of the ranks
		for _, rows := range tables.Train.Queries.Lists() {
			relevant, halves := 0, [2]int{}
			for _, i := range rows {
				if tables.Train.Labels[i] > 0 {
					relevant++
				} else {
					halves[vec.Indicator(first[i] > 0)]++
				}
			}
			if relevant != documents/3 || halves[0]+halves[1] < leastOfGrade || halves[0]+halves[1] > 2*documents/3 {
				t.Fatalf("a query has %d relevant and %v others", relevant, halves)
			}
			if d := halves[1] - halves[0]; d > 6 || d < -6 {
				slopes[vec.Indicator(d > 0)]++
			}
		}
		if slopes[0] < 10 || slopes[1] < 10 {
			t.Errorf("%v queries have more documents in one half of the ranks", slopes)
		}
	}
	if len(sizes) < 5 {
		t.Errorf("%d numbers of documents", len(sizes))
	}
}

// standardise subtracts the mean and divides by the standard deviation.
func standardise(x []float64) {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean) / float64(len(x))
	}
	for i := range x {
		x[i] = (x[i] - mean) / math.Sqrt(squares)
	}
}

// The stand-in for MSLR has the queries and pairs of the published experiment, with documents of
// each relevance and quality in every query, and the seed decides the documents.
func TestSyntheticMSLR(t *testing.T) {
	require.NoRace(t, "other built-in tables run the same goroutines")
	tables := require.Value(LoadTable("", "synthetic-mslr", tabular.TableOptions{Seed: 2}))(t)
	pairs, wrong := pairErrors(tables.Train, column(tables.Train, "quality"))
	if tables.Train.Queries.Len() != 1000 || pairs[0] < 450_000 || pairs[0] > 500_000 {
		t.Errorf("%d queries, %d pairs", tables.Train.Queries.Len(), pairs[0])
	}
	if wrong[0] > 0.48 || wrong[0] < 0.3 { // quality comes with relevance
		t.Errorf("the quality alone has the error %v", wrong[0])
	}
	for k, n := range pairs[1:] {
		if n < pairs[0]/10 {
			t.Errorf("cell %d has %d of %d pairs", k, n, pairs[0])
		}
	}
	high := slices.Repeat([]int{0}, tables.Train.Rows())
	for _, i := range tables.Train.Groups[1].Rows {
		high[i] = 1
	}
	for k, rows := range tables.Train.Queries.Lists() {
		var cells [4]int
		for _, i := range rows {
			cells[tables.Train.Labels[i]+1+high[i]]++
		}
		if slices.Min(cells[:]) < leastOfCell || cells[0]+cells[1] < leastOfGrade || cells[2]+cells[3] < leastOfGrade {
			t.Fatalf("query %d has the cells %v", k, cells)
		}
	}
	if want := "1c3c112f894b758c96ce7ec684e29eeb245ef4422e60df4f9de766734fd1334b"; tables.Test.SHA256() != want {
		t.Errorf("the test table has the checksum %s", tables.Test.SHA256())
	}
}
