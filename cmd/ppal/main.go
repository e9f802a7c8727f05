// Ppal trains models under constraints with proximal-perturbed Lagrangian methods, and tells how nearly the result is optimal.
package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"ppal/trainer/session"
)

// gcPercent is how much garbage may lie beside the live heap. That is a few large arrays without pointers, which cost the collector
// nothing: it can run often, and records and certificates leave vectors of the parameters' size behind.
const gcPercent = 20

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	a := &app{
		stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		columns:  columns,
		open:     session.New,
		shrink:   1,
		self:     runSelf,
		gpus:     machineGPUs(),
	}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// app is the program with the world it runs in.
type app struct {
	stdout, stderr io.Writer
	terminal       bool       // stderr is one
	columns        func() int // its width now; nil: usual
	getenv         func(string) string
	now            func() time.Time
	open           func(ctx context.Context, o session.Options) (*session.Session, error)
	shrink         int                                                                 // divides the rows of bench's cases: 1 outside tests
	self           func(ctx context.Context, args []string) (stdout []byte, err error) // runs the program in a process of its own
	gpus           gpus
	gpu            sync.Mutex // held by the run of a comparison that is on a GPU

	started bool // a command's own work, after its arguments were accepted
}

// columns is the width of the terminal, 0 where that is not known.
func columns() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// run does what the arguments say and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	out := &failOnce{out: a.stdout}
	a.stdout = out
	root := a.rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil { // of a help, say, whose writer does not look
		a.started, err = true, cmp.Or(err, out.err)
	}
	return a.exit(ctx, cmd, err)
}
