//go:build !linux

package atomicfile

func hasUnnamed(string) bool { return false }
