// Package guardpage gives tests memory that ends or begins at a page which cannot be read or
// written: an access outside the memory faults.
package guardpage
