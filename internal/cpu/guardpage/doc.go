// Package guardpage allocates memory for tests that ends or begins at a page without access
// rights: an access outside the memory faults.
package guardpage
