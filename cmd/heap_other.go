//go:build !linux

package cmd

// adviseHugePages does nothing.
func adviseHugePages([]byte) {}
