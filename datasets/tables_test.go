package datasets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

const bankHeader = `"age";"job";"marital";"education";"default";"housing";"loan";"contact";"month";"day_of_week";"duration";` +
	`"campaign";"pdays";"previous";"poutcome";"emp.var.rate";"cons.price.idx";"cons.conf.idx";"euribor3m";"nr.employed";"y"` + "\r\n"

// bankRow is the format of a row with three blanks: the age, the call's duration and the label.
const bankRow = `%d;"student";"single";"unknown";"no";"yes";"no";"cellular";"may";"mon";%d;` +
	`1;999;0;"nonexistent";1.1;93.994;-36.4;4.857;5191;"%s"` + "\r\n"

// bankText returns a small Bank: a row for each age; every second row has the label yes.
func bankText(ages ...int) string {
	var text strings.Builder
	text.WriteString(bankHeader)
	for i, age := range ages {
		fmt.Fprintf(&text, bankRow, age, 100*i, [2]string{"no", "yes"}[i%2])
	}
	return text.String()
}

func loadText(t *testing.T, name, path, text string, opts tabular.TableOptions) (*tabular.Tables, error) {
	t.Helper()
	dir := t.TempDir()
	datatest.Write(t, dir, path, []byte(text))
	if opts.Split == (tabular.Split{}) {
		opts.Split = tabular.Split{Train: 100}
	}
	return LoadTable(dir, name, opts)
}

const bankPath = "bank/bank-additional-full.csv"

func TestLoadBank(t *testing.T) {
	got, err := loadText(t, "bank", bankPath, bankText(24, 25, 59, 60), tabular.TableOptions{})
	require.NoError(t, err)
	if diff := cmp.Diff([]tabular.Group{{Name: "25<=age<60", Rows: []int{1, 2}, Conditions: []string{"25<=age<60"}}, {Name: columnar.TheRest, Rows: []int{0, 3}, Conditions: []string{}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	if _, cols := got.Train.Features.Dims(); cols != 63 || len(got.Train.Columns) != 63 || len(got.Warnings) != 1 {
		t.Errorf("%d features, columns %q, warnings %q", cols, got.Train.Columns, got.Warnings)
	}
	set := map[string]float64{}
	d := denseOf(t, got)
	for j, name := range got.Train.Columns {
		set[name] = d.Data[j]
	}
	for name, want := range map[string]float64{
		"job=student": 1, "job=unknown": 0, "education=unknown": 1, "pdays": 0, "month=may": 1, "month=apr": 0,
	} {
		if got, ok := set[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	note := "These columns are constant in the training rows, so their features are 0: campaign, pdays, previous, emp.var.rate, cons.price.idx, " +
		"cons.conf.idx, euribor3m, nr.employed."
	if diff := cmp.Diff(note, got.Notes[1]); diff != "" {
		t.Error(diff)
	}
	got, err = loadText(t, "bank", bankPath, bankText(24, 25, 59, 60), tabular.TableOptions{Ignore: []string{"duration"}, DropSensitive: true})
	if err != nil || len(got.Train.Columns) != 61 || len(got.Warnings) != 0 {
		t.Errorf("%v, %v", err, got)
	}
}

func TestLoadBankErrors(t *testing.T) {
	text := bankText(24, 25, 59, 60)
	for _, tc := range []struct {
		name, text string
		opts       tabular.TableOptions
		want       error
		says       string
	}{
		{"label", strings.Replace(text, `5191;"no"`, `5191;"maybe"`, 1), tabular.TableOptions{}, dataerr.ErrCategory,
			`line 2, column 21: y: unknown category "maybe", want one of no, yes; get it with`},
		{"category", strings.Replace(text, `"student"`, `"astronaut"`, 1), tabular.TableOptions{}, dataerr.ErrCategory,
			`line 2, column 2: job: unknown category "astronaut", want one of admin., blue-collar`},
		{"number", strings.Replace(text, "93.994", "NaN", 1), tabular.TableOptions{}, dataerr.ErrNumber,
			`line 2, column 17: cons.price.idx: "NaN" is not a finite number`},
		{"comma", strings.NewReplacer(";", ",", `"`, "").Replace(text), tabular.TableOptions{}, dataerr.ErrFormat,
			"line 1, column 1: wrong format: there is only one column; the separator is ';'"},
		{"cut", text[:len(text)-20], tabular.TableOptions{}, dataerr.ErrTruncated, "line 5: truncated: the last line has only 18 of 21 fields"},
		{"ignored", text, tabular.TableOptions{Ignore: []string{"y"}}, dataerr.ErrColumn, `datasets: ignored: invalid column: no column "y"`},
		{"no group", bankText(30, 30), tabular.TableOptions{}, dataerr.ErrEmpty, "bank: no rows of group the rest among the training rows"},
		{"no class", bankText(20), tabular.TableOptions{}, dataerr.ErrEmpty, "bank: no rows of class y=yes among the training rows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadText(t, "bank", bankPath, tc.text, tc.opts)
			datatest.CheckError(t, err, tc.want, tc.says)
		})
	}
}

const compasPath = "compas/compas-scores-two-years.csv"

// compasText returns the used columns, with rows that the filter drops one by one.
const compasText = `sex,age,age_cat,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,` +
	`days_b_screening_arrest,c_charge_degree,is_recid,score_text,priors_count,two_year_recid
Male,30,25 - 45,African-American,0,1,0,2,-30,F,1,Low,2,1
Female,20,Less than 25,Caucasian,0,0,0,0,30,M,0,High,0,0
Male,50,Greater than 45,Asian,0,0,0,0,31,F,1,Low,0,1
Male,50,Greater than 45,Asian,0,0,0,0,-31,F,1,Low,0,1
Male,50,Greater than 45,Asian,0,0,0,0,,F,1,Low,0,1
Male,50,Greater than 45,Asian,0,0,0,0,0,O,1,Low,0,1
Male,50,Greater than 45,Asian,0,0,0,0,0,F,-1,Low,0,1
Male,50,Greater than 45,Asian,0,0,0,0,0,F,1,N/A,0,1
Male,40,25 - 45,Other,2,0,0,4,0,F,0,Medium,4,0
`

func TestLoadCompas(t *testing.T) {
	got, err := loadText(t, "compas", compasPath, compasText, tabular.TableOptions{})
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"sex=Male", "age", "age_cat=Less than 25", "age_cat=25 - 45", "age_cat=Greater than 45",
		"race=African-American", "race=Asian", "race=Caucasian", "race=Hispanic", "race=Native American", "race=Other",
		"juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree=F"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 1, 8}, got.Train.Source); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, -1, -1}, got.Train.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tabular.Group{{Name: "race=African-American", Rows: []int{0}, Conditions: []string{"race=African-American"}}, {Name: columnar.TheRest, Rows: []int{1, 2}, Conditions: []string{}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	for i, want := range [][3]float64{{1, 0, 1}, {0, 1, 0}, {1, 0, 1}} { // male, less than 25, felony
		row := make([]float64, 16)
		got.Train.Features.Float64(row, i, i+1)
		if got := [3]float64{row[0], row[2], row[15]}; got != want {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
	}
	got, err = loadText(t, "compas", compasPath, compasText, tabular.TableOptions{Groups: []string{"race=Caucasian"}, DropSensitive: true})
	if err != nil || len(got.Train.Columns) != 10 || len(got.Train.Groups[0].Rows) != 1 {
		t.Errorf("%v, %v", err, got)
	}
	_, err = loadText(t, "compas", compasPath, strings.Replace(compasText, "-30", "x", 1), tabular.TableOptions{})
	datatest.CheckError(t, err, dataerr.ErrNumber, `line 2, column 9: days_b_screening_arrest: "x" is not`)
	// The filter drops the charge O. In another column, O is not a category.
	_, err = loadText(t, "compas", compasPath, strings.Replace(compasText, "45,Other", "45,O", 1), tabular.TableOptions{})
	datatest.CheckError(t, err, dataerr.ErrCategory, `line 10, column 4: race: unknown category "O", want one of African-American`)
}

const communitiesPath = "communities/communities.data"

// communitiesText returns rows of 128 fields; the survey's fields are missing in all rows but the
// first.
func communitiesText(rows int) string {
	design := communitiesDesign()
	missing := map[string]bool{}
	for _, e := range design.Encodings {
		missing[e.Column] = e.Missing
	}
	var text strings.Builder
	for i := range rows {
		fields := make([]string, len(design.Layout.Header))
		for j, name := range design.Layout.Header {
			fields[j] = fmt.Sprintf("0.%02d", (i*(j+7)+3)%100)
			switch {
			case name == "communityname":
				fields[j] = "Somewherecity"
			case missing[name] && i > 0, name == "county":
				fields[j] = "?"
			case name == crimeColumn:
				fields[j] = [2]string{"0.27", "0.28"}[i%2]
			}
		}
		text.WriteString(strings.Join(fields, ",") + "\n")
	}
	return text.String()
}

func TestLoadCommunities(t *testing.T) {
	got, err := loadText(t, "communities", communitiesPath, communitiesText(100), tabular.TableOptions{})
	require.NoError(t, err)
	columns := got.Train.Columns
	flags := 0
	for _, name := range columns {
		if strings.HasSuffix(name, " missing") {
			flags++
		}
	}
	if len(columns) != 145 || flags != 23 || columns[0] != "population" || !slices.Equal(got.Train.ClassCounts(), []int{50, 50}) {
		t.Errorf("%d columns from %s, %d flags, classes %v", len(columns), columns[0], flags, got.Train.ClassCounts())
	}
	want := tabular.Label{Column: crimeColumn, Condition: "ViolentCrimesPerPop>=0.28", Otherwise: "ViolentCrimesPerPop<0.28"}
	if diff := cmp.Diff(want, got.Label); diff != "" {
		t.Error(diff)
	}
	d := denseOf(t, got)
	for j, name := range columns {
		if strings.HasSuffix(name, " missing") && (d.Data[j] != 0 || d.Data[d.Cols+j] != 1 || d.Data[d.Cols+j-1] != 0) {
			t.Errorf("%s is %v where there is a value, %v where there is none, beside %v", name, d.Data[j], d.Data[d.Cols+j], d.Data[d.Cols+j-1])
		}
	}
	if !strings.Contains(strings.Join(got.Notes, " "), "of 1000 intersectional groups have more than 1 % of the training rows") {
		t.Errorf("notes %q", got.Notes)
	}
	got, err = loadText(t, "communities", communitiesPath, communitiesText(100), tabular.TableOptions{DropSensitive: true})
	if err != nil || len(got.Train.Columns) != 142 {
		t.Errorf("%v, %v", err, got)
	}
	got, err = loadText(t, "communities", communitiesPath, communitiesText(100), tabular.TableOptions{Groups: []string{"racepctblack>0.5"}})
	if err != nil || len(got.Train.Groups) != 2 {
		t.Errorf("%v, %v", err, got)
	}
	for _, tc := range []struct {
		old, with string
		opts      tabular.TableOptions
		want      error
		says      string
	}{
		{"0.28\n", "?\n", tabular.TableOptions{}, dataerr.ErrMissing, `line 2, column 128: ViolentCrimesPerPop: missing value: "?"`},
		{"Somewherecity,0.03,0.03", "Somewherecity,0.03,?", tabular.TableOptions{}, dataerr.ErrMissing, `line 1, column 6: population: missing value`},
		{"Somewherecity,", "", tabular.TableOptions{}, dataerr.ErrFormat, "line 1: wrong format: 127 fields, want 128"},
		{"", "", tabular.TableOptions{Groups: []string{"OtherPerCap>0.5"}}, dataerr.ErrGroup, `invalid group "OtherPerCap>0.5": row 2 has no OtherPerCap`},
	} {
		_, err := loadText(t, "communities", communitiesPath, strings.Replace(communitiesText(100), tc.old, tc.with, 1), tc.opts)
		datatest.CheckError(t, err, tc.want, tc.says)
	}
}
