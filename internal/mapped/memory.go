package mapped

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// FreeMemory returns the number of bytes that this process can take without swapping and without
// being killed: the smallest of the memory that Linux calls available and the memory that the
// limits of the process's control groups leave. Memory that caches files counts as available. ok is
// false if the system does not say.
func FreeMemory() (bytes uint64, ok bool) { return available(os.DirFS("/")) }

// ResidentMemory returns the resident memory of this process in bytes; 0 if the system does not
// say.
func ResidentMemory() uint64 {
	all, _ := MemoryUsage()
	return all
}

// MemoryUsage returns the resident memory of this process in bytes, and the part that belongs to
// the process alone. The other part is pages of files, which the system can take at any time. Both
// are 0 if the system does not say.
func MemoryUsage() (all, own uint64) { return usage(os.DirFS("/")) }

func available(root fs.FS) (uint64, bool) {
	least := uint64(math.MaxUint64)
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		if kilobytes, ok := field(text, "MemAvailable:"); ok {
			least = kilobytes << 10
		}
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least, least != math.MaxUint64
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[0] == "0" && parts[1] == "":
			least = min(least, inGroups(root, "sys/fs/cgroup", parts[2], version2))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			least = min(least, inGroups(root, "sys/fs/cgroup/memory", parts[2], version1))
		}
	}
	return least, least != math.MaxUint64
}

// files names the files of a version of control groups: the limit, the memory in use, and the key
// in memory.stat of cached files that can be dropped.
type files struct{ limit, used, cached string }

var (
	version1 = files{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	version2 = files{"memory.max", "memory.current", "inactive_file"}
)

// inGroups returns the memory that the limits of a group and of its ancestors leave. In a
// container, the group's own path may not exist, and the mount itself is the group.
func inGroups(root fs.FS, mount, group string, f files) uint64 {
	least := uint64(math.MaxUint64)
	for at := path.Join("/", group); ; at = path.Dir(at) {
		dir := path.Join(mount, at)
		limit, limited := number(root, path.Join(dir, f.limit))
		used, known := number(root, path.Join(dir, f.used))
		if limited && known {
			if stat, err := fs.ReadFile(root, path.Join(dir, "memory.stat")); err == nil {
				if cached, ok := field(stat, f.cached); ok {
					used -= min(used, cached)
				}
			}
			least = min(least, limit-min(limit, used))
		}
		if at == "/" {
			return least
		}
	}
}

// number reads a file that holds a number. ok is false for "max", the value of a group without a
// limit.
func number(root fs.FS, name string) (n uint64, ok bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

// field returns the number after a key in a text whose lines have a key and a number.
func field(text []byte, key string) (n uint64, ok bool) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == key {
			n, err := strconv.ParseUint(string(fields[1]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func usage(root fs.FS) (all, own uint64) {
	text, err := fs.ReadFile(root, "proc/self/status")
	if err != nil {
		return 0, 0
	}
	all, _ = field(text, "VmRSS:") // in KiB
	own, _ = field(text, "RssAnon:")
	return all << 10, own << 10
}
