//go:build !linux

package disk

func hasUnnamed(string) bool { return false }
