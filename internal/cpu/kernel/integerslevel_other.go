//go:build !amd64

package kernel

func integers(level Level) Integers { return integersGo(level, byteRows/2, 8) }
