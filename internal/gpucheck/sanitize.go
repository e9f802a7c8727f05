package gpucheck

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// sanitizerLimit is the longest time of each tool.
const sanitizerLimit = 280 * time.Second

// sanitizeCases run the part small under the tools that check every memory access, if they are
// installed and support this device.
func sanitizeCases() (list []Case) {
	for _, kind := range []string{"memcheck", "racecheck", "initcheck", "synccheck"} {
		list = append(list, Case{Name: kind, Limit: sanitizerLimit + caseLimit, Run: func(ctx context.Context, o Options) ([]Result, error) {
			return sanitize(ctx, o, kind)
		}})
	}
	return list
}

// sanitize runs one tool.
func sanitize(ctx context.Context, o Options, kind string) ([]Result, error) {
	tool, missing := findSanitizer(os.Getenv)
	if missing != nil {
		return []Result{Skipped(kind, missing.Error())}, nil
	}
	limited, stop := context.WithTimeout(ctx, sanitizerLimit)
	defer stop()
	args := append([]string{"--tool", kind, "--error-exitcode", "86", o.Self}, append(o.Args, "--part", "small", "--case", "small")...)
	cmd := exec.CommandContext(limited, tool, args...)
	cmd.WaitDelay = waitDelay
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return []Result{Skipped(kind, fmt.Sprintf("stopped after its time limit of %v", sanitizerLimit))}, nil
	}
	return []Result{sanitized(kind, string(out), err)}, nil
}

// findSanitizer looks for the tool in PATH and in the toolkits' folders.
func findSanitizer(getenv func(string) string) (string, error) {
	const name = "compute-sanitizer"
	if file, err := exec.LookPath(name); err == nil {
		return file, nil
	}
	for _, home := range []string{getenv("CUDA_HOME"), "/usr/local/cuda"} {
		file := filepath.Join(home, "bin", name)
		if _, err := os.Stat(file); home != "" && err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// The last line of the tool's output, and its output if it does not support the device.
var (
	errorSummary = regexp.MustCompile(`(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)`)
	unsupported  = regexp.MustCompile(`(?i)device not supported|target application terminated before first instrumented api call`)
)

// sanitized parses the tool's output.
func sanitized(kind, out string, err error) Result {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[max(0, len(lines)-3):]
	detail := strings.Join(strings.Fields(strings.Join(last, " ")), " ")
	found := errorSummary.FindStringSubmatch(out)
	switch {
	case unsupported.MatchString(out):
		return Skipped(kind, unsupported.FindString(out))
	case found == nil:
		return Result{Name: kind, Status: Failed, Detail: fmt.Sprintf("no summary (%v): %s", err, detail)}
	}
	var errors float64
	if _, bad := fmt.Sscan(found[1]+found[2], &errors); bad != nil {
		return Result{Name: kind, Status: Failed, Detail: detail}
	}
	r := Result{Name: kind, Status: passed(errors == 0 && err == nil), Value: errors, Unit: "errors"}
	if r.Status == Failed {
		r.Detail = detail
	}
	return r
}
