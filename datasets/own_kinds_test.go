package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The flags that solve the problems of several columns.
func TestRemedy(t *testing.T) {
	column := func(name string, missing int) *ownColumn {
		return &ownColumn{name: name, feature: true, profile: &profile{rows: 4, missing: missing}}
	}
	label, group, split := column("y", 1), column("g", 3), column("s", 1)
	label.feature, label.label = false, true
	group.group = true
	split.feature, split.split = false, true
	few, half, most := column("few", 1), column("half", 2), column("most", 3)
	type found map[*ownColumn]error
	for name, tc := range map[string]struct {
		opts  TableOptions
		found found
		want  []string
	}{
		"nothing":                    {want: nil, opts: TableOptions{Ignore: []string{"a"}}},
		"missing features":           {found: found{most: ErrMissing}, want: []string{"--missing impute"}},
		"missing among the features": {opts: TableOptions{Features: []string{"most"}}, found: found{most: ErrMissing}, want: []string{"--missing impute"}},
		"missing labels":             {found: found{label: ErrMissing}, want: []string{"--missing drop"}},
		"missing groups":             {found: found{group: ErrMissing}, want: []string{"--missing drop"}},
		"missing parts":              {found: found{split: ErrMissing}, want: []string{"--missing drop"}},
		"few rows would be left":     {found: found{label: ErrMissing, most: ErrMissing}, want: []string{"--ignore most", "--missing drop"}},
		"half of the rows":           {found: found{label: ErrMissing, half: ErrMissing, few: ErrMissing}, want: []string{"--missing drop"}},
		"a group stays":              {found: found{label: ErrMissing, group: ErrMissing}, want: []string{"--missing drop"}},
		"dates":                      {found: found{few: errDates}, want: []string{"--dates expand"}},
		"texts":                      {opts: TableOptions{Ignore: []string{"a"}}, found: found{few: ErrColumn}, want: []string{"--ignore a,few"}},
		"a name with a comma":        {opts: TableOptions{Ignore: []string{"a,b"}}, found: found{few: ErrColumn}, want: []string{`--ignore '"a,b",few'`}},
		"a chosen feature":           {opts: TableOptions{Features: []string{"few"}}, found: found{few: ErrColumn}},
		"a hopeless label":           {found: found{label: ErrLabel, few: errDates}},
		"a hopeless group":           {found: found{group: ErrColumn, few: errDates}},
		"a hopeless part":            {found: found{split: ErrColumn, few: errDates}},
		"all":                        {found: found{label: ErrMissing, few: errDates, half: ErrColumn}, want: []string{"--ignore half", "--dates expand", "--missing drop"}},
	} {
		var r remedy
		for c, err := range tc.found {
			r.add(c, []*FileError{{Err: err}})
		}
		if diff := cmp.Diff(tc.want, r.flags(&tc.opts)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Only a feature without a name and without another use is left out, if it is empty or numbers the
// rows.
func TestDispensable(t *testing.T) {
	counts := &profile{rows: 3, counting: true, first: 1, last: 3}
	for _, tc := range []struct {
		c    ownColumn
		want bool
	}{
		{ownColumn{name: "column 2", field: 1, feature: true, profile: counts}, true},
		{ownColumn{name: "column 2", field: 1, feature: true, profile: &profile{rows: 3, missing: 3}}, true},
		{ownColumn{name: "column 2", field: 1, feature: true, profile: &profile{rows: 3, missing: 2}}, false},
		{ownColumn{name: "column 1", field: 1, feature: true, profile: counts}, false},
		{ownColumn{name: "id", field: 1, feature: true, profile: counts}, false},
		{ownColumn{name: "column 2", field: 1, feature: true, group: true, profile: counts}, false},
		{ownColumn{name: "column 2", field: 1, feature: true, attribute: true, profile: counts}, false},
		{ownColumn{name: "column 2", field: 1, label: true, profile: counts}, false},
	} {
		if got := (&ownTable{opts: &TableOptions{}}).dispensable(&tc.c); got != tc.want {
			t.Errorf("%+v is dispensable: %t", tc.c, got)
		}
	}
}

// The user's decimal sign counts; else the sign that columns have without doubt, if they agree.
func TestDecimalSign(t *testing.T) {
	comma, point := &ownColumn{profile: &profile{}}, &ownColumn{profile: &profile{dotted: 1}}
	comma.profile.texts[commaText] = 1
	none := &ownColumn{profile: &profile{plain: 1}}
	for _, tc := range []struct {
		choice  string
		columns []*ownColumn
		sign    string
		given   bool
	}{
		{DecimalComma, []*ownColumn{point}, commaDecimals, true}, {DecimalPoint, []*ownColumn{comma}, pointDecimals, true},
		{DecimalAuto, []*ownColumn{none, comma}, commaDecimals, false}, {"", []*ownColumn{point, none}, pointDecimals, false},
		{"", []*ownColumn{point, comma}, "", false}, {"", []*ownColumn{none}, "", false},
	} {
		own := &ownTable{opts: &TableOptions{Decimal: tc.choice}, columns: tc.columns}
		if sign, given := own.decimalSign(); sign != tc.sign || given != tc.given {
			t.Errorf("%+v: %q, %t", tc, sign, given)
		}
	}
}

// Missing values are allowed as the choice and the use of the column say.
func TestMayMiss(t *testing.T) {
	columns := []*ownColumn{{label: true}, {split: true}, {group: true}, {feature: true}, {feature: true, group: true}, {attribute: true}}
	for choice, want := range map[string][]bool{
		MissingRefused: {false, false, false, false, false, true}, MissingDropped: {true, true, true, true, true, true},
		MissingImputed: {false, false, false, true, false, true}, MissingFlagged: {false, false, true, true, true, true},
	} {
		own := &ownTable{opts: &TableOptions{Missing: choice}}
		for i, c := range columns {
			if got := own.mayMiss(c); got != want[i] {
				t.Errorf("%s: column %d may miss values: %t", choice, i, got)
			}
		}
	}
	for _, c := range columns[:2] {
		if advice := (&ownTable{}).missingAdvice(c, ""); advice != "leave out these rows (--missing drop)" {
			t.Errorf("%+v: %s", c, advice)
		}
	}
}

// A column of texts is refused if it has too many of them, or if most of its values are numbers.
func TestCategoryLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		texts, rows, missing, plain int
		c                           ownColumn
		want                        string
	}{
		"20 texts":                             {20, 20, 0, 0, ownColumn{feature: true}, ""},
		"21 texts of 41 rows":                  {21, 41, 0, 0, ownColumn{feature: true}, "21 different texts in 41 rows"},
		"21 texts of 42 rows":                  {21, 42, 0, 0, ownColumn{feature: true}, ""},
		"21 texts of 42 rows, one is missing":  {21, 42, 1, 0, ownColumn{feature: true}, "21 different texts in 41 rows"},
		"1000 texts":                           {1000, 9000, 0, 0, ownColumn{feature: true}, ""},
		"1000 texts of 1500 rows":              {1000, 1500, 0, 0, ownColumn{feature: true}, "it has 1000 different texts in 1500 rows"},
		"more texts":                           {1001, 9000, 0, 0, ownColumn{feature: true}, "more than 1000 different texts in 9000 rows"},
		"80 % are numbers":                     {21, 100, 0, 80, ownColumn{feature: true}, ""},
		"81 % are numbers":                     {21, 100, 0, 81, ownColumn{feature: true}, "81 of 100 values are numbers"},
		"81 % of the values that are there":    {21, 120, 20, 81, ownColumn{feature: true}, "81 of 100 values are numbers"},
		"20 values, 81 % are numbers":          {20, 100, 0, 81, ownColumn{feature: true}, ""},
		"numbers that the user calls so":       {21, 100, 0, 81, ownColumn{feature: true, categorical: true}, ""},
		"an attribute":                         {1001, 1001, 0, 0, ownColumn{attribute: true}, ""},
		"a split":                              {1001, 1001, 0, 0, ownColumn{split: true}, ""},
		"a label of too many texts":            {101, 9000, 0, 0, ownColumn{label: true}, "want at most 100 classes"},
		"a condition on a label of many texts": {1001, 9000, 0, 0, ownColumn{label: true}, ""},
	} {
		own := &ownTable{label: "c", opts: &TableOptions{}}
		if strings.HasPrefix(name, "a condition") || name == "more texts" {
			own.when = &condition{}
		}
		tc.c.name = "c"
		tc.c.profile = &profile{rows: tc.rows, missing: tc.missing, plain: tc.plain}
		tc.c.profile.texts[otherText] = tc.rows - tc.missing - tc.plain
		for i := range tc.texts {
			tc.c.profile.values = append(tc.c.profile.values, fmt.Sprintf("text %d", i))
		}
		own.opts.Missing = MissingDropped
		found := own.problemsOf(&tc.c, "", false)
		if (len(found) > 0) != (tc.want != "") || len(found) > 0 && !strings.Contains(found[0].Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, found, tc.want)
		}
		if tc.c.kind != categoryKind {
			t.Errorf("%s: kind %d", name, tc.c.kind)
		}
	}
}

// The doubtful number of a message has two readings.
func TestDoubtful(t *testing.T) {
	p := &profile{example: "1'234", values: []string{"abc", "1,234.5", "1,5", "1 234", "0,0", "1,234", "2,345"}}
	if got := p.doubtful(); got != "1,234" {
		t.Error(got)
	}
	p.values = p.values[:4]
	if got := p.doubtful(); got != p.example {
		t.Error(got)
	}
}

// The rows of the test file have the numbers after those of the first file, with those of dropped
// rows, and the label's condition applies to texts too.
func TestNumbersOfTestRows(t *testing.T) {
	dir := t.TempDir()
	opts := TableOptions{Label: "y!=red", Missing: MissingDropped, File: write(t, dir, "own.csv", []byte("x,c,y\n1,a,red\nNA,a,red\n3,b,blue\n4,a,red\n5,b,green\n")),
		TestFile: write(t, dir, "test.csv", []byte("x,c,y\n6,b,red\n?,a,red\n8,a,blue\n")), Split: Split{Train: 100}}
	got, err := LoadTable("", "csv", opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int{{0, 2, 3, 4}, {5, 7}}, [][]int{got.Train.Source, got.Test.Source}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{-1, 1, -1, 1}, {-1, 1}}, [][]int{got.Train.Labels, got.Test.Labels}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]FileRows{{opts.File, 5}, {opts.TestFile, 3}}, got.Files); diff != "" {
		t.Error(diff)
	}
	row := make([]float64, 3)
	got.Test.Features.Float64(row, 0, 1)
	if e := got.Preparation.Encodings[0]; !slices.Equal(row, []float64{(6 - e.Center) / e.Scale, 0, 1}) || math.Abs(e.Center-3.25) > 1e-15 {
		t.Errorf("features %v, centre %v", row, e.Center)
	}
	opts.TestFile, opts.SplitColumn, opts.Label = "", "x", "c=a"
	opts.File = write(t, dir, "split.csv", []byte("x,c,z\n0,a,1\n1,b,2\n"))
	_, err = LoadTable("", "csv", opts)
	checkError(t, err, ErrSplit, `the split column "x" holds "0", want train`)
}

// A file in LIBSVM's format has two classes, or one for each label, and at most maxOwnFeatures
// features.
func TestClassesOfLIBSVM(t *testing.T) {
	labels := func(n int) (list []float64) {
		for i := range n {
			list = append(list, float64(n-i))
		}
		return list
	}
	var s source
	if err := s.setClasses("file", []float64{3, -1, 3}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Label{Positive: "3", Negative: []string{"-1"}}, s.label) + cmp.Diff([]int{1, -1, 1}, s.labels) +
		cmp.Diff([]string{"label -1", "label 3"}, s.classes); diff != "" {
		t.Error(diff)
	}
	for n, ok := range map[int]bool{1: false, 2: true, mostClasses: true, mostClasses + 1: false} {
		if err := (&source{}).setClasses("file", labels(n), nil); (err == nil) != ok {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	var three source
	if err := three.setClasses("file", []float64{10, 9, -1, 9}, []string{"9", "10"}); err != nil || !slices.Equal(three.labels, []int{1, -1, outside, -1}) ||
		!slices.Equal(three.label.Others, []string{"-1"}) {
		t.Errorf("%+v, %v", three, err)
	}
	path := write(t, t.TempDir(), "wide.svm", []byte("# note\n1 1:1\n\n-1 1:1 33554433:1\n1 2:1\n"))
	file, err := LoadLIBSVM(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, checkWidth(path, file.X), ErrIndex, "line 4: invalid feature index: a feature has the index 33554433, the limit is 33554432")
	file.X.Cols--
	if err := checkWidth(path, file.X); err != nil {
		t.Error(err)
	}
}

// Features of a sparse table are named by numbers, or by names.
func TestNamesOfSparseFeatures(t *testing.T) {
	for _, text := range []string{"0", "6", "x", "1x", "-1"} {
		if _, err := (&sparseDesign{}).find([]string{text}, 5); !errors.Is(err, ErrColumn) {
			t.Errorf("feature %s: %v", text, err)
		}
	}
	if found, err := (&sparseDesign{names: []string{"a", "b"}}).find([]string{"b", "1", "2"}, 2); err != nil || !slices.Equal(found, []int32{1, 0, 1}) {
		t.Errorf("%v, %v", found, err)
	}
}

// What became of each column of a file.
func TestUsesOfColumns(t *testing.T) {
	for _, tc := range []struct {
		use  ColumnUse
		want string
	}{
		{ColumnUse{Became: "category", Levels: 3}, "category of 3 levels"}, {ColumnUse{Became: "number"}, "number"},
		{ColumnUse{Became: "label", Levels: 2}, "label"}, {ColumnUse{Became: "ignored", Levels: 2, Detail: "is empty"}, "ignored, is empty"},
		{ColumnUse{Became: "group", Levels: 2, Detail: "attribute"}, "group of 2 levels, attribute"},
	} {
		if got := tc.use.Text(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.use, got, tc.want)
		}
	}
	s := &sheet{rows: 3, columns: []*column{{name: "n", numbers: []float64{1, math.NaN(), math.NaN()}}, {name: "c", codes: []int32{0, -1, 1}, values: []string{"a", "b"}},
		{name: "y", codes: []int32{0, 1, 0}, values: []string{"no", "yes"}}, {name: "z", numbers: make([]float64, 3)}}}
	if diff := cmp.Diff([]ColumnUse{{Name: "n", Became: "number", Missing: 2}, {Name: "c", Became: "category", Levels: 2, Missing: 1},
		{Name: "y", Became: "label", Levels: 2}, {Name: "z", Became: "ignored"}},
		(&design{label: "y"}).uses(s, &Preparation{Encodings: []Encoding{{Column: "n"}, {Column: "c"}}})); diff != "" {
		t.Error(diff)
	}
}
