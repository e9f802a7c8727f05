package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// peopleText has numbers, categories, a column of names and missing values.
const peopleText = `name,age,sex,race,dept,income
Ann,20,F,White,1,1
Bob,30,M,Black,2,0
Cid,24,M,White,1,1
Dora,,F,,2,0
Eve,40,F,Asian,1,0
`

// TestValues finds the columns of values. Columns outside the features, known attributes and
// classes are left out.
func TestValues(t *testing.T) {
	require.NoRace(t, "TestAttributesOfAdult starts the same goroutines")
	names := func(list []tabular.Attribute) (names []string) {
		for _, a := range list {
			names = append(names, a.Name)
		}
		return names
	}
	opts := tabular.TableOptions{Label: "income", Missing: tabular.MissingImputed, Ignore: []string{"name"}, Split: tabular.Split{Train: 100}, Attributes: []string{"race"},
		Values: []string{"Black", "f", "Eve", "income=1", "unknown"}}
	got, err := everything(t, peopleText, opts)
	require.NoError(t, err)
	if want := []string{"race", "sex"}; !slices.Equal(names(got.Train.Attributes), want) || !slices.Equal(got.Train.Attributes[1].Of, []int{0, 1, 1, 0, 0}) {
		t.Errorf("%v, want %v", got.Train.Attributes, want)
	}
	for _, u := range got.Uses {
		if u.Name == "sex" && u.Detail != "attribute" {
			t.Errorf("%+v", u)
		}
	}
	opts.DropSensitive = true
	if got, err = everything(t, peopleText, opts); err != nil || slices.Contains(got.Train.Columns, "sex=F") {
		t.Errorf("%v, %v", err, got)
	}
	for name, test := range map[string]struct{ value, attribute string }{
		"synthetic-adult": {"Female", "sex"}, "synthetic-bank": {"student", "job"}, "synthetic-compas": {"Hispanic", "race"},
	} {
		got, err := LoadTable("", name, tabular.TableOptions{Seed: 3, Values: []string{test.value}})
		if err != nil || !slices.Equal(names(got.Train.Attributes), []string{test.attribute}) {
			t.Errorf("%s: %v, %v", name, err, got)
		}
	}
}

// TestAttributesKeepTheSplit compares the rows of runs with different attributes.
func TestAttributesKeepTheSplit(t *testing.T) {
	require.NoRace(t, "TestAttributesOfAdult starts the same goroutines")
	for _, name := range []string{"synthetic-adult", "synthetic-bank", "synthetic-compas", "synthetic-communities"} {
		without := loaded(t, name, tabular.TableOptions{Seed: 3})
		attributes := map[string][]string{
			"synthetic-adult":       {"race", "sex"},
			"synthetic-bank":        {"job", "age<25"},
			"synthetic-compas":      {"race", "sex", "age_cat"},
			"synthetic-communities": {"racepctblack>0.5"},
		}[name]
		with := loaded(t, name, tabular.TableOptions{Seed: 3, Attributes: attributes})
		parts := without.Parts()
		for k, p := range with.Parts() {
			if p.SHA256() != parts[k].SHA256() || !slices.Equal(p.Source, parts[k].Source) || len(parts[k].Attributes) != 0 {
				t.Errorf("%s: attributes change the %s rows", name, p.Name)
			}
			for i, a := range p.Attributes {
				if a.Name != attributes[i] || len(a.Of) != p.Rows() {
					t.Errorf("%s: attribute %d is %q with %d rows", name, i, a.Name, len(a.Of))
				}
			}
		}
	}
}

// TestAttributesOfAdult compares the attribute sex with the groups of the two sexes.
func TestAttributesOfAdult(t *testing.T) {
	tables := require.Value(LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1, Attributes: []string{"sex", "race", "sex=Female", "occupation"}}))(t)
	for _, p := range tables.Parts() {
		sex, race := p.Attributes[0], p.Attributes[1]
		for k, g := range sex.Groups() {
			if !slices.Equal(p.Groups[k].Rows, g.Rows) || p.Groups[k].Name != "sex="+sex.Values[k] {
				t.Errorf("%s: %s", p.Groups[k].Name, cmp.Diff(p.Groups[k].Rows, g.Rows))
			}
		}
		if !slices.Equal(race.Values, strings.Fields("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black")) || slices.Contains(race.Of, -1) {
			t.Errorf("race has the values %q", race.Values)
		}
		if !slices.Equal(sex.Of, p.Attributes[2].Of) {
			t.Error(cmp.Diff(sex.Of, p.Attributes[2].Of))
		}
		if !slices.Contains(p.Attributes[3].Of, -1) {
			t.Error("no occupation is missing")
		}
	}
	dropped := require.Value(LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1, Attributes: []string{"race"}, DropSensitive: true}))(t)
	left := strings.Join(dropped.Train.Columns, " ")
	if strings.Contains(left, "race=") || !strings.Contains(left, "sex=Male") {
		t.Errorf("the features are %s", left)
	}
}

// TestAttributesOutsideTheFeatures reads columns of the published files that are not features.
func TestAttributesOutsideTheFeatures(t *testing.T) {
	tables := require.Value(LoadTable(datatest.RealData(t), "compas", tabular.TableOptions{Seed: 1,
		Attributes: []string{"race", "sex", "age_cat", "decile_score>=5", "decile_score", "score_text"}}))(t)
	a := tables.Train.Attributes
	if len(a[0].Values) != 6 || len(a[1].Values) != 2 || len(a[2].Values) != 3 || len(a[3].Values) != 2 || len(a[4].Values) != 10 {
		t.Errorf("%d attributes", len(a))
	}
	for i, k := range a[3].Of {
		if high := a[4].Of[i] >= 4; high != (k == 0) || high == (a[5].Values[a[5].Of[i]] == "Low") {
			t.Fatalf("row %d: %d, %d, %s", i, k, a[4].Of[i], a[5].Values[a[5].Of[i]])
		}
	}
	if _, err := LoadTable(datatest.RealData(t), "communities", tabular.TableOptions{Attributes: []string{"state", "population>=0.5"}}); err != nil {
		t.Error(err)
	}
	if _, err := LoadTable(datatest.RealData(t), "bank", tabular.TableOptions{Attributes: []string{"age<25", "job"}}); err != nil {
		t.Error(err)
	}
}

func TestAttributeErrors(t *testing.T) {
	require.NoRace(t, "TestAttributesOfAdult starts the same goroutines")
	_, err := LoadTable("", "synthetic-adult", tabular.TableOptions{Attributes: []string{"sexx"}})
	datatest.CheckError(t, err, dataerr.ErrColumn, `no column "sexx"; did you mean "sex"? the columns are age, workclass`)
	_, err = LoadTable("", "synthetic-adult", tabular.TableOptions{Attributes: []string{"age<25"}})
	datatest.CheckError(t, err, dataerr.ErrGroup, "age holds text, want age=VALUE with one of 17-25, 26-32")
	_, err = LoadTable("", "synthetic-compas", tabular.TableOptions{Attributes: []string{"agecat"}})
	datatest.CheckError(t, err, dataerr.ErrColumn, `did you mean "age_cat"?`)
}
