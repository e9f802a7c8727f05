// Package setting checks numbers that a user sets. 0 means the default.
package setting
