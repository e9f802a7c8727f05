package cmd

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// reporter shows the progress of a run on stderr. stopping may be called from another goroutine.
type reporter interface {
	trainer.Recorder
	trainer.Ticker
	trainer.Stager
	limit(iterations int) // the largest number of iterations, before the first
	info(message string)
	warn(message string)
	lines(text string) // several lines; a JSON log has one entry
	stopping()         // called when Ctrl-C was pressed
	finish()
	close() // the last call
}

const (
	barRefresh  = 100 * time.Millisecond
	barWidth    = 10 // width of the bar; the numbers take the rest of 80 columns
	logInterval = 5 * time.Second
	stopMessage = "stopping after this step; press Ctrl-C again to stop immediately, without writing files"
)

// newReporter returns a progress bar on a terminal, log lines elsewhere, or nothing with --quiet.
func (a *app) newReporter(cfg config.Train) reporter {
	switch {
	case cfg.Quiet:
		return silent{}
	case a.terminal && a.width() >= leastWidth(cmp.Or(cfg.Iterations(), unknownIterations)):
		return &barReporter{out: a.stderr, width: a.width}
	}
	return newLogReporter(a.stderr, cfg.LogFormat, cfg.Iterations(), a.now)
}

// unknownIterations has as many digits as a number of iterations that the data decide may have.
const unknownIterations = 99999

// usualWidth is the width of a terminal that does not report its width.
const usualWidth = 80

// width returns the width of the terminal in columns.
func (a *app) width() int {
	if a.columns == nil {
		return usualWidth
	}
	return cmp.Or(a.columns(), usualWidth)
}

// leastWidth returns the width of a bar over most iterations without its description and its
// blocks, which shrink first: "100% || (1000/1000) [59m59s:59m59s]". A bar that is wider than the
// terminal would be printed repeatedly instead of overwritten.
func leastWidth(most int) int {
	return len(fmt.Sprintf(" 100%% || (%d/%d) [59m59s:59m59s]", most, most)) + 1
}

// silent is the reporter with --quiet.
type silent struct{}

func (silent) Record(*trainer.Record) error { return nil }
func (silent) Tick(*problem.Point)          {}
func (silent) Stage(string)                 {}
func (silent) close()                       {}
func (silent) limit(int)                    {}
func (silent) info(string)                  {}
func (silent) warn(string)                  {}
func (silent) lines(string)                 {}
func (silent) stopping()                    {}
func (silent) finish()                      {}

// barReporter shows a progress bar, with messages above it.
type barReporter struct {
	out   io.Writer
	most  int
	width func() int

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	stage string // the long step that is running; "": iterations
}

func (b *barReporter) Record(r *trainer.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		b.bar = progressbar.NewOptions(max(1, b.most), progressbar.OptionSetWriter(b.out), progressbar.OptionThrottle(barRefresh),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(barWidth))
	}
	b.bar.Describe(describe(r, b.width()-leastWidth(b.most)))
	return nil
}

// describe formats a record's numbers in at most the given number of columns.
func describe(r *trainer.Record, columns int) string {
	for _, format := range []string{"objective %.3g, violation %.1g, epsilon %.1g", "f %.3g, g %.1g, eps %.1g"} {
		if text := fmt.Sprintf(format, r.Objective, r.MaxViolation, r.Certificate.Epsilon); len(text) <= columns {
			return text
		}
	}
	if text := fmt.Sprintf("f %.3g", r.Objective); len(text) <= columns {
		return text
	}
	return ""
}

// Tick implements trainer.Ticker.
func (b *barReporter) Tick(at *problem.Point) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.bar.Set(at.Iteration)
}

// Stage implements trainer.Stager: if the step is not over soon, the bar shows its name in place of
// a record's numbers.
func (b *barReporter) Stage(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage = name; b.bar == nil || name == "" || len(name) > b.width()-leastWidth(b.most) {
		return
	}
	time.AfterFunc(2*barRefresh, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.bar != nil && b.stage == name {
			b.bar.Describe(name)
		}
	})
}

func (b *barReporter) close()              {}
func (b *barReporter) limit(most int)      { b.most = most }
func (b *barReporter) info(message string) { b.print(message) }
func (b *barReporter) warn(message string) { b.print("warning: " + message) }
func (b *barReporter) lines(text string)   { b.print(text) }
func (b *barReporter) stopping()           { b.print(stopMessage) }

func (b *barReporter) print(message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		// progressbar.Bprintln would show the message only at the next step, and lose it at the end
		_ = b.bar.Clear()
	}
	fmt.Fprintln(b.out, printable(message))
}

func (b *barReporter) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}

// logReporter writes a log line every few seconds.
type logReporter struct {
	log   *slog.Logger
	plain io.Writer // nil with a JSON log
	most  int
	now   func() time.Time

	mu      sync.Mutex // of all below: beat has its own goroutine
	shown   time.Time
	at      *progress // nil before the first record
	epsilon float64
	seconds float64
	stage   string // the long step that is running; "": iterations
	began   time.Time
	quit    chan struct{} // ends beat; nil before the first Stage
}

// progress is the last iteration.
type progress struct {
	iteration            int
	objective, violation float64
}

func newLogReporter(out io.Writer, format string, most int, now func() time.Time) *logReporter {
	if format == "json" {
		return &logReporter{log: slog.New(slog.NewJSONHandler(out, nil)), most: most, now: now}
	}
	return &logReporter{log: slog.New(slog.NewTextHandler(out, nil)), plain: out, most: most, now: now}
}

func (l *logReporter) Record(r *trainer.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epsilon, l.seconds = r.Certificate.Epsilon, r.Seconds
	l.at = &progress{r.Iteration, r.Objective, r.MaxViolation}
	if r.Iteration == 0 || r.Iteration == l.most {
		l.line()
	}
	return nil
}

// Tick implements trainer.Ticker.
func (l *logReporter) Tick(at *problem.Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Sub(l.shown) >= logInterval {
		l.at = &progress{at.Iteration, at.Objective, problem.MaxViolation(at.Constraints)}
		l.line()
	}
}

// Stage implements trainer.Stager. From the first step on, a line says every few seconds what the
// program does, also if the step or an iteration takes longer.
func (l *logReporter) Stage(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage, l.began = name, l.now()
	if l.quit == nil {
		l.shown = l.began
		l.quit = make(chan struct{})
		go l.beats(l.quit)
	}
}

// beats calls beat until quit is closed.
func (l *logReporter) beats(quit chan struct{}) {
	ticker := time.NewTicker(logInterval / 2)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
			l.beat()
		}
	}
}

// beat logs the step that is running, or the last iteration, unless a line was logged shortly
// before.
func (l *logReporter) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	switch {
	case now.Sub(l.shown) < logInterval:
	case l.stage == "" && l.at != nil:
		l.line()
	default:
		l.shown = now
		l.log.Info(cmp.Or(l.stage, "before the first iteration"), "seconds", rounded(now.Sub(l.began).Seconds()))
	}
}

func (l *logReporter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quit != nil {
		close(l.quit)
		l.quit = nil
	}
}

// line logs the last iteration and the certificate of the last record.
func (l *logReporter) line() {
	l.shown = l.now()
	l.log.Info("training", "iteration", l.at.iteration, "of", l.most, "objective", rounded(l.at.objective), "max_violation", rounded(l.at.violation),
		"epsilon", rounded(l.epsilon), "seconds", rounded(l.seconds))
}

func (l *logReporter) limit(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = most
}

func (l *logReporter) info(message string) { l.log.Info(message) }
func (l *logReporter) warn(message string) { l.log.Warn(message) }
func (l *logReporter) lines(text string) {
	if l.plain != nil {
		fmt.Fprintln(l.plain, printable(text))
		return
	}
	l.log.Info(text)
}
func (l *logReporter) stopping() { l.log.Warn(stopMessage) }
func (l *logReporter) finish()   {}
