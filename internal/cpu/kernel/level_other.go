//go:build !amd64

package kernel

func best() Level { return Go }

func products32(Level) products[float32] { return productsGo32() }

func products64(Level) products[float64] { return productsGo64() }

func passes32(Level) passes[float32] { return passesGo[float32]() }

func passes64(Level) passes[float64] { return passesGo[float64]() }

func narrow32(Level) narrows[float32] { return narrowGo[float32]() }

func narrow64(Level) narrows[float64] { return narrowGo[float64]() }
