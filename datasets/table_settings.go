package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/option"
	"ppal/internal/recordio"
)

// Names returns the names of the data sets for which is returns true; nil: of all.
func Names(is func(d Dataset) bool) []string {
	var names []string
	for _, d := range all() {
		if is == nil || is(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// PictureSets returns the names of the published sets of pictures.
func PictureSets() []string { return Names(func(d Dataset) bool { return !d.Tabular() }) }

// onPictures is the condition that a run's data set holds published pictures.
func onPictures() option.Condition { return option.OnDataSet("pictures", PictureSets()...) }

// none is the default of a text that the program replaces where it uses the text.
func none() string { return "" }

func init() { option.Describe(tableSettings) }

// tableSettings returns the settings of tables, bound to the fields of o: the flags of ppal train.
// The last is the choice of the classes.
func tableSettings(o *tabular.TableOptions) []*option.Option {
	tables := option.OnDataSet("tables", Names(Dataset.Tabular)...)
	csv, libsvm, pictures := option.If(option.NameDataset, CSV), option.If(option.NameDataset, LIBSVM), option.If(option.NameDataset, Pictures)
	texts := option.If(option.NameDataset, CSV, Pictures)
	columns := option.If(option.NameDataset, Names(func(d Dataset) bool { return d.Tabular() && d.Name != Pictures })...).Called("tables of features")
	ranked := option.If(option.NameDataset, Names(func(d Dataset) bool { return d.Own && d.Name != Pictures || d.Ranks() })...)
	list := []*option.Option{
		option.Text("file", &o.File, "FILE", "read this table or these arrays of NumPy, plain or gzip (- is standard input), or these pictures: a folder with a folder"+
			" for each class, or an IDX file; implies --dataset csv or pictures").
			With(option.If(option.NameDataset, slices.Concat(texts.Values, libsvm.Values)...)),
		option.Text("picture", &o.Picture, "COLUMN", "read the path of each picture (PNG or JPEG) from this column of --file, relative to the folder of the file; implies --dataset pictures").
			Or(recordio.FolderPicture).With(pictures),
		option.Custom("size", "HEIGHTxWIDTH", setSize(o), func() string { return o.Size.String() },
			"resize the pictures to this size by area averaging, such as 64x64; the ratio of the sides may change").OrRule("the size of the files, which must be equal", none).With(pictures),
		option.Choice("color", &o.Color, "auto: read luma alone if all files are grey, else red, green and blue; grey and rgb convert", tabular.ColorAuto, tabular.ColorGrey, tabular.ColorRGB).
			With(pictures),
		option.Text("table", &o.JoinFile, "FILE", "read the label, groups and splits of the arrays in --file (.npy, .npz) from this table, which has a row for each row of the arrays; for an IDX file, from this IDX file of labels or table").Or("").With(texts),
		option.Text("key", &o.Key, "COLUMN", "join --table to the arrays, also of --test-file, by this column: its values are those of the array with the same name, or row numbers of --file from 0").OrRule("row by row", none).With(texts),
		option.Text("label", &o.Label, "COLUMN[=VALUE]",
			"name the label's column, or the condition that positive rows meet: pay=high, mass>=4000, marital!=married; a column with three or"+
				" more values gives a class for each value").OrMissing("y of a .npz file, class of a folder or an IDX file, else required", defaultLabel(o), "file").With(texts),
		option.Text("weight", &o.Weight, "COLUMN", "count each row with the weight in this column, a number of at least 0, in the objective, rates, thresholds and intervals; rows of weight 0 are left out").
			OrRule("each row counts once", none).With(csv),
		option.Names("group", &o.Groups, "CONDITION[,...]",
			"form groups by columns: race=White or race!=White against the rest, 25<=age<60, or a column's name for a group of each value;"+
				" libsvm: a feature's number; may be repeated").OrRule("the data set's own", none).With(tables),
		option.Names("categorical", &o.Categorical, "COLUMN[,...]", "read these columns as categories although they hold numbers").With(csv),
		option.Names("ignore", &o.Ignore, "COLUMN[,...]", "exclude these columns from the features").With(columns),
		option.Names("features", &o.Features, "COLUMN[,...]", "make features of these columns only").With(csv),
		option.Choice("missing", &o.Missing, "refuse missing values; impute the mean and add an indicator column; drop the rows; or flag:"+
			" impute, and make missing a value of groups", tabular.MissingRefused, tabular.MissingImputed, tabular.MissingDropped, tabular.MissingFlagged).
			With(texts),
		option.Choice("dates", &o.Dates, "refuse columns of dates, or expand a date into day, month, weekday and hour; day-first and month-first"+
			" expand too, and say how to read 3/4/2020", tabular.DatesRefused, tabular.DatesExpanded, tabular.DatesDayFirst, tabular.DatesMonthFirst).As("HOW").With(csv),
		option.Choice("decimal", &o.Decimal, "set the decimal sign of numbers; auto detects it",
			tabular.DecimalAuto, tabular.DecimalPoint, tabular.DecimalComma).With(texts),
		option.Custom("separator", "CHAR", setSeparator(o), separatorText(o),
			"set the character between fields, or tab; one or more blanks: \" \"; auto detects it", detected, tab).Or(detected).With(texts),
		option.Choice("header", &o.Header, "first: the first line has the columns' names; none: no line has them, and they are column 1, column 2, ...",
			tabular.HeaderFirst, tabular.HeaderNone).OrRule("first; with --columns: none", defaultHeader(o), "columns").With(texts),
		option.Names("columns", &o.Columns, "NAME[,...]", "name the columns of a file in which no line has their names").OrRule("as --header says", none).With(texts),
		option.Count("skip", &o.Skip, option.AtLeast(0), "leave out the first N lines of the file").Or("0").In("lines").With(texts),
		option.Choice("quote", &o.Quote, "double: a field may stand in double quotes; none: a quote is an ordinary character",
			tabular.QuoteDouble, tabular.QuoteNone).With(texts),
		option.Names("missing-values", &o.MissingValues, "TEXT[,...]", "treat these texts and empty fields as missing values").
			OrRule("?, NA, NaN, null and the like", none).With(texts),
		option.Switch("zero-based", &o.ZeroBased, "count the features of the file from 0 instead of 1").With(libsvm),
		queries(o),
		option.Custom("relevant", "N|"+tabular.EachGrade, setRelevant(o), func() string { return o.Relevant },
			"make documents with a grade above N relevant, and the others not; "+tabular.EachGrade+": rank each grade above every lower grade", tabular.EachGrade).
			OrRule("the data set's own, else "+tabular.EachGrade, none).With(ranked),
		option.Count("fold", &o.Fold, option.AtLeast(1), "use the training, validation and test rows of fold K of the data set").Or("1").As("K").
			With(option.If(option.NameDataset, Names(func(d Dataset) bool { return d.Folds > 0 })...)),
		option.Switch("drop-sensitive", &o.DropSensitive, "exclude the columns that determine the groups from the features").With(columns),
	}
	return append(append(list, splitSettings(o)...),
		option.Text("test-file", &o.TestFile, "FILE", "read the test rows from this file, and prepare them as the rows of --file").Or("").With(texts),
		option.Text("split-column", &o.SplitColumn, "COLUMN", "read the split of each row from this column: train, validation or test").OrRule("none; folders train, val and test of pictures are splits", none).With(texts),
		option.Choice("unknown", &o.Unknown, "refuse categories that only the test file has, or ignore them", tabular.UnknownRefused, tabular.UnknownIgnored).
			With(csv),
		classesSetting(o))
}

// queries returns the choice of the queries.
func queries(o *tabular.TableOptions) *option.Option {
	sets := Names(Dataset.Ranks)
	query := option.Text("query", &o.Query, tabular.QueryID+"|COLUMN",
		"read the query of each row from this column, and keep the rows of a query together in the splits; libsvm: qid, the field before the features").
		OrRule("none", none)
	if sets != nil {
		query.For(tabular.QueryID, option.If(option.NameDataset, sets...))
	}
	return query.With(option.If(option.NameDataset, Names(func(d Dataset) bool { return d.Own && d.Name != Pictures || d.Ranks() })...))
}

// setRelevant reads relevant.
func setRelevant(o *tabular.TableOptions) func(text string) error {
	return func(text string) error {
		if text != "" {
			if _, _, err := loader.ParseRelevant(text); err != nil {
				return err
			}
		}
		o.Relevant = text
		return nil
	}
}

// splitSettings returns the settings of the splits, which tables and pictures have.
func splitSettings(o *tabular.TableOptions) []*option.Option {
	split := option.If(option.NameDataset, Names(func(d Dataset) bool { return !d.Ranks() })...).Called("data sets without splits of their own")
	return []*option.Option{
		option.Custom("split", "70/15/15", setSplit(o), func() string { return o.SplitOrDefault().String() },
			"set the percentages of training, validation and test rows; pictures have their own test rows, and 90/10/0 takes validation rows"+
				" from the others").
			OrRule(fmt.Sprintf("%v; with --test-file: %v", tabular.DefaultSplit, tabular.SplitWithTestFile), func() string {
				without := tabular.TableOptions{TestFile: o.TestFile}
				return without.SplitOrDefault().String()
			}, "test-file").
			For(tabular.Split{Train: 100}.String(), onPictures()).With(split),
		option.Custom("split-seed", "N", setSplitSeed(o), splitSeedText(o), "draw the splits from this seed, and not from --seed").OrRule("--seed", none).With(split),
	}
}

// classesSetting returns the choice of the classes, for the user's tables and for pictures.
func classesSetting(o *tabular.TableOptions) *option.Option {
	return option.Names("classes", &o.Classes, "NAME,NAME[,...]", "take these classes, in this order: names or numbers of pictures' classes, or values of your"+
		" own table's label, without the rows of other classes").
		OrRule("all", none).
		With(option.If(option.NameDataset, Names(func(d Dataset) bool { return d.Own || !d.Tabular() })...).Called("pictures or your own table"))
}

// The texts of separator that are no characters.
const (
	detected = "auto"
	tab      = "tab"
)

// setSeparator reads separator. A text of blanks stands for one or more blanks.
func setSeparator(o *tabular.TableOptions) func(text string) error {
	return func(text string) error {
		switch {
		case text == detected:
			o.Separator = 0
		case text == tab:
			o.Separator = '\t'
		case text != "" && strings.Trim(text, " ") == "":
			o.Separator = ' '
		case utf8.RuneCountInString(text) != 1:
			return errors.New("must be one character, tab or auto")
		default:
			o.Separator, _ = utf8.DecodeRuneInString(text)
		}
		return nil
	}
}

// separatorText is the text of separator.
func separatorText(o *tabular.TableOptions) func() string {
	return func() string {
		switch o.Separator {
		case 0:
			return detected
		case '\t':
			return tab
		}
		return string(o.Separator)
	}
}

// defaultHeader is the value of header if none is given.
func defaultHeader(o *tabular.TableOptions) func() string {
	return func() string {
		if o.Columns != nil {
			return tabular.HeaderNone
		}
		return tabular.HeaderFirst
	}
}

// defaultLabel is the name of the labels in an archive of arrays and of pictures, and "" for other
// files.
func defaultLabel(o *tabular.TableOptions) func() string {
	return func() string {
		switch {
		case tabular.NamesArchive(o.File):
			return loader.ArchiveLabel
		case HasPictures(o.File):
			return recordio.FolderClass
		}
		return ""
	}
}

// setSize reads size.
func setSize(o *tabular.TableOptions) func(text string) error {
	return func(text string) (err error) {
		o.Size, err = tabular.ParsePictureSize(text)
		return err
	}
}

// setSplit reads split.
func setSplit(o *tabular.TableOptions) func(text string) error {
	return func(text string) error {
		split, err := tabular.ParseSplit(text)
		if err != nil {
			return errors.New("must be percentages that add up to 100, the first above 0, as in 70/15/15")
		}
		o.Split = split
		return nil
	}
}

// setSplitSeed reads split-seed.
func setSplitSeed(o *tabular.TableOptions) func(text string) error {
	return func(text string) error {
		if text == "" {
			o.SplitSeed = 0
			return nil
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seed == 0 {
			return errors.New("must be a whole number, at least 1")
		}
		o.SplitSeed = seed
		return nil
	}
}

// splitSeedText is the text of the split's own seed; "" if the run's seed draws the splits.
func splitSeedText(o *tabular.TableOptions) func() string {
	return func() string {
		if o.SplitSeed == 0 {
			return ""
		}
		return strconv.FormatUint(o.SplitSeed, 10)
	}
}
