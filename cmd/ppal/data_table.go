package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/datasets"
)

// tableOptions are the flags for loading a table.
type tableOptions struct {
	datasets.TableOptions
	split string
}

// defaultSeed is the seed that train uses for the split and for synthetic rows.
const defaultSeed = 1

func (o *tableOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.Uint64Var(&o.Seed, "seed", defaultSeed, "seed of the split and of synthetic rows")
	f.StringVar(&o.split, "split", datasets.DefaultSplit.String(), "split a table into `TRAINING/VALIDATION/TEST` rows, in percent")
	f.StringSliceVar(&o.Groups, "group", nil,
		"make groups by `CONDITION`: race=Other, age<25, 25<=age<60, a column, or a feature's number; separate several by commas")
	f.BoolVar(&o.DropSensitive, "drop-sensitive", false, "exclude the columns that determine the groups from the features")
	f.StringSliceVar(&o.Ignore, "ignore", nil, "exclude the `COLUMNS` from the features")
	f.StringVar(&o.File, "file", "", "csv, libsvm: read your `FILE`, plain or gzip")
	f.StringVar(&o.Label, "label", "", "csv: label `COLUMN`, or COLUMN=VALUE with the value of class +1")
	f.StringSliceVar(&o.Categorical, "categorical", nil, "csv: treat numeric `COLUMNS` as categories")
	f.StringVar(&o.Missing, "missing", "", "csv: refuse, impute, drop or flag missing values")
}

// resolve returns the options for the named data set, and an error if a flag does not apply to it.
func (o *tableOptions) resolve(cmd *cobra.Command, name string) (datasets.TableOptions, error) {
	d, err := datasets.Lookup(name)
	if err != nil {
		return datasets.TableOptions{}, err
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !d.Tabular() && f.Name != "seed" && f.Name != "data-dir" {
			err = fmt.Errorf("%w: --%s applies to tables, %s is a set of images", datasets.ErrOption, f.Name, name)
		}
	})
	if err != nil {
		return datasets.TableOptions{}, err
	}
	o.Split, err = datasets.ParseSplit(o.split)
	return o.TableOptions, err
}

// printTables prints a table's size, and the sizes of its classes and groups in every split.
func printTables(w io.Writer, t *datasets.Tables) {
	parts := t.Parts()
	line := func(what string, count func(p datasets.Part) int) {
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
	line("rows", func(p datasets.Part) int { return p.Rows() })
	for k, name := range t.Train.Classes {
		line(fmt.Sprintf("class %+d, %s", 2*k-1, name), func(p datasets.Part) int { return p.ClassCounts()[k] })
	}
	if n := len(t.Train.Groups); n > manyGroups {
		printGroupSizes(w, parts)
	} else {
		for k, g := range t.Train.Groups {
			line("group "+g.Name, func(p datasets.Part) int { return len(p.Groups[k].Rows) })
		}
	}
	for _, note := range t.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
}

// manyGroups is the number of groups above which only their sizes are summarised.
const manyGroups = 24

// printGroupSizes prints the range of the groups' sizes.
func printGroupSizes(w io.Writer, parts []datasets.Part) {
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
