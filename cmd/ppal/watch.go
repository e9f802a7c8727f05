package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ppal/internal/watch"
)

const (
	// watchInterval is the time between two looks at a run.
	watchInterval = 500 * time.Millisecond
	// usualHeight is the height of a terminal that does not report its height.
	usualHeight = 24
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN",
		Short: "Follow a run, a comparison or a sweep",
		Long: `Watch follows the run in the directory RUN: the iterations, the time that is left, the objective, each constraint against
its bound, and the KKT residual. It prints the result when the run ends. In the directory of a comparison or a sweep it
shows which runs are finished. Watch only reads; Ctrl-C ends watch and not the run.

On a terminal the screen changes at every record. Otherwise watch prints a line every few seconds.

Exit status: 0 there is a result; 1 the run has failed, was interrupted or was killed; 2 RUN is not the directory of a
run, a comparison or a sweep; 130 Ctrl-C.`,
		Example: `  ppal watch runs/20260101-120000-mnpc-ppala
  ppal watch runs/first > progress.log`,
		Args: oneRun,
		RunE: a.command(func(cmd *cobra.Command, args []string) error { return a.watch(cmd.Context(), args[0]) }),
	}
}

// watch runs the command.
func (a *app) watch(ctx context.Context, dir string) error {
	w, err := watch.Open(dir)
	if err != nil {
		if errors.Is(err, watch.ErrDirectory) || errors.Is(err, fs.ErrNotExist) {
			return usage{err}
		}
		return err
	}
	s := a.newScreen()
	for {
		v, err := w.Look()
		if err != nil {
			return err
		}
		if v.Outcome == nil { // the outcome takes the place of the last state
			if err := s.show(v); err != nil {
				return err
			}
		}
		if v.Ended {
			return a.ended(s, v)
		}
		select {
		case <-ctx.Done():
			return errors.New("stopped watching; this does not stop the run")
		case <-time.After(cmp.Or(a.looks, watchInterval)):
		}
	}
}

// ended prints the result, or returns the reason why there is none.
func (a *app) ended(s *screen, v *watch.View) error {
	if v.Failure != "" {
		if v.Resume != "" {
			return fmt.Errorf("%s; to continue: %s", v.Failure, resumeLine(v.Resume))
		}
		return errors.New(v.Failure)
	}
	_, err := io.WriteString(a.stdout, s.erasure()+printable(strings.Join(v.Outcome, "\n"))+"\n")
	return err
}

// screen shows views: on a terminal in place, and otherwise a line every few seconds.
type screen struct {
	out   io.Writer
	size  func() (width, height int, ok bool) // of the terminal; nil: no terminal
	now   func() time.Time
	lines []string // on the terminal
	line  string   // printed last
	shown time.Time
}

func (a *app) newScreen() *screen {
	s := &screen{out: a.stdout, now: a.now}
	if a.screen != nil && a.getenv("TERM") != "dumb" {
		if _, _, ok := a.screen(); ok {
			s.size = a.screen
		}
	}
	return s
}

// show shows the view if it has changed.
func (s *screen) show(v *watch.View) error {
	if s.size == nil {
		return s.print(v)
	}
	width, height, _ := s.size()
	width, height = cmp.Or(width, usualWidth), cmp.Or(height, usualHeight)
	lines := v.Screen(width-1, height-1)
	lines = lines[:min(len(lines), height-1)] // a line above the screen could not be replaced
	for i := range lines {
		lines[i] = strings.Map(oneLine, printable(lines[i]))
	}
	if slices.Equal(lines, s.lines) {
		return nil
	}
	text := s.erasure() + strings.Join(lines, "\n") + "\n"
	s.lines = lines
	_, err := io.WriteString(s.out, text)
	return err
}

// oneLine replaces the ends of lines.
func oneLine(c rune) rune {
	if c == '\n' || c == '\t' {
		return ' '
	}
	return c
}

// erasure returns the codes that remove the present lines from the terminal: the cursor goes up to
// the first line, and everything below is erased.
func (s *screen) erasure() string {
	if len(s.lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", len(s.lines))
}

// print prints the view's line if it has changed, at most every few seconds, and the last line
// anyway.
func (s *screen) print(v *watch.View) error {
	line := strings.Map(oneLine, printable(v.Line))
	if line == "" || line == s.line || !v.Ended && s.now().Sub(s.shown) < logInterval {
		return nil
	}
	s.line, s.shown = line, s.now()
	_, err := fmt.Fprintln(s.out, line)
	return err
}
