package datasets

import (
	"context"

	"ppal/datasets/tabular"
	"ppal/internal/loader"
)

// The names of the data sets of a user's own file.
const (
	CSV    = "csv"
	LIBSVM = "libsvm"
)

// ownCSV describes a user's file: text of separated fields with the columns' names in the first
// line, or a Parquet file.
func ownCSV() Dataset {
	return Dataset{
		Name:        CSV,
		Description: "your own file, with the columns' names in its first line; - is standard input",
		Own:         true,
		table: func(ctx context.Context, _ string, opts tabular.TableOptions) (*loader.Source, error) {
			return loader.UserCSV(ctx, opts)
		},
	}
}

// ownLIBSVM describes a user's file in LIBSVM's format.
func ownLIBSVM() Dataset {
	return Dataset{
		Name:        LIBSVM,
		Description: "your own file in LIBSVM's format; groups by feature number",
		Own:         true,
		Sparse:      true,
		table: func(ctx context.Context, _ string, opts tabular.TableOptions) (*loader.Source, error) {
			return loader.UserLIBSVM(ctx, opts)
		},
	}
}
