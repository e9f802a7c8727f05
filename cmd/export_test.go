package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/models/predictor"
)

// The command writes the same ONNX file as the library. Bad input gives an error.
func TestExport(t *testing.T) {
	run := membersRun(t)
	m := require.Value(predictor.Load(run))(t)
	for _, ignore := range []string{"refuse", "ignore"} {
		file := filepath.Join(t.TempDir(), "model.onnx")
		got := command(context.Background(), nil, "export", run, "--onnx", file, "--unknown", ignore)
		if got.status != exitDone {
			t.Fatalf("%+v", got)
		}
		want := require.Value(m.ONNX(predictor.ONNXOptions{IgnoreUnknown: ignore == "ignore", Version: version()}))(t)
		if content, err := os.ReadFile(file); err != nil || string(content) != string(want) {
			t.Errorf("%s: %d bytes, want %d, %v", ignore, len(content), len(want), err)
		}
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"no file":   {[]string{"export", run}, exitUsage, "--onnx: give the file to write"},
		"no run":    {[]string{"export", t.TempDir(), "--onnx", "x"}, exitUsage, "not a complete run directory"},
		"unknown":   {[]string{"export", run, "--onnx", "x", "--unknown", "y"}, exitUsage, "must be refuse or ignore"},
		"no folder": {[]string{"export", run, "--onnx", "none/x"}, exitFailed, "--onnx: "},
	} {
		if got := command(context.Background(), nil, tc.args...); got.status != tc.status || !strings.Contains(got.stderr, tc.says) {
			t.Errorf("%s: %+v, want %d: %s", name, got, tc.status, tc.says)
		}
	}
}
