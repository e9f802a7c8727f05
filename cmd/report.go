package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/internal/study"
	"ppal/trainer/session"
)

// reportCommand returns the command `ppal report`, which writes the page of a directory again.
func (a *app) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIR",
		Short: "Write the page report.html of a run, a comparison or a sweep",
		Long: `Report writes report.html into the directory of a run, a comparison (ppal compare, ppal reproduce) or a sweep, from the
files of the directory alone. The page is one file without external requests. ppal train, compare, reproduce and sweep write
it at their end. For a run that has not ended, the page shows the records so far. Files of a run that do not have the
checksums of its summary.json are refused.`,
		Example: `  ppal report runs/20260101-120000-dp-alm
  ppal report runs/20260101-120000-compare`,
		Args: oneRun,
		RunE: a.once(func(_ *cobra.Command, args []string) error {
			pages, err := writeReports(args[0])
			for _, page := range pages {
				fmt.Fprintln(printing{a.stdout}, page)
			}
			return err
		}),
	}
}

// writeReports writes the pages of a directory and returns the paths of those that are written.
func writeReports(dir string) (pages []string, err error) {
	has := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{dir}, path...)...))
		return err == nil
	}
	var write func() error
	switch {
	case has("study.yaml"):
		write = func() error { return study.ReportComparison(dir) }
	case has("sweep.yaml"):
		write = func() error { return study.ReportSweep(study.SweepDir(dir)) }
	case has("metrics.jsonl"), has("summary.json"):
		write = func() error { return report.WriteRun(rundir.Dir(dir), nil) }
	}
	if write != nil {
		if err := write(); err != nil {
			return nil, err
		}
		return []string{filepath.Join(dir, report.File)}, nil
	}
	studies, err := filepath.Glob(filepath.Join(dir, "*", "study.yaml")) // of a reproduction
	if err != nil || len(studies) == 0 {
		return nil, usage{fmt.Errorf("%s: %w: it has no metrics.jsonl, study.yaml or sweep.yaml", dir, errNoReport)}
	}
	for _, description := range studies {
		own := filepath.Dir(description)
		if err := study.ReportComparison(own); err != nil {
			return pages, err
		}
		pages = append(pages, filepath.Join(own, report.File))
	}
	return pages, nil
}

var errNoReport = errors.New("not the directory of a run, a comparison or a sweep")

// writes makes the program the writer of a run's files, with plots and a page.
func (a *app) writes(f *session.Files) {
	f.Version, f.Clock, f.Renderer = version(), a.now, report.NewRenderer()
}

// warnReport prints a warning if the page of a directory could not be written. The results are in
// other files.
func (a *app) warnReport(dir string, err error) {
	if err != nil {
		fmt.Fprintf(printing{a.stderr}, "ppal: warning: report.html was not written: %s (`ppal report %s` writes the page again)\n", errorText(err), option.ShellWord(dir))
	}
}
