package decisions

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"ppal/internal/study"
)

// FindPython returns the environment that `make peers` makes in a checkout of ppal; see
// study.FindPython.
func FindPython(checkout, log string, threads int) (*study.Python, error) {
	return study.FindPython(checkout, "decisions/peer.py", log, threads)
}

// library is a running Python process that serves one library.
type library struct {
	*study.Process
	name     string
	versions map[string]string
}

// answer is a line of the process.
type answer struct {
	Result json.RawMessage
	Error  string // the error that the library reported
}

// startLibrary starts the process of a library.
func startLibrary(ctx context.Context, p *study.Python, name string) (*library, error) {
	process, err := p.Start(ctx, "peers.worker", name, strconv.Itoa(p.Threads))
	if err != nil {
		return nil, err
	}
	l := &library{Process: process, name: name}
	var greeting answer
	if err = process.Receive(&greeting); err == nil && greeting.Error == "" {
		err = json.Unmarshal(greeting.Result, &l.versions)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", name, err)
	case greeting.Error != "":
		err = fmt.Errorf("%s: %s", name, greeting.Error)
	default:
		return l, nil
	}
	process.Close()
	return nil, err
}

// score requests the scores of the rows in a folder (scoresFile).
func (l *library) score(folder string) error {
	var reply answer
	if err := l.Ask(map[string]any{"call": "score", "arguments": map[string]any{"folder": folder}}, &reply); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	if reply.Error != "" {
		return fmt.Errorf("%s: %s", l.name, reply.Error)
	}
	return nil
}

// fit requests a fit on the rows in a folder. An error that the library reports becomes the failure
// of the fit.
func (l *library) fit(call, folder string, into *Fit) error {
	var reply answer
	err := l.Ask(map[string]any{"call": "fit", "arguments": map[string]any{
		"contender": call, "folder": folder, "kind": into.Kind, "bound": into.Bound, "setting": into.Setting}}, &reply)
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	if reply.Error != "" {
		into.Failure = l.name + ": " + reply.Error
		return nil
	}
	var r struct {
		Seconds, CPU float64
		Points       []Point
		Notes        []string
	}
	if err := json.Unmarshal(reply.Result, &r); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	into.Seconds, into.CPU, into.Points, into.Notes = r.Seconds, r.CPU, r.Points, r.Notes
	return nil
}
