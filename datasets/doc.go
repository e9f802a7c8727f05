// Package datasets turns files into matrices and labels.
//
// It knows three sets of images: a built-in synthetic one, drawn from a seed
// (see Synthetic), Fashion-MNIST (IDX files) and CIFAR-10 (binary batches, in a
// folder or in the official archive). All and Lookup describe them, Load reads
// them, Fetch downloads them, Check compares what is on disk with the
// originals, and Select takes some of their classes for training.
//
// Data stay in the form in which the file holds them (Matrix): 8-bit pixels
// remain 8-bit, with a scale, and are widened a block of rows at a time.
package datasets
