package gpucheck

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ppal/cuda/driver"
	"ppal/internal/bench"
)

// peersProgram times PyTorch on the same GPU.
//
//go:embed peers.py
var peersProgram string

// peerSeconds is the time for all of PyTorch's contenders of a case, without their preparation.
const peerSeconds = 8

// peerRequest is the program's input, and peerReply a line of its output.
type peerRequest struct {
	Seconds float64    `json:"seconds"`
	Cases   []peerCase `json:"cases"`
}

type peerCase struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Rows     int    `json:"rows"`
	Features int    `json:"features"`
	Width    int    `json:"width"`
	Classes  int    `json:"classes"`
	Groups   int    `json:"groups"`
	TF32     bool   `json:"tf32"`
}

type peerReply struct {
	Name         string             `json:"name"`
	Torch        string             `json:"torch"`
	Milliseconds map[string]float64 `json:"milliseconds"`
	Failed       map[string]string  `json:"failed"`
}

// peers times iterations of ppal, then of PyTorch, then of ppal again.
func peers(ctx context.Context, o Options) ([]Result, error) {
	if out, err := exec.CommandContext(ctx, o.Python, "-c", "import torch").CombinedOutput(); err != nil {
		return []Result{Skipped("PyTorch", fmt.Sprintf("%s -c 'import torch': %v %s", o.Python, err, lastLine(string(out))))}, nil
	}
	var results []Result
	for _, c := range timedCases() {
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		o.Log("peers: %s", c.label())
		r, err := peersOf(ctx, o, c)
		if err != nil {
			return results, err
		}
		results = append(results, r...)
	}
	return results, nil
}

// peersOf compares one case with PyTorch.
func peersOf(ctx context.Context, o Options, c timedCase) (results []Result, err error) {
	p, err := c.prepare(ctx, o, o.opened(func(d driver.Driver) driver.Driver { return d }))
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
		return []Result{{Name: c.label(), Status: Failed, Detail: err.Error()}}, nil
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	times, err := turnOf(o, p)
	if err != nil {
		return nil, err
	}
	measure := func() (float64, error) {
		var all []float64
		for range rounds {
			one, err := milliseconds(p, times)
			if err != nil {
				return 0, err
			}
			all = append(all, one)
		}
		return median(all), nil
	}
	before, err := measure()
	if err != nil {
		return nil, err
	}
	reply, err := askPyTorch(ctx, o.Python, c.request(p.Shape()))
	if err != nil {
		return []Result{{Name: c.label(), Status: Failed, Detail: err.Error()}}, nil
	}
	after, err := measure()
	if err != nil {
		return nil, err
	}
	return c.judgePeers((before+after)/2, reply), nil
}

// request returns the request to PyTorch for the case.
func (c timedCase) request(s bench.Shape) peerRequest {
	q := peerCase{Name: c.label(), Kind: "images", Rows: s.Rows, Features: s.Features, Width: s.Width, Classes: s.Constraints + 1,
		TF32: c.precision == driver.TF32}
	if c.groups {
		q.Kind, q.Classes, q.Groups = "groups", 0, s.Constraints
	}
	return peerRequest{Seconds: peerSeconds, Cases: []peerCase{q}}
}

// askPyTorch runs the program on a request with one case.
func askPyTorch(ctx context.Context, python string, request peerRequest) (peerReply, error) {
	input, err := json.Marshal(request)
	if err != nil {
		return peerReply{}, err
	}
	dir, err := os.MkdirTemp("", "ppal-peers-") // in a file, because torch.compile reads sources
	if err != nil {
		return peerReply{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "peers.py")
	if err := os.WriteFile(file, []byte(peersProgram), 0o600); err != nil {
		return peerReply{}, err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, python, file)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		return peerReply{}, fmt.Errorf("gpu-check: PyTorch: %w: %s", err, lastLine(stderr.String()))
	}
	var reply peerReply
	if err := json.Unmarshal([]byte(lastLine(string(out))), &reply); err != nil {
		return peerReply{}, fmt.Errorf("gpu-check: PyTorch's answer: %w", err)
	}
	return reply, nil
}

// lastLine returns the last line that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// judgePeers compares an iteration of ours milliseconds with PyTorch's.
func (c timedCase) judgePeers(ours float64, r peerReply) []Result {
	own := Measurement(c.label()+": an iteration", ours, "ms")
	own.Detail = "compared with PyTorch " + r.Torch
	results := []Result{own}
	for _, name := range slices.Sorted(maps.Keys(r.Milliseconds)) {
		title := fmt.Sprintf("%s: PyTorch, %s, over ppal", c.label(), name)
		ratio := Measurement(title, r.Milliseconds[name]/ours, "x")
		switch {
		case name == "eager" && c.eager > 0:
			ratio = AtLeast(title, ratio.Value, c.eager, "x")
		case name == c.form && c.library > 0:
			ratio = AtLeast(title, ratio.Value, c.library, "x")
		}
		ratio.Detail = number(r.Milliseconds[name]) + " ms"
		results = append(results, ratio)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
		results = append(results, Skipped(fmt.Sprintf("%s: PyTorch, %s", c.label(), name), r.Failed[name]))
	}
	return results
}
