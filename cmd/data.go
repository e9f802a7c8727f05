package cmd

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/datasets"
)

// dataOptions are the flags of the data commands.
type dataOptions struct {
	dir     string
	mirrors []string
}

func (a *app) dataCommand() *cobra.Command {
	opts := &dataOptions{}
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, download and check data sets",
		Example: `  ppal data list
  ppal data fetch fashion-mnist
  ppal data check cifar10 --data-dir ~/data
  ppal data check csv --file people.csv --label 'income=>50K' --group sex=Female`,
		Args: cobra.NoArgs,
		RunE: a.command(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.PersistentFlags().StringVar(&opts.dir, "data-dir", "",
		"look for the files in `DIR` (default $PPAL_DATA, else the user's cache directory)")
	cmd.AddCommand(a.dataListCommand(opts), a.dataFetchCommand(opts), a.dataCheckCommand(opts))
	return cmd
}

func (a *app) dataListCommand(opts *dataOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the data sets",
		Example: "  ppal data list",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			dir, err := datasets.Dir(opts.dir, a.getenv)
			if err != nil {
				dir = "no directory yet: " + err.Error()
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "name\trow\tclasses\tdownload\tdescription")
			for _, d := range datasets.All() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, rowForm(d), classCount(d), downloadSize(d), d.Description)
			}
			fmt.Fprintf(w, "\nThe files are in %s\n", dir)
			return w.Flush()
		}),
	}
}

// rowForm describes one row of the data set.
func rowForm(d datasets.Dataset) string {
	switch {
	case !d.Tabular():
		return "image " + d.Shape.String()
	case d.Own:
		return "any"
	}
	return fmt.Sprintf("%d features", d.Features)
}

func classCount(d datasets.Dataset) string {
	if d.Own {
		return "2 or more"
	}
	return strconv.Itoa(len(d.Classes))
}

func downloadSize(d datasets.Dataset) string {
	if len(d.Files) == 0 {
		return "none"
	}
	return megabytes(totalSize(d.Files))
}

func totalSize(files []datasets.File) int64 {
	total := int64(0)
	for _, f := range files {
		total += f.Size
	}
	return total
}

// megabytes formats a file's size, in kilobytes if it is small.
func megabytes(n int64) string {
	if 0 < n && n < 1e5 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// oneDataset makes the command accept and complete the name of a data set.
func oneDataset(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, d := range datasets.All() {
			if len(args) == 0 {
				names = append(names, d.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}
