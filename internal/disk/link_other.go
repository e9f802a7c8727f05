//go:build !linux

package disk

import (
	"errors"
	"os"
)

// Unnamed implements System.
func (OS) Unnamed(string, os.FileMode) (Handle, error) { return nil, errors.ErrUnsupported }

// Link implements System.
func (OS) Link(Handle, string) error { return errors.ErrUnsupported }
