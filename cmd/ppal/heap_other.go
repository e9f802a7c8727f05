//go:build !linux

package main

// adviseHugePages does nothing.
func adviseHugePages([]byte) {}
