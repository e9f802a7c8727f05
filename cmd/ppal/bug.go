package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// exitBug is the exit status of a panic: EX_SOFTWARE of sysexits.h. Go's own status of a panic, 2,
// means wrong usage here.
const exitBug = 70

// reportBug is deferred by run: it turns a panic into one line and an exit status. If the
// environment asks for a traceback (GOTRACEBACK), the panic goes on, and Go prints the stacks.
func (a *app) reportBug(status *int) {
	p := recover()
	if p == nil {
		return
	}
	if os.Getenv("GOTRACEBACK") != "" {
		panic(p)
	}
	fmt.Fprintf(a.stderr, "ppal: a bug: %s%s; please report it with the command line, and the stacks that GOTRACEBACK=all prints\n",
		shortened(printable(strings.Join(strings.Fields(fmt.Sprint(p)), " "))), panicPlace())
	*status = exitBug
}

// panicPlace returns the place in this program from which the panic came, as " (package.function in
// file.go:1)", or "" if the place is not known.
func panicPlace() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s in %s:%d)", f.Function, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
