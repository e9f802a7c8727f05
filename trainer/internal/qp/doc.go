// Package qp solves the small quadratic programs of certificates and primal steps, on the host in
// float64.
package qp
