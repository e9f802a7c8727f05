// Package ranks joins the processes of a run that share its rows. Each process evaluates the terms
// of its own rows, and Summed adds the terms of all processes.
//
// Collective is the interface of the exchange. Goroutines implements Collective inside one process,
// MPI between processes (build tag mpi). The program does not use them yet: ppal trains in one
// process.
package ranks
