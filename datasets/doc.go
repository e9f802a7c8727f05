// Package datasets opens published and built-in sets of pictures and tables, and the user's files.
//
// All and Lookup describe the sets, Fetch downloads them, and Check compares the files on disk with
// the originals.
//
// Pictures: a built-in synthetic set, generated from a seed (see Synthetic), Fashion-MNIST (IDX
// files) and CIFAR-10 (binary batches, in a folder or in the official archive). OpenImages reads
// the labels of the training and test rows; package picture selects classes and reads the pixels.
// LoadImages reads all rows into memory.
//
// Tables: Adult, Bank Marketing, COMPAS, Communities and Crime, files of the user (separated text,
// Parquet, LIBSVM), and a synthetic stand-in for each of the four published tables. LoadTable
// splits a table into training, validation and test rows and prepares its features, labels of -1
// and +1, and groups; see package tabular.
//
// Data keep the form of the file (package matrix): pixels stay 8-bit with a scale, and sparse rows
// stay sparse. Readers widen the data one block of rows at a time.
package datasets
