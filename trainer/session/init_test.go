package session

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
)

// Files that are no start for a run: one line that names the flag and what to do.
func TestInitRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	if err := build(t, small(nil)).Save(path); err != nil {
		t.Fatal(err)
	}
	linear := filepath.Join(dir, "linear.safetensors")
	if err := build(t, small(func(c *config.Train) { c.Model = config.Model{Model: "linear"} })).Save(linear); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(c *config.Train)
		want   string
		is     error
	}{
		"missing": {func(c *config.Train) { c.Init = "nope" },
			"--init nope: no such file or directory; name a safetensors file, such as a run's model.safetensors", fs.ErrNotExist},
		"directory": {func(c *config.Train) { c.Init = dir },
			"--init " + dir + ": is a directory; name a safetensors file, such as a run's model.safetensors", nil},
		"text": {func(c *config.Train) { c.Init = "init.go" }, "--init: init.go: ", nil},
		"wider": {func(c *config.Train) { c.Hidden = []int{7, 8} },
			"--init " + path + ": the file's model has hidden [6], the run's [7 8]: give --hidden 6", config.ErrUsage},
		"separate": {func(c *config.Train) { c.Heads, c.Activation = "separate", "relu" },
			"--init " + path + ": the file's model has activation sigmoid, the run's relu: give --activation sigmoid; " +
				"the file's model has heads shared, the run's separate: give --heads shared", config.ErrUsage},
		"linear": {func(c *config.Train) { c.Init = linear },
			"--init " + linear + ": the file's model has hidden [], the run's [6]: give --model linear", config.ErrUsage},
		"network": {func(c *config.Train) { c.Model = config.Model{Model: "linear"} },
			"--init " + path + ": the file's model has hidden [6], the run's []: give --model mlp --hidden 6", config.ErrUsage},
		"classes": {func(c *config.Train) { c.Classes = []int{0, 1} },
			"--init " + path + ": the file's model has outputs 3, the run's 2: give as many --classes", config.ErrUsage},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(t.Context(), small(func(c *config.Train) { c.Init = path; tc.change(c) }), "")
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// An interrupt while the data load ends the run.
func TestNewInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, small(nil), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
