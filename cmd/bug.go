package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppal/internal/checkpoint"
	"ppal/internal/mapped"
	"ppal/internal/relay"
)

// exitBug is the exit status of a panic: EX_SOFTWARE of sysexits.h. Go's own status of a panic, 2,
// means wrong usage here.
const exitBug = 70

// reportBug is deferred by run: it turns a panic into one line and an exit status. A worker's panic
// arrives as a *relay.Panic. If the environment asks for a traceback (GOTRACEBACK), the panic goes
// on, and Go prints the stacks.
func (a *app) reportBug(status *int) {
	p := recover()
	if p == nil {
		return
	}
	if os.Getenv("GOTRACEBACK") != "" {
		panic(p)
	}
	e := a.bugIn(p)
	fmt.Fprintf(a.stderr, "ppal: %s\n", e.text)
	*status = e.status
}

// bug is the error of a panic.
type bug struct {
	text   string
	status int
}

// Error implements error.
func (b bug) Error() string { return b.text }

// ExitStatus returns the status of a process that ends because of the bug.
func (b bug) ExitStatus() int { return b.status }

// bugIn returns the error of a panic, in one line. A deferred function calls bugIn. If the training
// has a checkpoint, the line names the command that continues the training. A page of rows that
// cannot be read is not a bug.
func (a *app) bugIn(p any) bug {
	value, place := p, relay.Place()
	if worker, ok := p.(*relay.Panic); ok {
		value, place = worker.Value, worker.Place
	}
	if place != "" {
		place = " (" + place + ")"
	}
	advice := ""
	if a.training != "" {
		if _, err := os.Stat(filepath.Join(a.training, checkpoint.Name)); err == nil {
			advice = "; to continue from the last checkpoint: " + resumeLine(a.training)
		}
	}
	if fault := mapped.Fault(value); fault != nil {
		return bug{printable(fault.Error()) + advice, exitFailed}
	}
	return bug{fmt.Sprintf("a bug: %s%s; please report it with the command line, and the stacks that GOTRACEBACK=all prints%s",
		shortened(printable(strings.Join(strings.Fields(fmt.Sprint(value)), " "))), place, advice), exitBug}
}
