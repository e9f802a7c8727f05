//go:build amd64 && !linux

package kernel

import "errors"

func permitTiles() error { return errors.New("this operating system is not Linux") }
