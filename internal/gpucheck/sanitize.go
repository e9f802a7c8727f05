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

// sanitizerLimit is the longest time of each tool; both tools fit into a part.
const sanitizerLimit = 280 * time.Second

// sanitize runs the part small under the tools that check every memory access, if they are
// installed and support this device.
func sanitize(ctx context.Context, o Options) ([]Result, error) {
	var results []Result
	tool, missing := findSanitizer(os.Getenv)
	for _, kind := range []string{"memcheck", "racecheck"} {
		if missing != nil {
			results = append(results, Skipped(kind, missing.Error()))
			continue
		}
		o.Log("compute-sanitizer --tool %s", kind)
		limited, stop := context.WithTimeout(ctx, sanitizerLimit)
		args := []string{"--tool", kind, "--error-exitcode", "86", o.Self, "gpu-check", "--part", "small"}
		out, err := exec.CommandContext(limited, tool, args...).CombinedOutput()
		timedOut := limited.Err() != nil
		stop()
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		if timedOut {
			results = append(results, Skipped(kind, fmt.Sprintf("it was not done after %v", sanitizerLimit)))
			continue
		}
		results = append(results, sanitized(kind, string(out), err))
	}
	return results, nil
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
