//go:build !linux

package paged

import "os"

func reserve(*os.File, int64) error             { return ErrUnsupported }
func mapFile(*os.File, int64) ([]byte, error)   { return nil, ErrUnsupported }
func ours(*os.File) bool                        { return false }
func unnamed(string) (*os.File, string, error)  { return nil, "", ErrUnsupported }
func link(*os.File, string) error               { return ErrUnsupported }
func smallPieces(*os.File)                      {}
func mapToRead(*os.File, int64) ([]byte, error) { return nil, ErrUnsupported }
func unmap([]byte) error                        { return nil }
func giveBack([]byte)                           {}
func readAhead([]byte)                          {}
