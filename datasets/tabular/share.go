package tabular

// Share connects the processes that load the same table with the same options and divide its rows.
// Each process keeps the labels, groups and attributes of all rows, and the features of its own
// rows only.
type Share interface {
	// Rank returns the number of this process, from 0.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Rows returns this process's range of the n rows of a split.
	Rows(n int) (from, to int)
	// Sum replaces x by the sum of the x of all processes, in the order of the ranks.
	Sum(x []float64) error
	// Vote reports whether a process votes for true, and returns an error if a process has failed.
	// Each process calls Vote in the same order, unless it fails before.
	Vote(own bool) (any bool, err error)
	// Agree returns err, or an error if another process has one. Each process calls Agree once for a
	// table, before the first Sum, unless it fails before.
	Agree(err error) error
}
