// Ppal trains models under constraints with proximal-perturbed Lagrangian methods, and certifies
// how close the result is to optimality.
package main

import "ppal/cmd"

func main() { cmd.Main() }
