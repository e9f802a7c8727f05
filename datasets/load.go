package datasets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// LoadTable reads the named table from the data directory dir, splits it and prepares its features.
//
// The split is drawn from the seed within strata: rows of the same class and the same group, or of
// the same class if groups overlap. Each split gets its share of each stratum, and the same seed
// and groups give the same rows. Numbers are standardised with the mean and the standard deviation
// of the training rows, and groups by quantile use the quantiles of the training rows: held-out
// rows do not influence training.
//
// Errors are *FileError if a file is the cause, or wrap ErrKind, ErrOption, ErrSplit, ErrColumn,
// ErrGroup, or ErrEmpty if a class or a group has no rows in the training, validation or test rows
// (overlapping groups may be empty in held-out rows).
func LoadTable(dir, name string, opts tabular.TableOptions) (*tabular.Tables, error) {
	return LoadTableContext(context.Background(), dir, name, opts)
}

// LoadTableContext calls LoadTable. Reading the user's own files ends with the context's error once
// the context is cancelled.
func LoadTableContext(ctx context.Context, dir, name string, opts tabular.TableOptions) (*tabular.Tables, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if !d.Tabular() {
		return nil, fmt.Errorf("datasets: %w: %s is a set of pictures, want a table", dataerr.ErrKind, name)
	}
	if name == Pictures {
		opts.Label = cmp.Or(opts.Label, recordio.FolderClass)
	}
	given := opts.Split
	opts.Split = opts.SplitOrDefault()
	if err := checkOptions(&opts, d); err != nil {
		return nil, err
	}
	if err := checkRanking(&opts, d, given); err != nil {
		return nil, err
	}
	s, err := d.table(ctx, dir, opts)
	if err != nil {
		return nil, d.advise(err)
	}
	s.Name = name
	t, err := s.Split(opts)
	if err == nil && t.Pictures != nil && !opts.Unread {
		err = readPictures(ctx, t)
	}
	return t, err
}

// checkOptions returns an error if an option does not apply to the data set or a required option is
// missing.
func checkOptions(o *tabular.TableOptions, d Dataset) error {
	if err := o.Split.Check(); err != nil {
		return err
	}
	for _, option := range []struct {
		name  string
		given bool
		has   bool
	}{
		{"your own file", o.File != "", d.Own},
		{"a choice of classes", o.Classes != nil, d.Own},
		{"a table beside the file", o.JoinFile != "" || o.Key != "", d.Own && !d.Sparse},
		{"a label", o.Label != "", d.Own && !d.Sparse},
		{"categorical columns", len(o.Categorical) > 0, d.Own && !d.Sparse},
		{"a list of features", len(o.Features) > 0, d.Own && !d.Sparse},
		{"a choice for missing values", o.Missing != "", d.Own && !d.Sparse},
		{"a choice for dates", o.Dates != "", d.Own && !d.Sparse},
		{"a decimal sign", o.Decimal != "", d.Own && !d.Sparse},
		{"a separator", o.Separator != 0, d.Own && !d.Sparse},
		{"names of columns", o.Columns != nil || o.Header != "", d.Own && !d.Sparse},
		{"lines to skip", o.Skip != 0, d.Own && !d.Sparse},
		{"a choice for quotes", o.Quote != "", d.Own && !d.Sparse},
		{"texts of missing values", o.MissingValues != nil, d.Own && !d.Sparse},
		{"indices from 0", o.ZeroBased, d.Own && d.Sparse},
		{"a test file", o.TestFile != "", d.Own && !d.Sparse},
		{"a choice for unknown categories", o.Unknown != "", d.Own && !d.Sparse},
		{"a split column", o.SplitColumn != "", d.Own && !d.Sparse},
	} {
		if option.given && !option.has {
			return fmt.Errorf("datasets: %w: %s does not take %s", dataerr.ErrOption, d.Name, option.name)
		}
	}
	if d.Own && !d.Sparse && o.Label == "" && !tabular.NamesArchive(o.File) {
		return fmt.Errorf("datasets: %w: %s needs the label's column", dataerr.ErrOption, d.Name)
	}
	for _, choice := range []struct {
		name, value string
		allowed     []string
	}{
		{"Missing", o.Missing, []string{"", tabular.MissingRefused, tabular.MissingImputed, tabular.MissingDropped, tabular.MissingFlagged}},
		{"Dates", o.Dates, []string{"", tabular.DatesRefused, tabular.DatesExpanded, tabular.DatesDayFirst, tabular.DatesMonthFirst}},
		{"Decimal", o.Decimal, []string{"", tabular.DecimalAuto, tabular.DecimalPoint, tabular.DecimalComma}},
		{"Header", o.Header, []string{"", tabular.HeaderFirst, tabular.HeaderNone}},
		{"Quote", o.Quote, []string{"", tabular.QuoteDouble, tabular.QuoteNone}},
		{"Unknown", o.Unknown, []string{"", tabular.UnknownRefused, tabular.UnknownIgnored}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return fmt.Errorf("datasets: %w: %s is %q, want one of %s", dataerr.ErrOption, choice.name, choice.value, textvalue.Listed(choice.allowed[1:], 10))
		}
	}
	switch {
	case o.Key != "" && o.JoinFile == "":
		return fmt.Errorf("datasets: %w: --key needs the table that has this column (--table FILE)", dataerr.ErrOption)
	case o.TestFile != "" && o.SplitColumn != "":
		return fmt.Errorf("datasets: %w: a test file and a split column exclude each other", dataerr.ErrOption)
	case o.TestFile != "" && o.Split.Test > 0:
		return fmt.Errorf("datasets: %w %v: the test rows are in a file of their own, so the third percentage must be 0, as in %v",
			dataerr.ErrSplit, o.Split, tabular.SplitWithTestFile)
	}
	return checkOwnFile(o, d)
}

// checkRanking returns an error if an option of rankings does not apply, and sets the data set's
// own query and relevance. split is the split that the caller gave.
func checkRanking(o *tabular.TableOptions, d Dataset, split tabular.Split) error {
	if d.Ranks() {
		o.Query, o.Relevant = cmp.Or(o.Query, tabular.QueryID), cmp.Or(o.Relevant, strconv.Itoa(*d.Relevant))
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("datasets: %w: %s", dataerr.ErrOption, fmt.Sprintf(format, args...))
	}
	switch {
	case o.Query != "" && (!d.Own || d.Name == Pictures) && !d.Ranks():
		return wrong("the data set %s has no queries: leave out --query", d.Name)
	case o.Query != "" && o.Query != tabular.QueryID && (d.Sparse || d.Ranks()):
		return wrong("--query %s: the data set %s supports only --query %s", o.Query, d.Name, tabular.QueryID)
	case o.Relevant != "" && o.Query == "":
		return wrong("--relevant needs --query")
	case o.Query != "" && o.Classes != nil:
		return wrong("--query and --classes exclude each other")
	case o.Fold != 0 && d.Folds == 0:
		return wrong("the data set %s has no folds: leave out --fold", d.Name)
	case o.Fold < 0 || o.Fold > d.Folds:
		return wrong("--fold %d: the data set %s has the folds 1 to %d", o.Fold, d.Name, d.Folds)
	case d.Ranks() && split != tabular.Split{}:
		return wrong("the data set %s has its own training, validation and test rows: leave out --split", d.Name)
	}
	if o.Relevant != "" {
		if _, _, err := loader.ParseRelevant(o.Relevant); err != nil {
			return wrong("--relevant %v", err)
		}
	}
	return nil
}

// checkOwnFile returns an error if the options name no file for a user's data set.
func checkOwnFile(o *tabular.TableOptions, d Dataset) error {
	if d.Own && o.File == "" {
		return fmt.Errorf("datasets: %w: %s needs the path of a file", dataerr.ErrOption, d.Name)
	}
	return checkPictures(o, d)
}
