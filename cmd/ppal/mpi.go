//go:build mpi

package main

import "ppal/internal/ranks"

// joinProcesses starts MPI.
var joinProcesses = ranks.MPI
