//go:build !unix

package dirlock

import "os"

// lock does nothing: the operating system has no advisory locks.
func lock(*os.File) (held bool, err error) { return false, nil }

// free reports false: nobody knows.
func free(*os.File) bool { return false }
