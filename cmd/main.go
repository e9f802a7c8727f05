// Package cmd is the program ppal: its commands, flags, terminal and exit statuses. A program with
// methods of its own registers the methods (method.Register) and then calls Main. All commands then
// know these methods.
package cmd

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/term"

	"ppal/internal/config"
	"ppal/internal/mapped"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/trainer/session"
)

// Main runs the command of the program's arguments and exits with its status.
func Main() {
	prepareHeap()
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		columns:  columns,
		screen:   screenSize,
		open:     session.New,
		shrink:   1,
		self:     runSelf,
		gpus:     machineGPUs(),
		join:     joinProcesses(),
	}
	onQuit(a.outputs.end)
	ctx := onSignals(func() {
		a.outputs.end()
		os.Exit(exitInterrupted)
	})
	os.Exit(a.run(ctx, os.Args[1:]))
}

// app is the program with its environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool       // whether stderr is a terminal
	columns        func() int // its current width; nil: 80
	// the current size of the terminal on stdout; nil, or not ok: stdout is not a terminal
	screen func() (width, height int, ok bool)
	looks  time.Duration // between two looks of watch; 0: watchInterval
	getenv func(string) string
	now    func() time.Time
	open   opener
	shrink int // divides the number of rows of bench's cases; 1 except in tests
	// runs the program in a new process
	self      func(ctx context.Context, args []string) (stdout []byte, err error)
	gpus      gpus
	join      func() (c ranks.Collective, end func() error, err error) // joins processes; nil: not supported
	quiet     bool                                                     // print no progress of studies
	processes int                                                      // that share the rows of this process's sessions; 0: only this process
	gpu       sync.Mutex                                               // held by the run of a comparison that uses a GPU

	outputs outputs // that are not complete

	started  bool   // the command's own work has begun: its arguments were accepted
	training string // the directory of the training; "": none is open
}

// columns returns the width of the terminal, or 0 if it is not known.
func columns() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// screenSize returns the size of the terminal on stdout; ok is false if stdout is not a terminal.
func screenSize() (width, height int, ok bool) {
	fd := int(os.Stdout.Fd())
	if !term.IsTerminal(fd) {
		return 0, 0, false
	}
	width, height, _ = term.GetSize(fd) // 0 if the size is not known
	return width, height, true
}

// run executes the command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) (status int) {
	defer a.reportBug(&status)
	relay.Guard()
	out := &failOnce{out: a.stdout}
	a.stdout = out
	root := a.rootCommand(args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil { // such as an error while printing help, which cobra ignores
		a.started, err = true, cmp.Or(err, out.err)
	}
	return a.exit(ctx, cmd, err)
}

// gcPercent is the allowed garbage in percent of the live heap. The live heap is a few large arrays
// without pointers, which cost the collector nothing, so it can run often; records and certificates
// leave vectors of the parameters' size and of the rows' number behind.
const gcPercent = 5

// leastGarbage is the least number of bytes of garbage between two collections. Without this limit,
// a small table would spend a third of its CPU time on collections.
const leastGarbage = 32 << 20

// largeGarbage is the number of bytes of garbage between two collections, about, if the data take
// more than largeHeap. An iteration on large data takes longer than a collection, and the garbage
// would add to the peak of the memory.
const (
	largeGarbage = 4 << 20
	largeHeap    = 64 << 20
)

// ballastBytes makes gcPercent of the heap at least leastGarbage.
const ballastBytes = leastGarbage * 100 / gcPercent

// ballast is live memory that nothing writes, so it takes none; nil: the heap needs no ballast.
var ballast []byte

// hugeHeap is the number of bytes at the start of the heap that ppal asks the kernel to back with
// huge pages. A run on a small table touches about 60 MB, and one fault for each 4 KiB of them
// would take a tenth of its CPU time.
const hugeHeap = 64 << 20

// prepareHeap sets how often the collector runs, unless the user's GOGC does.
func prepareHeap() {
	if os.Getenv("GOGC") != "" {
		return
	}
	// No collection may free the first block before the ballast lies behind it.
	debug.SetGCPercent(-1)
	mapped.HugePages(make([]byte, hugeHeap))
	ballast = make([]byte, ballastBytes)
	debug.SetGCPercent(gcPercent)
	runtime.GC() // frees the first block for the allocations of the run
}

// limitGarbage lets the collector run more often if the data of a run are large. Then the heap
// loses its ballast: the runtime keeps a tenth of what it counts as live, and free memory would
// stay.
func limitGarbage(cfg config.Train) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := m.HeapAlloc - uint64(len(ballast))
	if live <= largeHeap || ballast == nil {
		return
	}
	ballast = nil
	debug.SetGCPercent(max(1, int(100*largeGarbage/live)))
	setHeap(cfg)
}

// setHeap makes the collector run more often when the heap approaches the bound of --memory. The
// collector counts the ballast.
func setHeap(cfg config.Train) {
	if cfg.Session.Device.Memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(cfg.Session.Device.Memory + int64(len(ballast)))
	}
}
