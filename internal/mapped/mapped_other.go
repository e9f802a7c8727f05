//go:build !linux

package mapped

import (
	"os"

	"ppal/internal/atomicfile"
)

func reserve(atomicfile.Handle, int64) error                 { return ErrUnsupported }
func mapFile(atomicfile.Handle, int64, bool) ([]byte, error) { return nil, ErrUnsupported }
func ours(*os.File) bool                                     { return false }
func smallPieces(atomicfile.Handle)                          {}
func unmap([]byte) error                                     { return nil }
func giveBack([]byte)                                        {}
func readAhead([]byte)                                       {}
