// Package cuda is the engine that runs problems of Gorgonia nodes on an NVIDIA GPU: the iterate, the gradients, the data and everything
// between stay there; f and g come back, the weights go in.
package cuda
