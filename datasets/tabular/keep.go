package tabular

// Keep says where a process with TableOptions.Pages keeps the values of a csv file's columns, or
// the entries of a LIBSVM file, for later processes. A later process with the same file and the
// same columns does not parse the rows.
//
// The name of the kept file depends on the table's path and on the options that determine how rows
// are read, but not on the split, the seed and the centres of the features. If a kept file is
// damaged, or if the table has changed, the kept file is replaced.
type Keep struct {
	// Folder is the directory of the kept files. The directory is made if it does not exist.
	Folder string
	// SHA256 returns the checksum of TableOptions.File, in hexadecimal.
	SHA256 func() (string, error)
}
