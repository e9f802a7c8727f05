package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"ppal/internal/disk"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

const (
	// watchInterval is the time between two looks at a run.
	watchInterval = 500 * time.Millisecond
	// looksAtFree is the number of looks at a free lock after which the process has ended: for a
	// moment before its first and its last file, a running process may seem to have ended.
	looksAtFree = 2
	usualHeight = 24 // of a terminal that does not report its height
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN",
		Short: "Follow a run",
		Long: `Watch shows the iterations, the time that is left, the objective, the counted constraints and the KKT residual of the run
in the directory RUN, and its result at the end. Watch only reads; Ctrl-C ends watch and not the run.

On a terminal the screen changes at every record. Otherwise watch prints a line every few seconds.

Exit status: 0 there is a result; 1 the run has failed, was interrupted or was killed; 2 RUN is not the directory of a
run; 130 Ctrl-C.`,
		Example: "  ppal watch runs/20260101-120000-mnpc-alm",
		Args:    oneRun,
		RunE:    a.command(func(cmd *cobra.Command, args []string) error { return a.watch(cmd.Context(), rundir.Dir(args[0])) }),
	}
}

// watched is the run that watch follows.
type watched struct {
	dir      rundir.Dir
	settings struct {
		results.Title `yaml:",inline"`
		Iterations    int                `yaml:"iterations"`
		Provenance    results.Provenance `yaml:"provenance"`
	}
	free   int // looks in a row at a free lock
	screen func() (width, height int, ok bool)
	out    io.Writer
	lines  []string  // on the terminal
	shown  time.Time // of the last line without a terminal
}

// watch runs the command.
func (a *app) watch(ctx context.Context, dir rundir.Dir) error {
	w := &watched{dir: dir, out: a.stdout}
	config, err := rundir.Seal{}.Read(dir.Config())
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Stat(string(dir)); missing == nil {
			err = fmt.Errorf("%s is not the directory of a run: there is no config.yaml", dir)
		}
		return usage{err}
	}
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(config, &w.settings); err != nil {
		return fmt.Errorf("%s: %w", dir.Config(), err)
	}
	if a.screen != nil && a.getenv("TERM") != "dumb" {
		if _, _, ok := a.screen(); ok {
			w.screen = a.screen
		}
	}
	for {
		sum, last, err := w.look()
		if sum != nil {
			_, err := io.WriteString(a.stdout, w.erasure()+printable(w.result(sum)))
			return err
		}
		if last != nil {
			if failure := w.show(last, a.now(), err != nil); failure != nil {
				return failure
			}
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("stopped watching; this does not stop the run")
		case <-time.After(cmp.Or(a.looks, watchInterval)):
		}
	}
}

// look returns the result of the run, if there is one, and the last record so far. The error says
// why the run ended without a result.
func (w *watched) look() (*results.Summary, *trainer.Record, error) {
	free := disk.Unlocked(string(w.dir)) // before the files are read: the process may end in between
	if w.free++; !free {
		w.free = 0
	}
	sum, err := rundir.ReadSummary(w.dir.Summary())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	last, failure := rundir.LastRecord(w.dir.Metrics())
	if failure != nil {
		return nil, nil, failure
	}
	reached, resume := "", "; to continue: "+resumeLine(string(w.dir))
	if last != nil {
		reached = fmt.Sprintf(" after %d of %d iterations", last.Iteration, w.settings.Iterations)
	}
	status := trainer.Status(sum.Status)
	switch {
	case err == nil && status != trainer.Interrupted && status != trainer.Failed:
		return &sum, last, nil
	case status == trainer.Interrupted && free: // a run that goes on has the summary of its former part
		return nil, last, errors.New("the run was interrupted" + reached + resume)
	case status == trainer.Failed && free:
		return nil, last, fmt.Errorf("the run failed%s: %s", reached, sum.Error)
	case w.free >= looksAtFree:
		return nil, last, errors.New("the process of the run is gone, without a result" + reached + resume)
	}
	return nil, last, nil
}

// result returns the text of a finished run.
func (w *watched) result(sum *results.Summary) string {
	var out strings.Builder
	printHead(&out, sum, w.settings.String())
	if sum.Outcome != nil {
		printView(&out, report.NewView(sum.Outcome, sum.Rates))
	}
	printFacts(&out, sum, "")
	paragraph(&out, "files", string(w.dir))
	return out.String()
}

// show shows a record: on a terminal in place, and otherwise a line every few seconds, or at once
// if the record is the last one.
func (w *watched) show(r *trainer.Record, now time.Time, last bool) error {
	share := min(1, float64(r.Iteration)/float64(max(1, w.settings.Iterations)))
	line := fmt.Sprintf("iteration %d of %d (%.0f%%), %s s of training", r.Iteration, w.settings.Iterations, 100*share, seconds(r.Seconds))
	if share > 0 && share < 1 {
		line += fmt.Sprintf(", at most about %s s left", seconds(r.Seconds*(1-share)/share))
	}
	state := fmt.Sprintf("objective %.4g, worst violation %.2g, epsilon %.2g", r.Objective, r.MaxViolation, max(r.Stationarity, r.Infeasibility, r.Complementarity))
	if w.screen == nil {
		line = printable(line + ": " + state)
		if slices.Equal(w.lines, []string{line}) || !last && now.Sub(w.shown) < logInterval {
			return nil
		}
		w.lines, w.shown = []string{line}, now
		_, err := fmt.Fprintln(w.out, line)
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n%s\n%s\n\n", &w.settings.Title, w.dir, line, state)
	if v := report.NewView(report.Live(w.settings.Provenance.Constraints, r), nil); v.Rows != nil {
		rowsOf(v).print(&text)
	}
	width, height, _ := w.screen()
	lines := strings.Split(strings.TrimSpace(printable(text.String())), "\n")
	lines = lines[:min(len(lines), cmp.Or(height, usualHeight)-1)] // a line above the screen could not be replaced
	for i := range lines {
		letters := []rune(lines[i])
		lines[i] = string(letters[:min(len(letters), max(0, cmp.Or(width, usualWidth)-1))])
	}
	if slices.Equal(lines, w.lines) {
		return nil
	}
	_, err := io.WriteString(w.out, w.erasure()+strings.Join(lines, "\n")+"\n")
	w.lines = lines
	return err
}

// erasure returns the codes that remove the present lines from the terminal: the cursor goes up to
// the first line, and everything below is erased.
func (w *watched) erasure() string {
	if w.screen == nil || len(w.lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", len(w.lines))
}
