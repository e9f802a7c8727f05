package session

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ppal/internal/config"
	"ppal/models"
)

// initError says why --init's file is no start for the run, and what would make it one. The run's own settings are at fault where
// the file holds another model: the error is a *config.Error then.
func initError(path string, err error) error {
	var mismatch *models.MismatchError
	if errors.As(err, &mismatch) {
		return &config.Error{Where: "--init " + path + ":", Problem: advice(mismatch)}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("--init %s: %w; name a safetensors file, such as a run's model.safetensors", path, pe.Err)
	}
	return fmt.Errorf("--init: %w", err)
}

// advice says for each setting that differs which flag would make it the file's.
func advice(e *models.MismatchError) string {
	var differ []string
	for _, d := range e.Differences() {
		differ = append(differ, fmt.Sprintf("the file's model has %s %v, the run's %v: give %s", d.Key, d.File, d.Want, remedy(e, d)))
	}
	return strings.Join(differ, "; ")
}

func remedy(e *models.MismatchError, d models.Difference) string {
	switch d.Key {
	case "inputs":
		return "the --dataset that it was trained on"
	case "outputs":
		return "as many --classes"
	case "hidden":
		if len(e.File.Hidden) == 0 {
			return "--model linear"
		}
		flags := "--hidden " + strings.Trim(strings.ReplaceAll(fmt.Sprint(e.File.Hidden), " ", ","), "[]")
		if len(e.Want.Hidden) == 0 {
			return "--model mlp " + flags
		}
		return flags
	}
	return fmt.Sprintf("--%s %v", d.Key, d.File)
}
