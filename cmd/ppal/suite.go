package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/reproduce/suite"
)

// suiteOptions are the flags of ppal reproduce suite.
type suiteOptions struct {
	suite.Options
	oracle, trace string
	seed          uint64
	list          bool
}

// suiteCommand returns ppal reproduce suite.
func (a *app) suiteCommand() *cobra.Command {
	var o suiteOptions
	cmd := &cobra.Command{
		Use:   suite.Name,
		Short: "Compare ppal with other optimisers on a suite of problems",
		Long: `Suite compares ppal with other optimisers on problems under constraints: pictures, tables, and functions of few variables.

With --oracle, ppal serves one problem to another program on standard input and output. It first writes a line of JSON
(problem, n, m, radius, lower, upper, dtype) and the start, n numbers. All numbers are little-endian float64. A request is
a byte and its numbers: F and x (n numbers) gets f and g(x) (1 + m numbers); B and w (1 + m numbers) gets the gradient of
w_0 f + w.g at the last x of F (n numbers); R and x certifies a point that the program returns, without an answer; Q ends.`,
		Example: `  ppal reproduce suite --list
  ppal reproduce suite --oracle hs043 --trace hs043.jsonl`,
		Args: noArguments,
		RunE: a.command(func(cmd *cobra.Command, args []string) error {
			var err error
			if o.DataDir, err = datasets.Dir(o.DataDir, a.getenv); err != nil {
				return err
			}
			switch {
			case o.list:
				return a.listProblems()
			case o.oracle != "":
				return a.serveProblem(cmd.Context(), o)
			}
			return usage{errors.New("want --oracle PROBLEM or --list")}
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.list, "list", false, "list the problems")
	flags.StringVar(&o.oracle, "oracle", "", "serve this problem on standard input and output")
	flags.Uint64Var(&o.seed, "seed", 0, "oracle: draw the start from this seed; 0 is the problem's own seed (default 0)")
	flags.StringVar(&o.trace, "trace", "", "oracle: write a line of JSON for every evaluation to this file")
	flags.IntVar(&o.Threads, "threads", 0, "number of threads; 0 is all cores (default 0)")
	flags.StringVar(&o.DataDir, "data-dir", "", "look for the data sets' files in this directory (default $PPAL_DATA, else the user's cache directory)")
	return cmd
}

// listProblems prints the table of problems.
func (a *app) listProblems() error {
	_, err := io.WriteString(a.stdout, suite.List())
	return err
}

// serveProblem answers the requests of an optimiser.
func (a *app) serveProblem(ctx context.Context, o suiteOptions) (err error) {
	list, err := suite.Select(o.oracle)
	if err != nil {
		return usage{err}
	}
	b, err := suite.Build(ctx, list[0], o.DataDir, o.seed, o.Threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if o.trace == "" {
		return suite.Serve(b, a.stdin, a.stdout, nil)
	}
	trace, err := os.Create(o.trace)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	defer func() { err = errors.Join(err, trace.Close()) }()
	return suite.Serve(b, a.stdin, a.stdout, trace)
}
