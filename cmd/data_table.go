package cmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/option"
)

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

// continues reports whether two columns that became the same have numbered names in turn: X8, X9.
func continues(u, next tabular.ColumnUse) bool {
	stem := strings.TrimRight(u.Name, "0123456789")
	k, err := strconv.Atoi(u.Name[len(stem):])
	name := next.Name
	next.Name = u.Name
	return err == nil && u == next && name == stem+strconv.Itoa(k+1)
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
