// Package open opens GPUs in builds that have support for them (build tag gpu), and says in the others how to get it.
package open
