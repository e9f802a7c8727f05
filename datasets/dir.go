package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names of the environment variables for Dir and Mirrors.
const (
	EnvData   = "PPAL_DATA"
	EnvMirror = "PPAL_MIRROR"
)

// Dir returns the data directory: explicit if it is not empty, else $PPAL_DATA, else ppal in the
// user's cache directory (os.UserCacheDir). getenv is os.Getenv except in tests. The directory need
// not exist.
func Dir(explicit string, getenv func(string) string) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if dir := getenv(EnvData); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: no cache directory: %w; use --data-dir or set %s", err, EnvData)
	}
	return filepath.Join(cache, "ppal"), nil
}

// DirOf calls Dir. A data set without published files needs no directory: a missing cache
// directory is then not an error, and the result may be "".
func DirOf(name, explicit string, getenv func(string) string) (string, error) {
	dir, err := Dir(explicit, getenv)
	if d, unknown := Lookup(name); unknown == nil && len(d.Files) == 0 {
		return dir, nil
	}
	return dir, err
}

// Mirrors returns the base URLs for downloads: explicit if it is not empty, else the
// comma-separated list $PPAL_MIRROR, else none, which means the original sources. A mirror has the
// layout of a data directory: file f is at base + "/" + f.Path.
func Mirrors(explicit []string, getenv func(string) string) []string {
	list := explicit
	if len(list) == 0 {
		list = strings.Split(getenv(EnvMirror), ",")
	}
	var bases []string
	for _, base := range list {
		if base = strings.TrimRight(strings.TrimSpace(base), "/"); base != "" {
			bases = append(bases, base)
		}
	}
	return bases
}
