//go:build !linux

package atomicfile

import "errors"

func withoutName(string) (Handle, error) { return nil, errors.ErrUnsupported }

func link(Handle, string) error { return errors.ErrUnsupported }
