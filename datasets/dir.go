package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names of the environment variables that Dir and Mirrors read.
const (
	EnvData   = "PPAL_DATA"
	EnvMirror = "PPAL_MIRROR"
)

// Dir resolves the data directory: the explicit one where it is not empty,
// else $PPAL_DATA, else ppal in the user's cache directory
// (os.UserCacheDir). getenv is os.Getenv outside tests. The directory need not
// exist.
func Dir(explicit string, getenv func(string) string) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if dir := getenv(EnvData); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("datasets: no cache directory: %w; name a data directory or set %s", err, EnvData)
	}
	return filepath.Join(cache, "ppal"), nil
}

// Mirrors resolves the base URLs to download from: the explicit ones where
// there are any, else the comma-separated list $PPAL_MIRROR, else none, which
// means the original sources. A mirror is laid out like a data directory: file
// f is at base + "/" + f.Path.
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
