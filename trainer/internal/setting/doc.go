// Package setting checks numbers that a user sets, 0 being the default.
package setting
