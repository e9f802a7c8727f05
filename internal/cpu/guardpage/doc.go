// Package guardpage gives tests memory beside pages that can be neither read nor written: what leaves its buffer there faults.
package guardpage
