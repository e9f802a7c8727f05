package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals returns the signals that stop the program: Ctrl-C, a request to end, and the end of
// the terminal. Under nohup, which ignores SIGHUP, the end of the terminal does not stop the
// program.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// onQuit calls discard when SIGQUIT arrives. Then SIGQUIT has its default: Go prints the stacks of
// all goroutines and ends the program.
func onQuit(discard func()) {
	quits := make(chan os.Signal, 1)
	signal.Notify(quits, syscall.SIGQUIT)
	go func() {
		<-quits
		discard()
		signal.Reset(syscall.SIGQUIT)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGQUIT)
		}
	}()
}

// onSignals returns a context that the first stop signal cancels. The second stop signal calls
// stopNow, which must not return.
//
// After onSignals, a write to a pipe without a reader fails with syscall.EPIPE. Without onSignals,
// a write to stdout or stderr without a reader ends the program: a training would be lost because
// the reader of its log ended.
func onSignals(stopNow func()) context.Context {
	// A caught signal, unlike an ignored signal, keeps its default in the programs that ppal
	// starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stops := make(chan os.Signal, 2)
	signal.Notify(stops, stopSignals()...)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stops
		cancel()
		<-stops
		stopNow()
	}()
	return ctx
}
