//go:build !mpi

package main

import "ppal/internal/ranks"

// joinProcesses is nil: this program supports one process.
var joinProcesses func() (c ranks.Collective, end func() error, err error)
