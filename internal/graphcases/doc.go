// Package graphcases provides small problems of Gorgonia nodes on random rows, with every model and
// every kind of constraint. Tests compare devices with each other on these problems.
package graphcases
