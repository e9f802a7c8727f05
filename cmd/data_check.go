package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/config"
)

// errDiffers says that files differ from the published files.
var errDiffers = errors.New("files differ from the published files")

func (a *app) dataCheckCommand(opts *dataOptions) *cobra.Command {
	values := config.Values{}
	cmd := oneDataset(&cobra.Command{
		Use:   "check [NAME]",
		Short: "Compare a data set's files with the published files, and count its rows",
		Long: `Check compares a data set's files with the published checksums and counts its rows. For a table it counts the rows of each
class and group in the training, validation and test rows, and says what each column became. The flags are those of train.
The exit status is 1 if published files are missing, cannot be read, or differ from the published files. train accepts files
that differ.`,
		Example: `  ppal data check fashion-mnist
  ppal data check compas --group race=Caucasian --drop-sensitive
  ppal data check --file people.csv --label 'income=>50K' --group 'age<25' --missing impute
  ppal data check libsvm --file people.txt --group 72`,
		RunE: a.command(func(cmd *cobra.Command, args []string) error {
			dir, err := datasets.Dir(opts.dir, a.getenv)
			if err != nil {
				return err
			}
			name, err := checked(cmd, args)
			if err != nil {
				return err
			}
			set, err := tableOptions(cmd, values, name)
			if err != nil {
				return err
			}
			report, err := datasets.Check(cmd.Context(), dir, name, set)
			if report != nil {
				if printErr := printReport(printing{a.stdout}, report); err == nil {
					err = printErr
				}
			}
			if d, _ := datasets.Lookup(name); errors.Is(err, fs.ErrNotExist) && !d.Own {
				return failure{err} // the command asks whether the files exist
			}
			if err != nil {
				return err
			}
			for _, f := range report.Files {
				if f.State == datasets.Different {
					return fmt.Errorf("%s in %s: %w; get the published files with `ppal data fetch %s`", name, dir, errDiffers, name)
				}
			}
			return nil
		}),
	})
	cmd.Args = cobra.MaximumNArgs(1)
	addLoadingFlags(cmd, values)
	return cmd
}

// checked returns the name of the data set: as for train, --file alone means csv.
func checked(cmd *cobra.Command, args []string) (string, error) {
	switch given := cmd.Flags().Changed("file"); {
	case len(args) == 1:
		return args[0], nil
	case given:
		return "csv", nil
	}
	return "", usage{errors.New("data check: name a data set (ppal data list), or give --file FILE")}
}

func printReport(out io.Writer, r *datasets.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range r.Files {
		size := megabytes(f.Size)
		if f.State == datasets.Missing {
			size = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.File.Path, f.State, size, f.Note)
	}
	if r.Train != nil && r.Test != nil {
		if len(r.Files) > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, "class\ttraining rows\ttest rows")
		for i, name := range r.Dataset.Classes {
			fmt.Fprintf(w, "%d %s\t%d\t%d\n", i, name, r.Train.PerClass[i], r.Test.PerClass[i])
		}
		fmt.Fprintf(w, "all\t%d\t%d\n", r.Train.Rows, r.Test.Rows)
	}
	if r.Tables != nil {
		if len(r.Files) > 0 {
			fmt.Fprintln(w)
		}
		printTables(w, r.Tables)
		if err := w.Flush(); err != nil {
			return err
		}
		printUses(func(text string) { fmt.Fprintf(out, "\n%s\n", text) }, r.Tables.Uses)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		if _, err := fmt.Fprintf(out, "warning: %s\n", warning); err != nil {
			return err
		}
	}
	return nil
}
