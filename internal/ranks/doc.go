// Package ranks joins the processes of a run: it implements problem.Collective.
//
// Goroutines returns ranks inside one process, for tests. With the build tag mpi, MPI returns the
// rank of this process among the processes that mpirun or Slurm started (Open MPI or MPICH).
package ranks
