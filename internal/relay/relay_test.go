package relay_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ppal/internal/relay"
)

// thrown returns the panic of f.
func thrown(f func()) (p *relay.Panic) {
	defer func() { p, _ = recover().(*relay.Panic) }()
	f()
	return nil
}

// crash panics.
func crash(list []int) { list[len(list)]++ }

// The goroutine that waits receives the value, the place and the stack of the worker's panic.
func TestCatch(t *testing.T) {
	var r relay.Relay
	if p := thrown(r.Throw); p != nil {
		t.Fatalf("a panic without a panic: %v", p)
	}
	var workers sync.WaitGroup
	workers.Go(func() {
		defer r.Catch()
		crash(nil)
	})
	workers.Wait()
	p := thrown(r.Throw)
	if p == nil || !strings.Contains(fmt.Sprint(p.Value), "out of range") || !strings.HasPrefix(p.Place, "ppal/internal/relay_test.crash in relay_test.go:") ||
		!strings.Contains(p.Error(), "relay_test.crash") {
		t.Fatalf("%+v", p)
	}
	if again := thrown(r.Throw); again != nil {
		t.Errorf("the panic was thrown twice: %v", again)
	}
	// A relay of relays keeps the first place.
	workers.Go(func() {
		defer r.Catch()
		panic(p)
	})
	workers.Wait()
	if outer := thrown(r.Throw); outer != p {
		t.Errorf("%+v, want the inner panic", outer)
	}
}

// A worker goes on after a panic.
func TestDo(t *testing.T) {
	var r relay.Relay
	failure := errors.New("failure")
	if err := r.Do(func() error { return failure }); err != failure {
		t.Error(err)
	}
	if err := r.Do(func() error { panic("first") }); !errors.As(err, new(*relay.Panic)) {
		t.Error(err)
	}
	if err := r.Do(func() error { panic("second") }); err == nil {
		t.Error("the second panic is lost")
	}
	if p := thrown(r.Throw); p == nil || p.Value != "first" {
		t.Errorf("%+v", p)
	}
}

// The waiting function of Start has the result, the error or the panic of the goroutine.
func TestStart(t *testing.T) {
	failure := errors.New("failure")
	wait := relay.Start(func() (int, error) { return 3, failure })
	if n, err := wait(); n != 3 || err != failure {
		t.Errorf("%d, %v", n, err)
	}
	if err := relay.Go(func() error { return failure })(); err != failure {
		t.Error(err)
	}
	crashing := relay.Go(func() error { crash(nil); return nil })
	if p := thrown(func() { _ = crashing() }); p == nil || !strings.Contains(fmt.Sprint(p.Value), "out of range") {
		t.Errorf("%+v", p)
	}
}
