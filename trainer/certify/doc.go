// Package certify measures how close an iterate is to a KKT point. The certificate contains the
// multiplier that proves the result.
package certify
