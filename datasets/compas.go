package datasets

import (
	"context"
	"math"
	"path/filepath"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
)

// compas describes COMPAS: defendants of Broward County and whether they were charged again within
// two years (Angwin, Larson, Mattu, Kirchner, "Machine bias", ProPublica, 2016;
// compas-scores-two-years.csv).
//
// The publisher's own filter keeps 6,172 of 7,214 rows; see compasFilter. The 16 features are age,
// two juvenile counts, other juvenile charges and priors, standardised; sex (male) and the degree
// of the charge (felony), one feature each; three age bands and six races.
func compas() Dataset {
	d := Dataset{
		Name:        "compas",
		Description: "defendants charged again within two years, 6,172 rows; groups race=African-American and the rest",
		Classes:     compasClasses,
		Features:    16,
		Filter:      "the publisher's filter keeps 6,172 of the 7,214 rows of its file",
		Files: []File{{
			Path:   "compas/compas-scores-two-years.csv",
			Size:   2546489,
			SHA256: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
			URLs:   []string{"https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv"},
		}},
	}
	d.table = func(_ context.Context, dir string, opts tabular.TableOptions) (*loader.Source, error) {
		s, err := readCompas(filepath.Join(dir, filepath.FromSlash(d.Files[0].Path)), opts.Attributes)
		if err != nil {
			return nil, err
		}
		return compasDesign().Table(s, opts)
	}
	return d
}

var compasClasses = []string{"two_year_recid=0", "two_year_recid=1"}

func compasDesign() *loader.Design {
	return &loader.Design{
		Layout: tabular.Layout{Separator: ",", Repeated: []string{"decile_score", "priors_count"}},
		Label:  "two_year_recid", Positive: "1", Classes: compasClasses,
		Groups: []string{"race=African-American"},
		Encodings: []tabular.Encoding{
			{Column: "sex", Categories: []string{"Female", "Male"}, Levels: []string{"Male"}},
			{Column: "age"},
			{Column: "age_cat", Categories: []string{"Less than 25", "25 - 45", "Greater than 45"}},
			{Column: "race", Categories: []string{"African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"}},
			{Column: "juv_fel_count"},
			{Column: "juv_misd_count"},
			{Column: "juv_other_count"},
			{Column: "priors_count"},
			{Column: "c_charge_degree", Categories: []string{"F", "M"}, Levels: []string{"F"}},
		},
	}
}

// compasFilter lists the columns of the row filter. A row is kept if the row meets four conditions.
// The arrest is within 30 days of the screening, so that the arrest is probably the reason for the
// screening. The defendant has a record (is_recid is not -1). The charge is not an ordinary traffic
// offence (O). The defendant has a score.
var compasFilter = []columnar.ColumnSpec{
	{Name: "days_b_screening_arrest", Numeric: true, Missing: true},
	{Name: "is_recid", Categories: []string{"-1", "0", "1"}},
	{Name: "score_text", Categories: []string{"Low", "Medium", "High", "N/A"}},
}

// readCompas reads the columns of the features and of the attributes. It keeps the rows that pass
// the filter. The header repeats two names; their columns are equal.
func readCompas(path string, attributes []string) (*columnar.Sheet, error) {
	design := compasDesign()
	columns := append(design.Specs(), columnar.ColumnSpec{Name: design.Label, Categories: []string{"0", "1"}})
	for i := range columns {
		if columns[i].Name == "c_charge_degree" {
			columns[i].Categories = append(columns[i].Categories, "O")
		}
	}
	s, err := columnar.ReadSheetFile(path, &columnar.Schema{
		Layout: design.Layout, Absent: []string{""}, Columns: append(columns, compasFilter...), Attributes: attributes,
	})
	if err != nil {
		return nil, err
	}
	days, charge := s.Column("days_b_screening_arrest"), s.Column("c_charge_degree")
	recorded, score := s.Column("is_recid"), s.Column("score_text")
	return s.Filter(func(i int) bool {
		return math.Abs(days.Numbers[i]) <= 30 && recorded.Text(i) != "-1" && charge.Text(i) != "O" && score.Text(i) != "N/A"
	}), nil
}
