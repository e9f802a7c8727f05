//go:build !linux

package mapped

import (
	"os"

	"ppal/internal/disk"
)

func reserve(disk.Handle, int64) error                 { return ErrUnsupported }
func mapFile(disk.Handle, int64, bool) ([]byte, error) { return nil, ErrUnsupported }
func ours(*os.File) bool                               { return false }
func smallPieces(disk.Handle)                          {}
func unmap([]byte) error                               { return nil }
func giveBack([]byte)                                  {}
func readAhead([]byte)                                 {}
func hugePages([]byte)                                 {}
