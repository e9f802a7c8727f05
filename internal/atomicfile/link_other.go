//go:build !linux

package atomicfile

import "errors"

func link(Handle, string) error { return errors.ErrUnsupported }
