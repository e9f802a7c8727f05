package gpucheck

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// waitDelay is the longest wait, after a process is killed, for the end of its output.
const waitDelay = 5 * time.Second

// runCase runs a case in a process of its own, or in this process if Options.Self is empty. The
// cases have separate processes because a process cannot use a CUDA context after a failure, and
// cannot interrupt a call of the driver that never returns.
func runCase(ctx context.Context, p Part, c Case, o Options) []Result {
	limited, stop := context.WithTimeoutCause(ctx, c.limit(), fmt.Errorf("stopped after its time limit of %v", c.limit()))
	defer stop()
	if o.Self == "" {
		results, err := c.Run(limited, o)
		return withError(results, c, err)
	}
	cmd := exec.CommandContext(limited, o.Self, append(o.Args, "--part", p.Name, "--case", c.Name)...)
	cmd.WaitDelay = waitDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	results, readErr := readResults(&stdout)
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	if err = errors.Join(err, readErr); err != nil {
		if said := lastLines(stderr.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
	}
	return withError(results, c, err)
}

// withError adds a failed result for the error of a case.
func withError(results []Result, c Case, err error) []Result {
	if err == nil {
		return results
	}
	return append(results, Result{Name: c.Name + ": the case ended early", Status: Failed, Detail: strings.Join(strings.Fields(err.Error()), " ")})
}

// lastLines returns the end of a process's messages. A Go program that crashes names the reason
// first and then lists its goroutines.
func lastLines(text string) string {
	text, _, _ = strings.Cut(text, "\ngoroutine ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	const most = 3
	return strings.Join(lines[max(0, len(lines)-most):], "; ")
}

// readResults reads the lines that RunCase wrote.
func readResults(in io.Reader) (list []Result, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return list, fmt.Errorf("the case printed %q: %w", lines.Text(), err)
		}
		list = append(list, r)
	}
	return list, lines.Err()
}

// RunCase runs one case in this process, and writes the results to out as lines of JSON. runCase
// starts the process that calls RunCase, and reads the lines.
func RunCase(ctx context.Context, parts []Part, part, name string, o Options, out io.Writer) error {
	for _, p := range parts {
		for _, c := range p.Cases {
			if p.Name != part || c.Name != name {
				continue
			}
			results, err := c.Run(ctx, o)
			w := json.NewEncoder(out)
			for _, r := range finite(results) {
				if err := w.Encode(r); err != nil {
					return err
				}
			}
			return err
		}
	}
	return fmt.Errorf("gpu-check: the part %q has no case %q", part, name)
}
