package loader_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// The flags that solve the problems of several columns.
func TestRemedy(t *testing.T) {
	column := func(name string, missing int) *loader.UserColumn {
		return &loader.UserColumn{Name: name, Feature: true, Profile: &columnar.Profile{Rows: 4, Missing: missing}}
	}
	label, group, split := column("y", 1), column("g", 3), column("s", 1)
	label.Feature, label.Label = false, true
	group.Group = true
	split.Feature, split.Split = false, true
	few, half, most := column("few", 1), column("half", 2), column("most", 3)
	type found map[*loader.UserColumn]error
	for name, tc := range map[string]struct {
		opts  tabular.TableOptions
		found found
		want  []string
	}{
		"nothing":                    {want: nil, opts: tabular.TableOptions{Ignore: []string{"a"}}},
		"missing features":           {found: found{most: dataerr.ErrMissing}, want: []string{"--missing impute"}},
		"missing among the features": {opts: tabular.TableOptions{Features: []string{"most"}}, found: found{most: dataerr.ErrMissing}, want: []string{"--missing impute"}},
		"missing labels":             {found: found{label: dataerr.ErrMissing}, want: []string{"--missing drop"}},
		"missing groups":             {found: found{group: dataerr.ErrMissing}, want: []string{"--missing drop"}},
		"missing parts":              {found: found{split: dataerr.ErrMissing}, want: []string{"--missing drop"}},
		"few rows would be left":     {found: found{label: dataerr.ErrMissing, most: dataerr.ErrMissing}, want: []string{"--ignore most", "--missing drop"}},
		"half of the rows":           {found: found{label: dataerr.ErrMissing, half: dataerr.ErrMissing, few: dataerr.ErrMissing}, want: []string{"--missing drop"}},
		"a group stays":              {found: found{label: dataerr.ErrMissing, group: dataerr.ErrMissing}, want: []string{"--missing drop"}},
		"dates":                      {found: found{few: loader.ErrDates}, want: []string{"--dates expand"}},
		"texts":                      {opts: tabular.TableOptions{Ignore: []string{"a"}}, found: found{few: dataerr.ErrColumn}, want: []string{"--ignore a,few"}},
		"a name with a comma":        {opts: tabular.TableOptions{Ignore: []string{"a,b"}}, found: found{few: dataerr.ErrColumn}, want: []string{`--ignore '"a,b",few'`}},
		"a chosen feature":           {opts: tabular.TableOptions{Features: []string{"few"}}, found: found{few: dataerr.ErrColumn}},
		"a hopeless label":           {found: found{label: dataerr.ErrLabel, few: loader.ErrDates}},
		"a hopeless group":           {found: found{group: dataerr.ErrColumn, few: loader.ErrDates}},
		"a hopeless part":            {found: found{split: dataerr.ErrColumn, few: loader.ErrDates}},
		"all":                        {found: found{label: dataerr.ErrMissing, few: loader.ErrDates, half: dataerr.ErrColumn}, want: []string{"--ignore half", "--dates expand", "--missing drop"}},
	} {
		var r loader.Remedy
		for c, err := range tc.found {
			r.Add(c, []*dataerr.FileError{{Err: err}})
		}
		if diff := cmp.Diff(tc.want, r.Flags(&tc.opts)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Only a feature without a name and without another use is left out, if it is empty or numbers the
// rows.
func TestDispensable(t *testing.T) {
	counts := &columnar.Profile{Rows: 3, Counting: true, First: 1, Last: 3}
	for _, tc := range []struct {
		c    loader.UserColumn
		want bool
	}{
		{loader.UserColumn{Name: "column 2", Field: 1, Feature: true, Profile: counts}, true},
		{loader.UserColumn{Name: "column 2", Field: 1, Feature: true, Profile: &columnar.Profile{Rows: 3, Missing: 3}}, true},
		{loader.UserColumn{Name: "column 2", Field: 1, Feature: true, Profile: &columnar.Profile{Rows: 3, Missing: 2}}, false},
		{loader.UserColumn{Name: "column 1", Field: 1, Feature: true, Profile: counts}, false},
		{loader.UserColumn{Name: "id", Field: 1, Feature: true, Profile: counts}, false},
		{loader.UserColumn{Name: "column 2", Field: 1, Feature: true, Group: true, Profile: counts}, false},
		{loader.UserColumn{Name: "column 2", Field: 1, Feature: true, Attribute: true, Profile: counts}, false},
		{loader.UserColumn{Name: "column 2", Field: 1, Label: true, Profile: counts}, false},
	} {
		if got := (&loader.UserTable{Opts: &tabular.TableOptions{}}).Dispensable(&tc.c); got != tc.want {
			t.Errorf("%+v is dispensable: %t", tc.c, got)
		}
	}
}

// The user's decimal sign counts; else the sign that columns have without doubt, if they agree.
func TestDecimalSign(t *testing.T) {
	comma, point := &loader.UserColumn{Profile: &columnar.Profile{}}, &loader.UserColumn{Profile: &columnar.Profile{Dotted: 1}}
	comma.Profile.Texts[columnar.CommaText] = 1
	none := &loader.UserColumn{Profile: &columnar.Profile{Plain: 1}}
	for _, tc := range []struct {
		choice  string
		columns []*loader.UserColumn
		sign    string
		given   bool
	}{
		{tabular.DecimalComma, []*loader.UserColumn{point}, textvalue.CommaDecimals, true}, {tabular.DecimalPoint, []*loader.UserColumn{comma}, textvalue.PointDecimals, true},
		{tabular.DecimalAuto, []*loader.UserColumn{none, comma}, textvalue.CommaDecimals, false}, {"", []*loader.UserColumn{point, none}, textvalue.PointDecimals, false},
		{"", []*loader.UserColumn{point, comma}, "", false}, {"", []*loader.UserColumn{none}, "", false},
	} {
		own := &loader.UserTable{Opts: &tabular.TableOptions{Decimal: tc.choice}, Columns: tc.columns}
		if sign, given := own.DecimalSign(); sign != tc.sign || given != tc.given {
			t.Errorf("%+v: %q, %t", tc, sign, given)
		}
	}
}

// Missing values are allowed as the choice and the use of the column say.
func TestMayMiss(t *testing.T) {
	columns := []*loader.UserColumn{{Label: true}, {Split: true}, {Group: true}, {Feature: true}, {Feature: true, Group: true}, {Attribute: true}}
	for choice, want := range map[string][]bool{
		tabular.MissingRefused: {false, false, false, false, false, true}, tabular.MissingDropped: {true, true, true, true, true, true},
		tabular.MissingImputed: {false, false, false, true, false, true}, tabular.MissingFlagged: {false, false, true, true, true, true},
	} {
		own := &loader.UserTable{Opts: &tabular.TableOptions{Missing: choice}}
		for i, c := range columns {
			if got := own.MayMiss(c); got != want[i] {
				t.Errorf("%s: column %d may miss values: %t", choice, i, got)
			}
		}
	}
	for choice, want := range map[string]string{tabular.MissingRefused: "leave out these rows (--missing drop)",
		tabular.MissingImputed: "--missing impute fills in features only: delete", tabular.MissingFlagged: "--missing flag fills in features only: delete"} {
		for _, c := range columns[:2] {
			if advice := (&loader.UserTable{Opts: &tabular.TableOptions{Missing: choice}}).MissingAdvice(c, ""); !strings.HasPrefix(advice, want) {
				t.Errorf("%s %+v: %s", choice, c, advice)
			}
		}
	}
}

// A column of texts is refused if it has too many of them, or if most of its values are numbers.
func TestCategoryLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		texts, rows, missing, plain int
		c                           loader.UserColumn
		want                        string
	}{
		"20 texts":                             {20, 20, 0, 0, loader.UserColumn{Feature: true}, ""},
		"21 texts of 41 rows":                  {21, 41, 0, 0, loader.UserColumn{Feature: true}, "21 different texts in 41 rows"},
		"21 texts of 42 rows":                  {21, 42, 0, 0, loader.UserColumn{Feature: true}, ""},
		"21 texts of 42 rows, one is missing":  {21, 42, 1, 0, loader.UserColumn{Feature: true}, "21 different texts in 41 rows"},
		"1000 texts":                           {1000, 9000, 0, 0, loader.UserColumn{Feature: true}, ""},
		"1000 texts of 1500 rows":              {1000, 1500, 0, 0, loader.UserColumn{Feature: true}, "it has 1000 different texts in 1500 rows"},
		"more texts":                           {1001, 9000, 0, 0, loader.UserColumn{Feature: true}, "more than 1000 different texts in 9000 rows"},
		"80 % are numbers":                     {21, 100, 0, 80, loader.UserColumn{Feature: true}, ""},
		"81 % are numbers":                     {21, 100, 0, 81, loader.UserColumn{Feature: true}, "81 of 100 values are numbers"},
		"81 % of the values that are there":    {21, 120, 20, 81, loader.UserColumn{Feature: true}, "81 of 100 values are numbers"},
		"20 values, 81 % are numbers":          {20, 100, 0, 81, loader.UserColumn{Feature: true}, ""},
		"numbers that the user calls so":       {21, 100, 0, 81, loader.UserColumn{Feature: true, Categorical: true}, ""},
		"an attribute":                         {1001, 1001, 0, 0, loader.UserColumn{Attribute: true}, ""},
		"a split":                              {1001, 1001, 0, 0, loader.UserColumn{Split: true}, ""},
		"a label of too many texts":            {101, 9000, 0, 0, loader.UserColumn{Label: true}, "want at most 100 classes"},
		"a condition on a label of many texts": {1001, 9000, 0, 0, loader.UserColumn{Label: true}, ""},
	} {
		own := &loader.UserTable{Label: "c", Opts: &tabular.TableOptions{}}
		if strings.HasPrefix(name, "a condition") || name == "more texts" {
			own.When = &columnar.Condition{}
		}
		tc.c.Name = "c"
		tc.c.Profile = &columnar.Profile{Rows: tc.rows, Missing: tc.missing, Plain: tc.plain}
		tc.c.Profile.Texts[columnar.OtherText] = tc.rows - tc.missing - tc.plain
		for i := range tc.texts {
			tc.c.Profile.Values = append(tc.c.Profile.Values, fmt.Sprintf("text %d", i))
		}
		own.Opts.Missing = tabular.MissingDropped
		found := own.ProblemsOf(&tc.c, "", false)
		if (len(found) > 0) != (tc.want != "") || len(found) > 0 && !strings.Contains(found[0].Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, found, tc.want)
		}
		if tc.c.Kind != loader.CategoryKind {
			t.Errorf("%s: kind %d", name, tc.c.Kind)
		}
	}
}

// A file in LIBSVM's format has two classes, or one for each label, and at most MaxUserFeatures
// features.
func TestClassesOfLIBSVM(t *testing.T) {
	labels := func(n int) (list []float64) {
		for i := range n {
			list = append(list, float64(n-i))
		}
		return list
	}
	var s loader.Source
	require.NoError(t, s.SetClasses("file", []float64{3, -1, 3}, nil))
	if diff := cmp.Diff(tabular.Label{Positive: "3", Negative: []string{"-1"}}, s.Label) + cmp.Diff([]int{1, -1, 1}, s.Labels) +
		cmp.Diff([]string{"label -1", "label 3"}, s.Classes); diff != "" {
		t.Error(diff)
	}
	for n, ok := range map[int]bool{1: false, 2: true, loader.MostClasses: true, loader.MostClasses + 1: false} {
		if err := (&loader.Source{}).SetClasses("file", labels(n), nil); (err == nil) != ok {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	var three loader.Source
	if err := three.SetClasses("file", []float64{10, 9, -1, 9}, []string{"9", "10"}); err != nil || !slices.Equal(three.Labels, []int{1, -1, loader.Outside, -1}) ||
		!slices.Equal(three.Label.Others, []string{"-1"}) {
		t.Errorf("%+v, %v", three, err)
	}
	path := datatest.Write(t, t.TempDir(), "wide.svm", []byte("# note\n1 1:1\n\n-1 1:1 33554433:1\n1 2:1\n"))
	file := require.Value(loader.LoadLIBSVM(path, 0))(t)
	datatest.CheckError(t, loader.CheckWidth(path, file.X), dataerr.ErrIndex, "line 4: invalid feature index: a feature has the index 33554433, the limit is 33554432")
	file.X.Cols--
	if err := loader.CheckWidth(path, file.X); err != nil {
		t.Error(err)
	}
}

// Features of a sparse table are named by numbers, or by names.
func TestNamesOfSparseFeatures(t *testing.T) {
	for _, text := range []string{"0", "6", "x", "1x", "-1"} {
		if _, err := (&loader.SparseDesign{}).Find([]string{text}, 5); !errors.Is(err, dataerr.ErrColumn) {
			t.Errorf("feature %s: %v", text, err)
		}
	}
	if found, err := (&loader.SparseDesign{Names: []string{"a", "b"}}).Find([]string{"b", "1", "2"}, 2); err != nil || !slices.Equal(found, []int32{1, 0, 1}) {
		t.Errorf("%v, %v", found, err)
	}
}

// What became of each column of a file.
func TestUsesOfColumns(t *testing.T) {
	for _, tc := range []struct {
		use  tabular.ColumnUse
		want string
	}{
		{tabular.ColumnUse{Became: "category", Levels: 3}, "category of 3 levels"}, {tabular.ColumnUse{Became: "number"}, "number"},
		{tabular.ColumnUse{Became: "label", Levels: 2}, "label"}, {tabular.ColumnUse{Became: "ignored", Levels: 2, Detail: "is empty"}, "ignored, is empty"},
		{tabular.ColumnUse{Became: "group", Levels: 2, Detail: "attribute"}, "group of 2 levels, attribute"},
	} {
		if got := tc.use.Text(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.use, got, tc.want)
		}
	}
	s := &columnar.Sheet{Rows: 3, Columns: []*columnar.Column{{Name: "n", Numbers: []float64{1, math.NaN(), math.NaN()}}, {Name: "c", Codes: []int32{0, -1, 1}, Values: []string{"a", "b"}},
		{Name: "y", Codes: []int32{0, 1, 0}, Values: []string{"no", "yes"}}, {Name: "z", Numbers: make([]float64, 3)}}}
	if diff := cmp.Diff([]tabular.ColumnUse{{Name: "n", Became: "number", Missing: 2}, {Name: "c", Became: "category", Levels: 2, Missing: 1},
		{Name: "y", Became: "label", Levels: 2}, {Name: "z", Became: "ignored"}},
		(&loader.Design{Label: "y"}).Uses(s, &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "n"}, {Column: "c"}}})); diff != "" {
		t.Error(diff)
	}
}

// The index column that pandas writes is not read. The columns behind it are found by their names
// nevertheless.
func TestConditionBehindIndexColumn(t *testing.T) {
	text := ",age,town,price\n"
	for i := range 20 {
		text += fmt.Sprintf("%d,%d,%c,%d\n", i, 20+i*i%7, 'a'+i%2, i*37%100)
	}
	s := require.Value(loader.ReadUserCSV(t.Context(), strings.NewReader(text), tabular.TableOptions{File: "file", Label: "price>=50"}))(t)
	if s.Label.Column != "price" || s.Label.Condition != "price>=50" || len(s.Labels) != 20 {
		t.Errorf("%+v, %d labels", s.Label, len(s.Labels))
	}
}

// The class +1 of two values is the larger number or the word that means yes, and otherwise in
// doubt.
func TestPositiveClass(t *testing.T) {
	for _, tc := range []struct{ first, second, want string }{
		{"0", "1", "1"}, {"10", "9", "10"}, {"-5", "a", ""}, {"-", "5", ""}, {"+", "-5", ""}, {"5", "a", ""}, {"1", "1.0", ""}, {"a", "b", ""},
		{"no", "yes", "yes"}, {"T", "f", "T"}, {"true", "yes", ""}, {"Y", "n", "Y"}, {"F", "true", "true"},
	} {
		got, err := (&loader.UserTable{Label: "y"}).PositiveClass([]string{tc.first, tc.second})
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s and %s: %q, %v, want %q", tc.first, tc.second, got, err, tc.want)
		}
	}
	for _, tc := range []struct {
		values []string
		given  string
		want   string
	}{
		{[]string{"0", "1"}, "0", "0"}, {[]string{"0", "1"}, "1.0", "1"}, {[]string{"0", "1"}, "zero", ""}, {[]string{"no", "yes"}, "0.0", ""}, {[]string{"no", "5"}, "0.0", ""},
		{[]string{"1", "1.0"}, "1.00", ""}, {[]string{"1", "1.0"}, "1.0", "1.0"},
	} {
		got, err := loader.GivenClass(tc.values, tc.given)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s of %q: %q, %v, want %q", tc.given, tc.values, got, err, tc.want)
		}
	}
}

// The numbers of classes up to the limits are accepted.
func TestMostClasses(t *testing.T) {
	names := func(n int, form string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(form, i))
		}
		return list
	}
	own := &loader.UserTable{Label: "y", Opts: &tabular.TableOptions{}}
	for _, tc := range []struct {
		values []string
		ok     bool
	}{
		{names(loader.MostNumberedClasses, "%d"), true}, {names(loader.MostNumberedClasses+1, "%d"), false}, {names(loader.MostClasses, "c%d"), true}, {names(loader.MostClasses+1, "c%d"), false},
		{append(names(loader.MostNumberedClasses, "%d"), "x"), true},
	} {
		if c, err := own.LabelClasses(tc.values); (err == nil) != tc.ok || tc.ok && len(c.Several) != len(tc.values) {
			t.Errorf("%d values: %d classes, %v", len(tc.values), len(c.Several), err)
		}
	}
	for n, ok := range map[int]bool{1: false, 2: true, loader.MostClasses: true, loader.MostClasses + 1: false} {
		if several, err := loader.ChosenClasses(names(200, "c%d"), names(n, "c%d")); (err == nil) != ok || ok && len(several) != n {
			t.Errorf("%d chosen classes: %v", n, err)
		}
	}
	for _, tc := range [][2][]string{ // the values, and the classes
		{{"10", "9", "-1", "1e0"}, {"-1", "1e0", "9", "10"}}, {{"10", "9", "a", "-1"}, {"-1", "10", "9", "a"}},
	} {
		if c, err := own.LabelClasses(tc[0]); err != nil || !slices.Equal(c.Several, tc[1]) {
			t.Errorf("%q: %q, %v", tc[0], c.Several, err)
		}
	}
}

// A label names a column, or a column and a value, or a condition.
func TestFindLabel(t *testing.T) {
	header := []string{"x", "y", "a=b"}
	for _, tc := range []struct {
		label, column, positive, when string
		classes                       []string
		err                           string
	}{
		{label: "y", column: "y"}, {label: "a=b", column: "a=b"}, {label: "y=1", column: "y", positive: "1"}, {label: "y = big cat ", column: "y", positive: "big cat"},
		{label: "y>=3", column: "y", when: "y>=3"}, {label: "1<y<=3", column: "y", when: "1<y<=3"}, {label: "y=", err: "want a value after ="},
		{label: "z", err: `column: no column "z"`}, {label: "1", err: `column: no column "1"`}, {label: "z", classes: []string{"1", "2"}, err: `no column "z"`}, {label: "z>3", err: `no column "z"`},
		{label: "1<y=3", err: "want an interval, as in 25<=age<60"},
		{label: "y", classes: []string{"1", "2"}, column: "y"}, {label: "y=1", classes: []string{"1", "2"}, err: "--classes needs a label without a value"},
	} {
		own := &loader.UserTable{Header: header, Opts: &tabular.TableOptions{Label: tc.label, Classes: tc.classes}}
		err := own.FindLabel()
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(tc.err, "no column") && strings.Contains(err.Error(), "group") {
				t.Errorf("%s: %v, want %s", tc.label, err, tc.err)
			}
			continue
		}
		when := ""
		if own.When != nil {
			when = own.When.Text
		}
		if err != nil || own.Label != tc.column || own.Positive != tc.positive || when != tc.when {
			t.Errorf("%s: column %q, value %q, condition %q, %v", tc.label, own.Label, own.Positive, when, err)
		}
	}
}
