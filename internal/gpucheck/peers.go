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
	"time"

	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
)

// peersProgram times PyTorch, and JAX if it is installed, on the same GPU.
//
//go:embed peers.py
var peersProgram string

// peerSeconds is the time for all of PyTorch's contenders of a case, without their preparation.
const peerSeconds = 8

// The names of contenders of peers.py.
const (
	eager    = "eager"
	captured = "captured"
)

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
	Filters  []int  `json:"filters,omitempty"`
	Pooled   int    `json:"pooled,omitempty"`
}

type peerReply struct {
	Name         string             `json:"name"`
	Torch        string             `json:"torch"`
	Milliseconds map[string]float64 `json:"milliseconds"`
	Failed       map[string]string  `json:"failed"`
}

// peerCases time iterations of ppal, then of PyTorch, then of ppal again. All products of ppal with
// the same shape and PyTorch precision are one case, because PyTorch's preparation takes longest.
func peerCases() (list []Case) {
	type question struct {
		name string
		tf32 bool
	}
	same := map[question][]timedCase{}
	var order []question
	for _, c := range timedCases() {
		q := question{c.name, c.precision == driver.TF32}
		if same[q] == nil {
			order = append(order, q)
		}
		same[q] = append(same[q], c)
	}
	for _, q := range order {
		name := q.name + " float32"
		if q.tf32 {
			name = q.name + " tf32"
		}
		list = append(list, Case{Name: name, Limit: 3 * time.Minute, Run: func(ctx context.Context, o Options) ([]Result, error) {
			return peersOf(ctx, o, same[q])
		}})
	}
	return list
}

// peersOf compares cases with a single measurement of PyTorch.
func peersOf(ctx context.Context, o Options, cases []timedCase) (results []Result, err error) {
	if missing := noPyTorch(ctx, o); missing != nil {
		return missing, nil
	}
	times := make([][]float64, len(cases))
	var request peerRequest
	measure := func() error {
		for i, c := range cases {
			ms, s, err := ownTime(ctx, o, c)
			if err != nil {
				return err
			}
			times[i] = append(times[i], ms)
			if i == 0 {
				request = c.request(s)
			}
		}
		return nil
	}
	if err := measure(); err != nil {
		return nil, err
	}
	reply, asked := askPyTorch(ctx, o.Python, request)
	if asked == nil {
		asked = measure()
	}
	for i, c := range cases {
		results = append(results, c.judgePeers(mean(times[i]), reply)...)
	}
	return results, asked
}

// noPyTorch returns a result with the reason if there is no PyTorch.
func noPyTorch(ctx context.Context, o Options) []Result {
	if out, err := exec.CommandContext(ctx, o.Python, "-c", "import torch").CombinedOutput(); err != nil {
		return []Result{Skipped("PyTorch", fmt.Sprintf("%s -c 'import torch': %v %s", o.Python, err, lastLine(string(out))))}
	}
	return nil
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// ownTime returns the median milliseconds of a case's iteration, and the case's shape.
func ownTime(ctx context.Context, o Options, c timedCase) (ms float64, s bench.Shape, err error) {
	p, err := c.prepare(ctx, o, o.opened(func(d driver.Driver) driver.Driver { return d }))
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
		return 0, s, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	times, err := turnOf(o, p)
	if err != nil {
		return 0, s, err
	}
	var all []float64
	for range rounds {
		one, err := milliseconds(p, times)
		if err != nil {
			return 0, s, err
		}
		all = append(all, one)
	}
	return median(all), p.Shape(), nil
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

// library returns a contender's name with the library: all contenders but JAX are PyTorch.
func library(contender string) string {
	if strings.HasPrefix(contender, "JAX") {
		return contender
	}
	return "PyTorch, " + contender
}

// judgePeers compares an iteration of ours milliseconds with PyTorch's.
func (c timedCase) judgePeers(ours float64, r peerReply) []Result {
	own := Measurement(c.label()+": an iteration", ours, "ms")
	own.Detail = "compared with PyTorch " + r.Torch
	results := []Result{own}
	for _, name := range slices.Sorted(maps.Keys(r.Milliseconds)) {
		title := fmt.Sprintf("%s: %s, over ppal", c.label(), library(name))
		ratio := Measurement(title, r.Milliseconds[name]/ours, "x")
		switch {
		case name == eager && c.eager > 0:
			ratio = AtLeast(title, ratio.Value, c.eager, "x")
		case name == captured && c.captured > 0:
			ratio = AtLeast(title, ratio.Value, c.captured, "x")
		}
		ratio.Detail = number(r.Milliseconds[name]) + " ms"
		results = append(results, ratio)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
		results = append(results, Skipped(fmt.Sprintf("%s: %s", c.label(), library(name)), r.Failed[name]))
	}
	return results
}
