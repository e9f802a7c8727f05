package datasets

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// document is a row of the files of these tests.
type document struct {
	grade int
	query string
	x     [2]float64
}

// documents draws documents of queries of 1 to 9 documents. Every fifth query has one grade. The
// last documents belong to the first queries.
func documents(queries int, seed uint64) (list []document) {
	rng := rand.New(rand.NewPCG(seed, 1))
	draw := func(q, most int) {
		list = append(list, document{rng.IntN(most + 1), fmt.Sprint(100 + 7*q), [2]float64{rng.NormFloat64(), float64(rng.IntN(9) + 1)}})
	}
	for q := range queries {
		most := 3
		if q%5 == 4 {
			most = 0
		}
		for range 1 + rng.IntN(9) {
			draw(q, most)
		}
	}
	for q := range min(3, queries) {
		draw(q, 3)
	}
	return list
}

// libsvmOf and csvOf write the documents in both formats.
func libsvmOf(t *testing.T, list []document) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%d qid:%s 1:%v 2:%v # a comment\n", d.grade, d.query, d.x[0], d.x[1])
	}
	return datatest.Write(t, t.TempDir(), "documents.txt", []byte(b.String()))
}

func csvOf(t *testing.T, list []document) string {
	var b strings.Builder
	b.WriteString("grade,user,a,b\n")
	for _, d := range list {
		fmt.Fprintf(&b, "%d,%s,%v,%v\n", d.grade, d.query, d.x[0], d.x[1])
	}
	return datatest.Write(t, t.TempDir(), "documents.csv", []byte(b.String()))
}

// Every split has whole queries, whatever their order in the file, in both formats. The seed
// decides the split, and queries with and without pairs have their shares in each part.
func TestSplitsOfWholeQueries(t *testing.T) {
	list := documents(60, 1)
	lib := tabular.TableOptions{File: libsvmOf(t, list), Query: tabular.QueryID}
	csv := tabular.TableOptions{File: csvOf(t, list), Label: "grade", Query: "user"}
	for _, split := range []tabular.Split{{}, {Train: 50, Validation: 50}, {Train: 80, Test: 20}, {Train: 100}, {Train: 34, Validation: 33, Test: 33}} {
		seen := map[string]uint64{}
		for seed := uint64(1); seed <= 3; seed++ {
			var parts [2][]int
			for k, o := range []tabular.TableOptions{lib, csv} {
				o.Seed, o.Split = seed, split
				tables := require.Value(LoadTable("", []string{"libsvm", "csv"}[k], o))(t)
				parts[k] = checkQueries(t, tables, list, o.SplitOrDefault())
			}
			if !slices.Equal(parts[0], parts[1]) {
				t.Errorf("split %v, seed %d: the formats have other splits", split, seed)
			}
			if other, same := seen[fmt.Sprint(parts[0])]; same && split.Train != 100 {
				t.Errorf("split %v: the seeds %d and %d have the same rows", split, other, seed)
			}
			seen[fmt.Sprint(parts[0])] = seed
		}
	}
}

// checkQueries compares the tables with the documents, and returns the part of each row.
func checkQueries(t *testing.T, tables *tabular.Tables, list []document, split tabular.Split) []int {
	t.Helper()
	part, of := make([]int, len(list)), map[string]int{}
	pairs := map[string]int{} // documents of different grades
	for i, d := range list {
		part[i] = -1
		for _, other := range list[:i] {
			if other.query == d.query && other.grade != d.grade {
				pairs[d.query]++
			}
		}
	}
	shares := split.Shares()
	all, with := 0, 0
	for p, table := range []*tabular.Table{tables.Train, tables.Validation, tables.Test} {
		if shares[p] == 0 {
			if table != nil {
				t.Errorf("part %d has rows", p)
			}
			continue
		}
		own, n, paired := 0, 0, 0
		if !slices.IsSorted(table.Source) || len(table.Queries.Of) != table.Rows() || len(table.Queries.Grades) != table.Rows() {
			t.Fatalf("part %d: rows %v of %d queries", p, table.Source, len(table.Queries.Of))
		}
		for at, i := range table.Source {
			d := list[i]
			if k, known := of[d.query]; known && k != p {
				t.Errorf("the query %s is in the parts %d and %d", d.query, k, p)
			}
			if part[i] >= 0 {
				t.Errorf("row %d is in two parts", i)
			}
			part[i], of[d.query] = p, p
			if table.Queries.Names[table.Queries.Of[at]] != d.query || int(table.Queries.Grades[at]) != d.grade || table.Classes[table.Labels[at]] != fmt.Sprint(d.grade) {
				t.Errorf("row %d: query %s, grade %d, class %s, want %v", i, table.Queries.Names[table.Queries.Of[at]], table.Queries.Grades[at], table.Classes[table.Labels[at]], d)
			}
		}
		for _, name := range table.Queries.Names {
			own, n = own+pairs[name], n+1
			if pairs[name] > 0 {
				paired++
			}
		}
		if got := table.CountPairs(); got != own {
			t.Errorf("part %d: %d pairs, want %d", p, got, own)
		}
		if p == 0 {
			all, with = n, paired
		}
	}
	if slices.Contains(part, -1) {
		t.Error("a row is in no part")
	}
	if share := float64(split.Train) / 100; float64(all) < share*60-1 || float64(all) > share*60+1 || float64(with) < share*float64(len(pairs))-1 || float64(with) > share*float64(len(pairs))+1 {
		t.Errorf("split %v: %d training queries, %d with pairs", split, all, with)
	}
	return part
}

// A grade above --relevant makes a document relevant, in both formats and in a condition of the
// user. The grades stay.
func TestRelevant(t *testing.T) {
	list := documents(40, 2)
	lib, csv := libsvmOf(t, list), csvOf(t, list)
	for _, test := range []struct {
		dataset string
		o       tabular.TableOptions
		above   int
		classes string
		grades  bool
	}{
		{"libsvm", tabular.TableOptions{File: lib, Query: "qid", Relevant: "1"}, 1, "[grade<=1 grade>1]", true},
		{"csv", tabular.TableOptions{File: csv, Query: "user", Label: "grade", Relevant: "0"}, 0, "[grade<=0 grade>0]", true},
		{"csv", tabular.TableOptions{File: csv, Query: "user", Label: "grade>=3"}, 2, "[grade<3 grade>=3]", false},
		{"csv", tabular.TableOptions{File: csv, Query: "user", Label: "grade=3"}, 2, "[grade=0, 1, 2 grade=3]", false},
	} {
		test.o.Split = tabular.Split{Train: 100}
		tables := require.Value(LoadTable("", test.dataset, test.o))(t)
		if got := fmt.Sprint(tables.Train.Classes); got != test.classes {
			t.Errorf("%s: classes %s, want %s", test.dataset, got, test.classes)
		}
		for i, d := range list {
			grade := d.grade
			if !test.grades {
				grade = 0
				if d.grade > test.above {
					grade = 1
				}
			}
			if label := tables.Train.Labels[i]; (label > 0) != (d.grade > test.above) || int(tables.Train.Queries.Grades[i]) != grade {
				t.Fatalf("%s %+v: row %d has label %d and grade %d", test.dataset, test.o, i, label, tables.Train.Queries.Grades[i])
			}
		}
	}
}

// A test file and a split column keep whole queries, and a query in two parts is an error.
func TestGivenPartsOfQueries(t *testing.T) {
	list := documents(30, 3)
	for i := range list {
		list[i].query = "u" + list[i].query // texts, also where all others are numbers
	}
	var test []document
	for i := range 20 {
		test = append(test, document{i % 3, fmt.Sprint("v", i/5), [2]float64{1, float64(i)}})
	}
	o := tabular.TableOptions{File: csvOf(t, list), TestFile: csvOf(t, test), Label: "grade", Query: "user", Relevant: "1"}
	tables := loaded(t, "csv", o)
	if got := fmt.Sprint(tables.Test.Queries.Names, tables.Test.Queries.Of[:6], tables.Test.Queries.Grades[:4]); got != "[v0 v1 v2 v3] [0 0 0 0 0 1] [0 1 2 0]" {
		t.Errorf("test queries %s", got)
	}
	both := append(test, list[0])
	o.TestFile = csvOf(t, both)
	_, err := LoadTable("", "csv", o)
	datatest.CheckError(t, err, dataerr.ErrSplit, "the query "+list[0].query+" has rows in two parts")

	text := require.Value(os.ReadFile(csvOf(t, test)))(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range lines {
		lines[i] += "," + []string{"part", "train", "train", "validation", "test"}[min(4, (i+4)/5)]
	}
	o = tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "parts.csv", []byte(strings.Join(lines, "\n")+"\n")), Label: "grade", Query: "user", SplitColumn: "part"}
	if tables, err = LoadTable("", "csv", o); err != nil {
		t.Fatal(err)
	}
	if tables.Train.Queries.Len() != 2 || tables.Validation.Queries.Len() != 1 || tables.Test.Queries.Len() != 1 {
		t.Errorf("%d, %d and %d queries", tables.Train.Queries.Len(), tables.Validation.Queries.Len(), tables.Test.Queries.Len())
	}
	lines[2] = strings.Replace(lines[2], "train", "test", 1)
	o.File = datatest.Write(t, t.TempDir(), "torn.csv", []byte(strings.Join(lines, "\n")+"\n"))
	_, err = LoadTable("", "csv", o)
	datatest.CheckError(t, err, dataerr.ErrSplit, "the query v0 has rows in two parts, the second in row 2;")
}

// Wrong queries and grades are one line with file and line.
func TestWrongQueries(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       error
		says       string
		options    tabular.TableOptions
	}{
		{"no qid", "\n# a comment\n1 1:1\n0 1:2\n", dataerr.ErrFormat, "line 3: wrong format: the row has no qid; leave out --query", tabular.TableOptions{}},
		{"some qid", "1 qid:1 1:1\n0 qid:1 1:2\n0 1:2\n", dataerr.ErrFormat, "line 3: wrong format: some rows have a qid", tabular.TableOptions{}},
		{"no number", "1 qid:1 1:1\n0 qid:a 1:2\n", dataerr.ErrFormat, `line 2: wrong format: qid "a"`, tabular.TableOptions{}},
		{"negative", "1 qid:1 1:1\n-1 qid:1 1:2\n", dataerr.ErrLabel, "line 2: label out of range: the grade -1 is not a whole number from 0 to 31", tabular.TableOptions{}},
		{"fraction", "1 qid:1 1:1\n0.5 qid:1 1:2\n", dataerr.ErrLabel, "line 2: label out of range: the grade 0.5", tabular.TableOptions{}},
		{"large", "1 qid:1 1:1\n\n32 qid:1 1:2\n", dataerr.ErrLabel, "line 3: label out of range: the grade 32", tabular.TableOptions{}},
		{"no pair", "1 qid:1 1:1\n0 qid:2 1:2\n", dataerr.ErrPairs, "equally relevant; change --label, --query or --relevant", tabular.TableOptions{}},
		{"one side", "3 qid:1 1:1\n2 qid:1 1:2\n", dataerr.ErrPairs, "equally relevant", tabular.TableOptions{Relevant: "3"}},
		{"few queries", "3 qid:1 1:1\n2 qid:1 1:2\n3 qid:2 1:1\n2 qid:2 1:2\n", dataerr.ErrEmpty, "no query is left for the", tabular.TableOptions{}},
		{"classes", "3 qid:1 1:1\n2 qid:1 1:2\n", dataerr.ErrOption, "exclude each other", tabular.TableOptions{Classes: []string{"3", "2"}}},
		{"another query", "3 qid:1 1:1\n", dataerr.ErrOption, "--query user: the data set libsvm supports only --query qid", tabular.TableOptions{Query: "user"}},
		{"a fold", "3 qid:1 1:1\n", dataerr.ErrOption, "libsvm has no folds", tabular.TableOptions{Fold: 1}},
		{"a grade", "3 qid:1 1:1\n", dataerr.ErrOption, "--relevant must be each, or a grade from 0 to 30", tabular.TableOptions{Relevant: "31"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.options
			o.File = datatest.Write(t, t.TempDir(), "rows.txt", []byte(test.text))
			if o.Query == "" {
				o.Query = tabular.QueryID
			}
			_, err := LoadTable("", "libsvm", o)
			datatest.CheckError(t, err, test.want, test.says)
		})
	}
	list := documents(20, 4)
	file := csvOf(t, list)
	for _, test := range []struct {
		o    tabular.TableOptions
		says string
	}{
		{tabular.TableOptions{Query: "query"}, "no column"},
		{tabular.TableOptions{Query: "grade"}, "cannot be the label"},
		{tabular.TableOptions{Query: "user", Ignore: []string{"user"}}, "cannot be the label, the split, a feature or ignored"},
		{tabular.TableOptions{Query: "user", Groups: []string{"user=q1"}}, "cannot be a group or an attribute of a bound"},
		{tabular.TableOptions{Query: "user", Attributes: []string{"user"}}, "cannot be a group or an attribute of a bound"},
		{tabular.TableOptions{Query: "user", Label: "grade>1", Relevant: "1"}, "--relevant needs a label of grades"},
		{tabular.TableOptions{Query: "user", Label: "a>0", Relevant: "each"}, ""},
		{tabular.TableOptions{Query: "user", Label: "a", Relevant: "1"}, `column "a", row 1: label out of range: the grade`},
		{tabular.TableOptions{Relevant: "1"}, "--relevant needs --query"},
	} {
		test.o.File = file
		if test.o.Label == "" {
			test.o.Label = "grade"
		}
		_, err := LoadTable("", "csv", test.o)
		if test.says == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want %q", test.o, err, test.says)
		}
	}
	if _, err := LoadTable(t.TempDir(), "synthetic-adult", tabular.TableOptions{Query: "qid"}); !errors.Is(err, dataerr.ErrOption) {
		t.Errorf("error %v", err)
	}
	text := "grade,user,a\n1,q,1\n0,q,2\ngood,q,3\n"
	_, err := LoadTable("", "csv", tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.csv", []byte(text)), Label: "grade", Query: "user"})
	datatest.CheckError(t, err, dataerr.ErrLabel, `column "grade", row 3: label out of range: the grade "good" is not a whole number`)
	text = "grade,user,a\n1,q,1\n0,q,2\n1,,3\n"
	_, err = LoadTable("", "csv", tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.csv", []byte(text)), Label: "grade", Query: "user"})
	if err == nil || !strings.Contains(err.Error(), "line 4, column 2: user: missing value") {
		t.Errorf("error %v", err)
	}
}

// The notes say what is special about the queries, and a file whose qid is not used says so.
func TestNotesAboutQueries(t *testing.T) {
	text := "1 qid:1 1:1\n0 qid:1 1:2\n0 qid:007 1:2\n1 qid:99999999999999999999 1:2\n0 qid:99999999999999999999 1:2\n0 qid:0 1:1\n1 qid:7 1:3\n" +
		strings.Repeat("1 qid:8 1:1\n0 qid:8 1:1\n", 3)
	o := tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.txt", []byte(text)), Query: "qid", Split: tabular.Split{Train: 100}}
	tables := loaded(t, "libsvm", o)
	notes := strings.Join(tables.Notes, "\n")
	for _, want := range []string{"5 queries, with 12 pairs", "1 of 5 queries have no pair", "The documents of 1 query are not consecutive in the file, first in row 7"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in %q", want, notes)
		}
	}
	if len(tables.Warnings) != 1 || !strings.HasPrefix(tables.Warnings[0], "The query 8 has 9 of the 12 pairs") {
		t.Errorf("warnings %q", tables.Warnings)
	}
	if got := fmt.Sprint(tables.Train.Queries.Names); got != "[1 7 99999999999999999999 0 8]" {
		t.Errorf("queries %s", got)
	}
	o.Query = ""
	tables = loaded(t, "libsvm", o)
	if tables.Train.Queries != nil || !strings.Contains(strings.Join(tables.Notes, "\n"), "have a qid, which ppal does not use. --query qid") {
		t.Errorf("queries %v, notes %q", tables.Train.Queries, tables.Notes)
	}
}
