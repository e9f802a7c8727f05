// Package ranks joins the processes of a run that share its rows.
//
// Collective is the exchange: sums in the order of the ranks, and broadcasts. Goroutines implements
// Collective inside one process, MPI between processes (build tag mpi). A Team runs procedures in
// all processes. Rank 0 leads: it calls the procedures, and the others serve. Device makes the
// passes of a plan such procedures, for a device that divides the rows (cpu.Device.Among).
//
// The leader alone runs the method, keeps the time and writes the files. An iteration sends the
// weights and m + 1 coefficients from rank 0 to the others, and adds f, g and one gradient over
// all.
package ranks
