package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/option"
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the data sets",
		Example: "  ppal data list\n  ppal data list --json",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			dir, err := datasets.Dir(opts.dir, a.getenv)
			if err != nil {
				dir = "no directory yet: " + err.Error()
			}
			if asJSON {
				return listAsJSON(a.stdout, dir)
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listAsJSON prints the data sets and the directory of their files.
func listAsJSON(w io.Writer, dir string) error {
	type set struct {
		Name        string `json:"name"`
		Row         string `json:"row"`
		Classes     string `json:"classes"`
		Download    string `json:"download"`
		Description string `json:"description"`
	}
	list := struct {
		Directory string `json:"directory"`
		Sets      []set  `json:"data_sets"`
	}{Directory: dir}
	for _, d := range datasets.All() {
		list.Sets = append(list.Sets, set{d.Name, rowForm(d), classCount(d), downloadSize(d), d.Description})
	}
	return printJSON(w, list)
}

// rowForm describes one row of the data set.
func rowForm(d datasets.Dataset) string {
	switch {
	case !d.Tabular():
		return "picture " + d.Shape.String()
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
	switch {
	case len(d.Files) == 0:
		return "none"
	case d.Page != "":
		return "by hand"
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

// checked returns the name of the data set: as for train, --file alone means csv or pictures.
func checked(cmd *cobra.Command, args []string) (string, error) {
	switch file := cmd.Flags().Lookup("file"); {
	case len(args) == 1:
		return args[0], nil
	case file.Changed && (cmd.Flags().Changed("picture") || datasets.HasPictures(file.Value.String())):
		return datasets.Pictures, nil
	case file.Changed:
		return datasets.CSV, nil
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

func (a *app) dataFetchCommand(opts *dataOptions) *cobra.Command {
	cmd := oneDataset(&cobra.Command{
		Use:   "fetch NAME",
		Short: "Download a data set, or continue a download",
		Example: `  ppal data fetch fashion-mnist
  ppal data fetch adult
  ppal data fetch cifar10 --data-dir ~/data --mirror https://example.org/data`,
		RunE: a.command(func(cmd *cobra.Command, args []string) error {
			d, err := datasets.Lookup(args[0])
			if err != nil {
				return err
			}
			if len(d.Files) == 0 && !d.Own {
				fmt.Fprintf(a.stdout, "%s is built in; there is nothing to download\n", d.Name)
				return nil
			}
			dir, err := datasets.Dir(opts.dir, a.getenv)
			if err != nil {
				return err
			}
			progress := a.newDownload(d)
			fetch := datasets.FetchOptions{
				Mirrors: datasets.Mirrors(opts.mirrors, a.getenv), Progress: progress.update, Log: progress.log,
			}
			err = datasets.Fetch(cmd.Context(), dir, d.Name, fetch)
			progress.finish()
			if err != nil {
				return err
			}
			fmt.Fprintf(printing{a.stdout}, "%s: %d files in %s\n", d.Name, len(d.Files), dir)
			return nil
		}),
	})
	cmd.Flags().StringSliceVar(&opts.mirrors, "mirror", nil,
		"download from these base `URL`s instead of the original sources, tried in order (default $PPAL_MIRROR)")
	return cmd
}

// download shows the progress of a download: a bar over all files on a terminal, otherwise a log
// line every few seconds.
type download struct {
	have  map[string]int64
	log   *slog.Logger
	bar   *progressbar.ProgressBar // nil without a terminal
	total int64
	now   func() time.Time
	shown time.Time
}

func (a *app) newDownload(d datasets.Dataset) *download {
	p := &download{have: map[string]int64{}, total: totalSize(d.Files), now: a.now}
	out := a.stderr
	if a.terminal {
		p.bar = progressbar.NewOptions64(p.total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionThrottle(barRefresh),
			progressbar.OptionShowBytes(true), progressbar.OptionSetDescription(d.Name), progressbar.OptionSetWidth(30))
		out = barWriter{p.bar, a.stderr}
	}
	p.log = slog.New(slog.NewTextHandler(out, nil))
	return p
}

// update implements datasets.FetchOptions.Progress. done may decrease.
func (p *download) update(file datasets.File, done int64) {
	p.have[file.Path] = done
	sum := int64(0)
	for _, n := range p.have {
		sum += n
	}
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(sum)
	case p.bar == nil && (done == file.Size || p.now().Sub(p.shown) >= logInterval):
		p.shown = p.now()
		p.log.Info("downloading", "file", file.Path, "have", megabytes(done), "of", megabytes(file.Size))
	}
}

func (p *download) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// barWriter writes whole lines above a bar.
type barWriter struct {
	bar *progressbar.ProgressBar
	out io.Writer
}

var _ io.Writer = barWriter{}

func (w barWriter) Write(p []byte) (int, error) {
	if err := w.bar.Clear(); err != nil {
		return 0, err
	}
	return w.out.Write(p)
}

// loadingFlags are the flags of train that say how to load a table.
var loadingFlags = []string{
	"seed", "split", "split-seed", "group", "query", "relevant", "fold", "drop-sensitive", "ignore", "file", "picture", "size", "color", "table", "key", "label", "classes", "features", "categorical", "missing", "dates", "decimal",
	"separator", "header", "columns", "skip", "quote", "missing-values", "zero-based", "test-file", "split-column", "unknown",
}

// addLoadingFlags adds the flags of train that say how to load a table.
func addLoadingFlags(cmd *cobra.Command, values config.Values) {
	cmd.Flags().SortFlags = false
	addSelected(cmd, values, loadingFlags...)
	// The data set is an argument.
	plain := strings.NewReplacer("; implies --dataset csv or pictures", "", "; implies --dataset pictures", "", "with --dataset ", "for the data set ")
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = plain.Replace(f.Usage) })
}

// addSelected adds the flags of train with these names.
func addSelected(cmd *cobra.Command, values config.Values, names ...string) {
	var others []string
	for _, k := range config.Keys() {
		if !slices.Contains(names, k.Name) {
			others = append(others, k.Name)
		}
	}
	addSettings(cmd, values, others...)
}

// tableOptions returns the options for the named data set, as train resolves them. It returns an
// error if a flag does not apply to the data set.
func tableOptions(cmd *cobra.Command, values config.Values, name string) (tabular.TableOptions, error) {
	d, err := datasets.Lookup(name)
	if err != nil {
		return tabular.TableOptions{}, err
	}
	values[option.NameDataset] = name
	if !d.Tabular() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed && f.Name != "seed" && f.Name != "data-dir" {
				err = fmt.Errorf("%w: --%s applies to tables, %s is a set of pictures", dataerr.ErrOption, f.Name, name)
			}
		})
		if err != nil {
			return tabular.TableOptions{}, err
		}
	}
	cfg, err := config.Resolve(values, nil)
	if err != nil {
		return tabular.TableOptions{}, err
	}
	return cfg.TableOptions(), nil
}

// mostUses is the largest number of lines about columns.
const mostUses = 60

// continues reports whether two columns that became the same have numbered names in turn: X8, X9,
// or X08, X09.
func continues(u, next tabular.ColumnUse) bool {
	stem := strings.TrimRight(u.Name, "0123456789")
	digits := u.Name[len(stem):]
	k, err := strconv.Atoi(digits)
	name := next.Name
	next.Name = u.Name
	return err == nil && u == next && name == fmt.Sprintf("%s%0*d", stem, len(digits), k+1)
}

// printUses prints a text of several lines that says what each column of a file became. Columns
// with numbered names in turn share a line.
func printUses(print func(text string), uses []tabular.ColumnUse) {
	if len(uses) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "column\tbecame\tmissing")
	at := 0
	for lines := 0; at < len(uses) && lines < mostUses; lines++ {
		u, end := uses[at], at+1
		for end < len(uses) && continues(uses[end-1], uses[end]) {
			end++
		}
		name, missing := u.Name, ""
		if end-at > 2 {
			name += " to " + uses[end-1].Name
		} else {
			end = at + 1
		}
		if u.Missing > 0 {
			missing = fmt.Sprint(u.Missing)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, u.Text(), missing)
		at = end
	}
	w.Flush() // a strings.Builder has no errors
	if len(uses) > at {
		count := map[string]int{}
		for _, u := range uses[at:] {
			count[u.Became]++
		}
		var more []string
		for _, became := range []string{"number", "category", "date", "picture", "group", "attribute", "label", "split", "ignored"} {
			if n := count[became]; n > 0 {
				more = append(more, fmt.Sprintf("%d %s", n, became))
			}
		}
		fmt.Fprintf(&text, "and %d more columns: %s\n", len(uses)-at, strings.Join(more, ", "))
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	print(strings.Join(lines, "\n"))
}

// printTables prints a table's size, and the sizes of its classes and groups in every split.
func printTables(w io.Writer, t *tabular.Tables) {
	parts := t.Parts()
	line := func(what string, count func(p tabular.Part) int) {
		total := 0
		for _, p := range parts {
			total += count(p)
		}
		fmt.Fprintf(w, "%s\t%d", what, total)
		for _, p := range parts {
			fmt.Fprintf(w, "\t%d", count(p))
		}
		fmt.Fprintln(w)
	}
	_, features := t.Train.Features.Dims()
	fmt.Fprintf(w, "%d features\tall", features)
	for _, p := range parts {
		fmt.Fprintf(w, "\t%s", p.Name)
	}
	fmt.Fprintln(w)
	line("rows", func(p tabular.Part) int { return p.Rows() })
	for k, name := range t.Train.Classes {
		title := "class " + name
		if len(t.Train.Classes) == 2 {
			title = fmt.Sprintf("class %+d, %s", t.Train.Label(k), name)
		}
		line(title, func(p tabular.Part) int { return p.ClassCounts()[k] })
	}
	if t.Train.Queries != nil {
		line("queries", func(p tabular.Part) int { return p.Queries.Len() })
		line("pairs", func(p tabular.Part) int { return p.CountPairs() })
	}
	if n := len(t.Train.Groups); n > manyGroups {
		printGroupSizes(w, parts)
	} else {
		for k, g := range t.Train.Groups {
			line("group "+g.Name, func(p tabular.Part) int { return len(p.Groups[k].Rows) })
		}
	}
	for _, note := range t.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
}

// manyGroups is the number of groups above which only their sizes are summarised.
const manyGroups = 24

// printGroupSizes prints the range of the groups' sizes.
func printGroupSizes(w io.Writer, parts []tabular.Part) {
	fmt.Fprintf(w, "%d groups, rows in each\t", len(parts[0].Groups))
	for _, p := range parts {
		sizes := make([]int, len(p.Groups))
		for k, g := range p.Groups {
			sizes[k] = len(g.Rows)
		}
		fmt.Fprintf(w, "\t%d to %d", slices.Min(sizes), slices.Max(sizes))
	}
	fmt.Fprintln(w)
}
