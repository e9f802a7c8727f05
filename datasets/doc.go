// Package datasets reads files into matrices, labels and groups.
//
// It has data sets of images and tables. All and Lookup describe them, Fetch downloads them, and
// Check compares the files on disk with the originals.
//
// Images: a built-in synthetic set, generated from a seed (see Synthetic), Fashion-MNIST (IDX
// files) and CIFAR-10 (binary batches, in a folder or in the official archive). OpenImages reads
// the labels of the training and test rows, Choose selects classes, and Read passes their pixels,
// in the order of the file, to a matrix.RowStore. LoadImages and Select do the same with all rows
// in memory.
//
// Tables: Adult, Bank Marketing, COMPAS, Communities and Crime, files of the user (separated text,
// LIBSVM), and a synthetic stand-in for each of the four published tables. LoadTable splits a table
// into training, validation and test rows (Split) and prepares its features (Preparation), labels
// of -1 and +1, and groups.
//
// Data keep the form of the file (package matrix): pixels stay 8-bit with a scale, and sparse rows
// stay sparse. Readers widen the data one block of rows at a time.
package datasets
