package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/session"
)

func (d *Data) options() []*option.Option {
	tables, pictures := onTables(), onPictures()
	csv := option.If(option.NameDataset, "csv")
	return []*option.Option{
		option.Choice(option.NameProblem, &d.Problem,
			"choose what is bounded: mnpc: the losses of all classes but the first, multi-class Neyman-Pearson; dp, eo: the gaps between"+
				" two groups' rates, demographic parity and equalized odds; if: how much worse any group fares than all rows; rates, class-rates:"+
				" what --subject-to says, of tables and of pictures (a table or --subject-to implies them)",
			option.Problems()...).As("NAME").Reserve("ranking"),
		option.Choice(option.NameDataset, &d.Dataset, "choose the data set; ppal data list describes them", datasetNames()...).As("NAME").
			Or("synthetic").
			For("synthetic-adult", option.Problem(option.DemographicParity, option.EqualizedOdds, option.Rates)).For("synthetic-communities", option.Problem(option.Intersectional)).
			Reserve("mslr", "mq2008"),
		option.Text("data-dir", &d.DataDir, "DIR", "find the data sets' files here").
			OrRule("$PPAL_DATA, else the user's cache directory", none),
		option.Text("file", &d.File, "FILE", "read this file, plain or gzip; - is standard input; implies --dataset csv").With(option.If(option.NameDataset, "csv", "libsvm")),
		option.Text("label", &d.Label, "COLUMN[=VALUE]",
			"name the label's column, or the condition that positive rows meet: pay=high, mass>=4000, marital!=married; a column with three or"+
				" more values gives a class for each value").With(csv),
		option.Names("group", &d.Group, "CONDITION[,...]",
			"form groups by columns: race=White or race!=White against the rest, 25<=age<60, or a column's name for a group of each value;"+
				" libsvm: a feature's number; may be repeated").OrRule("the data set's own", none).With(tables),
		option.Names("categorical", &d.Categorical, "COLUMN[,...]", "read these columns as categories although they hold numbers").With(csv),
		option.Names("ignore", &d.Ignore, "COLUMN[,...]", "exclude these columns from the features").With(tables),
		option.Names("features", &d.Features, "COLUMN[,...]", "make features of these columns only").With(csv),
		option.Choice("missing", &d.Missing, "refuse missing values; impute the mean and add an indicator column; drop the rows; or flag:"+
			" impute, and make missing a value of groups", datasets.MissingRefused, datasets.MissingImputed, datasets.MissingDropped, datasets.MissingFlagged).
			With(csv),
		option.Choice("dates", &d.Dates, "refuse columns of dates, or expand a date into day, month, weekday and hour; day-first and month-first"+
			" expand too, and say how to read 3/4/2020", datasets.DatesRefused, datasets.DatesExpanded, datasets.DatesDayFirst, datasets.DatesMonthFirst).As("HOW").With(csv),
		option.Choice("decimal", &d.Decimal, "set the decimal sign of numbers; auto detects it",
			datasets.DecimalAuto, datasets.DecimalPoint, datasets.DecimalComma).With(csv),
		option.Custom("separator", "CHAR", d.setSeparator, func() string { return d.Separator },
			"set the character between fields, or tab; one or more blanks: \" \"; auto detects it", "auto", "tab").Or("auto").With(csv),
		option.Choice("header", &d.Header, "first: the first line has the columns' names; none: no line has them, and they are column 1, column 2, ...",
			datasets.HeaderFirst, datasets.HeaderNone).OrRule("first; with --columns: none", d.defaultHeader, "columns").With(csv),
		option.Names("columns", &d.Columns, "NAME[,...]", "name the columns of a file in which no line has their names").OrRule("as --header says", none).With(csv),
		option.Count("skip", &d.Skip, option.AtLeast(0), "leave out the first N lines of the file").Or("0").In("lines").With(csv),
		option.Choice("quote", &d.Quote, "double: a field may stand in double quotes; none: a quote is an ordinary character",
			datasets.QuoteDouble, datasets.QuoteNone).With(csv),
		option.Names("missing-values", &d.MissingValues, "TEXT[,...]", "treat these texts and empty fields as missing values").
			OrRule("?, NA, NaN, null and the like", none).With(csv),
		option.Switch("zero-based", &d.ZeroBased, "count the features of the file from 0 instead of 1").With(option.If(option.NameDataset, "libsvm")),
		option.Switch("drop-sensitive", &d.DropSensitive, "exclude the columns that determine the groups from the features").With(tables),
		option.Custom("split", "70/15/15", d.setSplit, func() string { return d.Split },
			"set the percentages of training, validation and test rows; pictures have their own test rows, and 90/10/0 takes validation rows"+
				" from the others").
			OrRule(fmt.Sprintf("%v; with --test-file: %v", datasets.DefaultSplit, datasets.SplitWithTestFile), d.defaultSplit, "test-file").
			For("100/0/0", pictures),
		option.Custom("split-seed", "N", d.setSplitSeed, d.splitSeed, "draw the splits from this seed, and not from --seed").OrRule("--seed", none),
		option.Text("test-file", &d.TestFile, "FILE", "read the test rows from this file, and prepare them as the rows of --file").Or("").With(csv),
		option.Text("split-column", &d.SplitColumn, "COLUMN", "read the split of each row from this column: train, validation or test").Or("").With(csv),
		option.Choice("unknown", &d.Unknown, "refuse categories that only the test file has, or ignore them", datasets.UnknownRefused, datasets.UnknownIgnored).
			With(csv),
		option.Count("rows-per-class", &d.RowsPerClass, option.AtLeast(0), "train on the first N rows of each class; 0: all rows").
			Or("0").With(pictures),
		option.Choice("normalize", &d.Normalize, "transform the pixels before training",
			models.NormalizeNone, models.NormalizeCenter, models.NormalizeStandardize).
			Or(string(session.DefaultNormalize)).For("none", option.Paper()).With(pictures),
	}
}

func datasetNames() []string { return namesOf(func(datasets.Dataset) bool { return true }) }

// namesOf returns the names of the data sets for which is returns true.
func namesOf(is func(d datasets.Dataset) bool) []string {
	var names []string
	for _, d := range datasets.All() {
		if is(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// onTables is the condition that the data set is a table.
func onTables() option.Condition {
	return option.If(option.NameDataset, namesOf(datasets.Dataset.Tabular)...).Called("tables")
}

// onPictures is the condition that the data set holds pictures.
func onPictures() option.Condition {
	return option.If(option.NameDataset, namesOf(func(d datasets.Dataset) bool { return !d.Tabular() })...).Called("pictures")
}

func (d *Data) setSeparator(text string) error {
	if text != "" && strings.Trim(text, " ") == "" {
		text = " " // a blank stands for one or more
	}
	if text != "auto" && text != "tab" && utf8.RuneCountInString(text) != 1 {
		return errors.New("must be one character, tab or auto")
	}
	d.Separator = text
	return nil
}

// SeparatorRune is the separator, 0 for auto.
func (t *Train) SeparatorRune() rune {
	switch t.Separator {
	case "", "auto":
		return 0
	case "tab":
		return '\t'
	}
	r, _ := utf8.DecodeRuneInString(t.Separator)
	return r
}

// defaultHeader is the value of --header if none is given.
func (d *Data) defaultHeader() string {
	if d.Columns != nil {
		return datasets.HeaderNone
	}
	return datasets.HeaderFirst
}

func (d *Data) setSplit(text string) error {
	if _, err := datasets.ParseSplit(text); err != nil {
		return errors.New("must be percentages that add up to 100, the first above 0, as in 70/15/15")
	}
	d.Split = text
	return nil
}

// defaultSplit is the split of a table if none is given.
func (d *Data) defaultSplit() string {
	if d.TestFile != "" {
		return datasets.SplitWithTestFile.String()
	}
	return datasets.DefaultSplit.String()
}

func (d *Data) setSplitSeed(text string) error {
	if text == "" {
		d.SplitSeed = 0
		return nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed == 0 {
		return errors.New("must be a whole number, at least 1")
	}
	d.SplitSeed = seed
	return nil
}

// splitSeed is the text of the split's own seed; "" if the run's seed draws the splits.
func (d *Data) splitSeed() string {
	if d.SplitSeed == 0 {
		return ""
	}
	return strconv.FormatUint(d.SplitSeed, 10)
}
