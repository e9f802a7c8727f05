// Package graphcases is problems of Gorgonia nodes on random rows, small, of every model and every kind of constraints, on which devices
// are compared with each other.
package graphcases
