// Package datasets turns files into matrices, labels and groups.
//
// It knows sets of images and tables; All and Lookup describe them, Fetch
// downloads them, Check compares what is on disk with the originals.
//
// Images: a built-in synthetic set, drawn from a seed (see Synthetic),
// Fashion-MNIST (IDX files) and CIFAR-10 (binary batches, in a folder or in the
// official archive). OpenImages reads the labels of their training and test
// rows, Choose takes some classes of them, and Read hands their pixels, as they
// come from the file, to the store that keeps them (matrix.RowStore). LoadImages and Select do
// the same with all rows in memory.
//
// Tables: Adult, Bank Marketing, COMPAS, Communities and Crime, files of the
// user's (separated text, LIBSVM), and a synthetic stand-in for each of the
// four. LoadTable splits one into training, validation and test rows (Split)
// and prepares its features (Preparation), labels of -1 and +1, and groups.
//
// Data stay in the form in which the file holds them (package matrix): 8-bit pixels
// remain 8-bit, with a scale, and sparse rows remain sparse; both are widened a
// block of rows at a time.
package datasets
