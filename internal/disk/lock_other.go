//go:build !unix

package disk

import "os"

// tryLock does nothing: the operating system has no advisory locks.
func tryLock(*os.File) (held bool, err error) { return false, nil }

// isFree reports false: nobody knows.
func isFree(*os.File) bool { return false }
