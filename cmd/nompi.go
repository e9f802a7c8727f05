//go:build !mpi

package cmd

import "ppal/internal/ranks"

// joinProcesses is nil: this program supports one process.
var joinProcesses func() (c ranks.Collective, end func() error, err error)
