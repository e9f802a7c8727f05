package datasets

import (
	"context"
	"path/filepath"
	"slices"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
)

// bank describes Bank Marketing: 41,188 calls of a bank and whether the client subscribed a deposit
// (Moro, Cortez, Rita, "A data-driven approach to predict the success of bank telemarketing",
// Decision Support Systems 62, 2014; bank-additional-full.csv).
//
// Ten numbers are standardised and ten categorical columns become 53 features, 63 features in all.
// "unknown" remains a category of its own. pdays keeps the value 999 for clients who were never
// called before, so after standardising it is mostly a flag for them. The duration of a call, which
// is known only once the outcome is known, remains a feature because published results use it; a
// warning says so.
func bank() Dataset {
	const member = "bank-additional/bank-additional-full.csv"
	d := Dataset{
		Name:        "bank",
		Description: "calls of a bank, 41,188 rows; groups 25<=age<60 and the rest",
		Classes:     bankClasses,
		Features:    63,
		Files: []File{{
			Path:   "bank/bank-additional-full.csv",
			Size:   5834924,
			SHA256: "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
			URLs:   []string{"https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank-additional.zip"},
			Zipped: member,
		}},
	}
	d.table = func(_ context.Context, dir string, opts tabular.TableOptions) (*loader.Source, error) {
		s, err := readBank(filepath.Join(dir, filepath.FromSlash(d.Files[0].Path)), opts.Attributes)
		if err != nil {
			return nil, err
		}
		out, err := bankDesign().Table(s, opts)
		if err == nil && !slices.Contains(opts.Ignore, "duration") {
			out.Warnings = append(out.Warnings, "The feature duration leaks the target: a call's length is known only once its outcome is known, so it "+
				"lowers the errors on held-out rows. For a model that predicts, ignore the column (--ignore duration).")
		}
		return out, err
	}
	return d
}

var bankClasses = []string{"y=no", "y=yes"}

func readBank(path string, attributes []string) (*columnar.Sheet, error) {
	design := bankDesign()
	label := columnar.ColumnSpec{Name: design.Label, Categories: []string{"no", "yes"}}
	return columnar.ReadSheetFile(path, &columnar.Schema{Layout: tabular.Layout{Separator: ";"}, Columns: append(design.Specs(), label), Attributes: attributes})
}

func bankDesign() *loader.Design {
	return &loader.Design{
		Label: "y", Positive: "yes", Classes: bankClasses,
		Groups: []string{"25<=age<60"},
		Encodings: []tabular.Encoding{
			{Column: "age"},
			{Column: "job", Categories: []string{"admin.", "blue-collar", "entrepreneur", "housemaid", "management", "retired",
				"self-employed", "services", "student", "technician", "unemployed", "unknown"}},
			{Column: "marital", Categories: []string{"divorced", "married", "single", "unknown"}},
			{Column: "education", Categories: []string{"basic.4y", "basic.6y", "basic.9y", "high.school", "illiterate",
				"professional.course", "university.degree", "unknown"}},
			{Column: "default", Categories: []string{"no", "unknown", "yes"}},
			{Column: "housing", Categories: []string{"no", "unknown", "yes"}},
			{Column: "loan", Categories: []string{"no", "unknown", "yes"}},
			{Column: "contact", Categories: []string{"cellular", "telephone"}},
			{Column: "month", Categories: []string{"apr", "aug", "dec", "jul", "jun", "mar", "may", "nov", "oct", "sep"}},
			{Column: "day_of_week", Categories: []string{"fri", "mon", "thu", "tue", "wed"}},
			{Column: "duration"},
			{Column: "campaign"},
			{Column: "pdays"},
			{Column: "previous"},
			{Column: "poutcome", Categories: []string{"failure", "nonexistent", "success"}},
			{Column: "emp.var.rate"},
			{Column: "cons.price.idx"},
			{Column: "cons.conf.idx"},
			{Column: "euribor3m"},
			{Column: "nr.employed"},
		},
	}
}
