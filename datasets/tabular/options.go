package tabular

import (
	"strings"
)

// TableOptions configures the loading of a table. The zero value loads data sets that have their
// own files.
type TableOptions struct {
	Seed      uint64 // seed of the split, and of the rows of a synthetic table
	SplitSeed uint64 // seed of the split; 0: Seed
	Split     Split  // zero: DefaultSplit, or SplitWithTestFile

	// Groups are conditions on columns (race=Caucasian, 25<=age<60), or features' numbers or names
	// for sparse tables; empty: the data set's own groups. One condition makes two groups: the rows
	// that meet the condition, and the rest. Several conditions make one group each. A column's
	// name makes one group for each value of the column.
	Groups []string
	// Attributes are columns, or conditions on columns, to keep beside the features; see
	// Table.Attributes. The columns may also be features, and may have missing values. Attributes
	// do not influence the split, so runs with different constraints have the same rows. In Adult
	// the columns are the columns of the census (sex, race, ...); in LIBSVM files they are
	// features' numbers.
	Attributes []string
	// Values are categories, such as Female. Each column of features that has one of the values as
	// a category, without regard to case, becomes an attribute, too. A value that a class or one of
	// Attributes has makes no attribute.
	Values []string
	// DropSensitive leaves the columns that determine the groups and the attributes out of the
	// features: the columns of the conditions; for sparse tables also features that determine a
	// group, and for Adult all features of the same block. With Attributes and without Groups,
	// DropSensitive ignores the data set's own groups.
	DropSensitive bool
	// Ignore names columns to exclude from the features.
	Ignore []string

	// Options for rankings, whose rows are documents of queries. The splits have whole queries.

	// Query is the column with the query of each row; QueryID for rows in LIBSVM format and for
	// data sets for rankings. "": the data set's own queries, or no queries.
	Query string
	// Relevant is the largest grade of a document that is not relevant, as a text, or EachGrade: a
	// higher grade comes before every lower grade. "": the data set's own, else EachGrade.
	Relevant string
	Fold     int // the fold of a data set with folds, from 1; 0: 1

	// Options for the user's own files: the data sets csv and libsvm.

	File string // path of the user's file; StandardInput: standard input

	// Options for the data set csv.

	// JoinFile is the path of a table with a row for each row of File, which must be a file of arrays
	// (.npy, .npz). The table has the label, groups and the like. Its columns are features only if
	// Features names them. "": File has all columns.
	JoinFile string
	// Key is the column of the table JoinFile that joins each of its rows to a row of the arrays: by
	// the values of the array with the same name in File, or by the number of the row from 0. The
	// data then have the rows of the table, in the order of the table. "": row i of the table
	// belongs to row i of the arrays.
	Key string
	// Label is the label's column, or a condition that the rows of class +1 meet: column=value,
	// column!=value, column>=number. A column with three or more values gives a class for each
	// value. "": y, if File is an archive of arrays.
	Label string
	// Weight is the column with the weight of each row, a number of at least 0: rates and objectives
	// count weights. A row of weight 0 is left out. "": each row has the weight 1.
	Weight string
	// Classes are values of the label, in the order of the classes. The rows of other values are
	// left out. nil: all values.
	Classes     []string
	Features    []string // the only columns to make features of; empty: all columns that are not ignored
	Categorical []string // categorical columns whose values look like numbers
	Raw         []string // columns of numbers that are not standardised, such as the scores of a model
	Missing     string   // MissingRefused (also ""), MissingImputed, MissingDropped or MissingFlagged
	Dates       string   // DatesRefused (also ""), DatesExpanded, DatesDayFirst or DatesMonthFirst
	Decimal     string   // DecimalAuto (also ""), DecimalPoint or DecimalComma
	Separator   rune     // field separator; 0: detect it
	Header      string   // HeaderFirst (also "") or HeaderNone
	Columns     []string // names of the columns, which no line of the file has; nil: see Header
	Skip        int      // number of lines before the first line of the table
	Quote       string   // QuoteDouble (also "") or QuoteNone
	// MissingValues are the texts that mark a missing value, besides an empty field. nil: ?, NA,
	// NaN, null and the like.
	MissingValues []string
	// TestFile is the path of a file with the test rows. LoadTable prepares the test rows in the
	// same way as the rows of File. All rows of File are training and validation rows.
	TestFile string
	// Unknown says how to treat a category that occurs in TestFile but not in File: UnknownRefused
	// (also "") or UnknownIgnored.
	Unknown string
	// Folds divides the training rows into this number of parts with about the same share of each
	// class and group. The part Held, from 1, has the validation rows of the table, and the other
	// parts have the training rows. The table leaves out all other rows. 0: no folds.
	Folds, Held int
	// SplitColumn is the column that says to which part a row belongs: train, validation or test.
	// It replaces Split.
	SplitColumn string

	// Options for the data set pictures, whose table names a picture for each row. File is a CSV file,
	// a folder with a folder for each class, or a file of pictures in the IDX format, whose labels are
	// in the file or table JoinFile.

	// Picture is the column with the path of each picture, relative to the folder of the table; "":
	// picture.
	Picture string
	Size    PictureSize // the pictures are resized to this size; zero: their own size
	Color   string      // ColorAuto (also ""), ColorGrey or ColorRGB
	// Unread leaves the pixels unread: Table.Features is a *PictureRows.
	Unread bool

	// Options for the data set libsvm.

	// ZeroBased says that the file counts the features from 0 instead of 1.
	ZeroBased bool

	// Pages receives the values of the columns of a csv file, or the entries of a LIBSVM file, so
	// that a file may be larger than the memory. Table.Features of a csv file then makes features
	// when they are read. nil: memory. Package session sets Pages (session.Device.Memory).
	Pages Pages
	// CheckMemory returns an error if the process has no memory for the given number of bytes. The
	// readers of csv and LIBSVM files without Pages call it with the bytes that the rows read until
	// then need, so that they refuse a file beyond the memory early. nil: no limit.
	CheckMemory func(bytes uint64) error
	// Keep keeps the values in Pages for later processes. nil: the values disappear with the
	// process.
	Keep *Keep
	// Share divides the rows of a csv or LIBSVM file among processes: each keeps the features of
	// its own rows alone. Table.Features is then a *matrix.Part or a *matrix.SparsePart. A LIBSVM
	// file with many nonzero elements, and one with DropSensitive, has all rows in all processes.
	// nil: this process keeps all rows.
	Share Share
}

// NamesArchive reports whether the ending of a path is that of an archive of arrays, plain or gzip.
func NamesArchive(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".npz")
}

// OwnFiles returns the paths of the user's files.
func (o *TableOptions) OwnFiles() []string {
	files := []string{o.File}
	for _, path := range []string{o.JoinFile, o.TestFile} {
		if path != "" {
			files = append(files, path)
		}
	}
	return files
}

// SplitOrDefault returns Split, or its default.
func (o *TableOptions) SplitOrDefault() Split {
	switch {
	case o.Split != Split{}:
		return o.Split
	case o.TestFile != "":
		return SplitWithTestFile
	}
	return DefaultSplit
}

// The choices of TableOptions.Missing.
const (
	MissingRefused = "refuse" // a missing value is an error
	MissingImputed = "impute" // replace it by the mean, and add an indicator
	MissingDropped = "drop"   // leave out the row
	MissingFlagged = "flag"   // as impute, and "missing" is a value of groups and attributes
)

// The choices of TableOptions.Dates.
const (
	DatesRefused    = "refuse"      // a column of dates is an error
	DatesExpanded   = "expand"      // a date becomes numbers: day, month, weekday, hour
	DatesDayFirst   = "day-first"   // as expand; 3/4/2020 is 3 April
	DatesMonthFirst = "month-first" // as expand; 3/4/2020 is 4 March
)

// The choices of TableOptions.Decimal.
const (
	DecimalAuto  = "auto"  // detect the sign; refuse numbers with two readings
	DecimalPoint = "point" // 1,234 is 1234
	DecimalComma = "comma" // 1,234 is 1.234
)

// The choices of TableOptions.Unknown.
const (
	UnknownRefused = "refuse" // a category without training rows is an error
	UnknownIgnored = "ignore" // a category without training rows counts as no category
)

// Pages are the files that session.Device.Memory keeps rows in. The loaders know only the files of
// package session: with another implementation, the rows are in memory.
type Pages interface {
	// Bytes returns the size of the files.
	Bytes() int64
}

// Keep says where a process with TableOptions.Pages keeps the values of a csv file's columns, or
// the entries of a LIBSVM file, for later processes. A later process with the same file and the
// same columns does not parse the rows.
//
// The name of the kept file depends on the table's path and on the options that determine how rows
// are read, but not on the split, the seed and the centres of the features. If a kept file is
// damaged, or if the table has changed, the kept file is replaced.
type Keep struct {
	// Folder is the directory of the kept files. The directory is made if it does not exist.
	Folder string
	// SHA256 returns the checksum of TableOptions.File, in hexadecimal.
	SHA256 func() (string, error)
}
