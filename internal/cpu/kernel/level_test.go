package kernel

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"ppal/internal/require"
)

func TestLevels(t *testing.T) {
	for _, level := range Levels() {
		parsed, err := ParseLevel(level.String())
		if err != nil || parsed != level {
			t.Errorf("ParseLevel(%q) = %v, %v", level, parsed, err)
		}
		k, err := New[float32](level)
		if err != nil || k.Level() != level {
			t.Errorf("New(%v): %v", level, err)
		}
	}
	if _, err := ParseLevel("sse"); err == nil {
		t.Error("ParseLevel accepts sse")
	}
	for _, level := range []Level{Go - 1, AVX512 + 1, AVX512, AVX2} {
		if level.Supported() {
			continue
		}
		_, err := New[float64](level)
		if unsupported := new(UnsupportedError); !errors.As(err, &unsupported) || unsupported.Best != Best() {
			t.Errorf("New(%v): %v", level, err)
		}
	}
}

// TestPreference checks the order in which levels are chosen.
func TestPreference(t *testing.T) {
	levels := Levels()
	if levels[0] != Go || levels[len(levels)-1] != Best() {
		t.Errorf("Levels() = %v, Best() = %v", levels, Best())
	}
	best := Go
	for _, l := range []Level{AVX2, AVX512, AMX} {
		if l.Supported() {
			best = l
		}
	}
	if Best() != best {
		t.Errorf("Best() = %v of %v", Best(), levels)
	}
	for _, l := range preference() {
		needs, ok := l.needs()
		if !ok || l.Supported() != cpuFeatures().include(needs) {
			t.Errorf("%v: Supported() = %t", l, l.Supported())
		}
	}
}

// TestTables checks that every assembly level fills every field of the dispatch tables, except the
// product that only level Go uses instead of tiles. Products with 8-bit data have either tiles or
// strips.
func TestTables(t *testing.T) {
	for _, level := range Levels() {
		if level == Go {
			continue
		}
		single := require.Value(New[float32](level))(t)
		double := require.Value(New[float64](level))(t)
		if single.products.gemm != nil || double.products.gemm != nil {
			t.Errorf("%v: the products of level Go", level)
		}
		single.products.gemm, double.products.gemm = reference[float32]().products.gemm, reference[float64]().products.gemm
		filled(t, fmt.Sprintf("%v float32", level), reflect.ValueOf(*single))
		filled(t, fmt.Sprintf("%v float64", level), reflect.ValueOf(*double))
		for i, tiles := range byteTilesOf(level) {
			if tiles.strips() {
				tiles.mulBytes, tiles.addBytes = [2]mulBytesFunc{tiles.mulBytesGo(2), tiles.mulBytesGo(3)}, [2]addBytesFunc{tiles.addBytesGo(2), tiles.addBytesGo(3)}
			} else {
				model := amxModel(t)
				tiles.mulStrip, tiles.addStrip, tiles.activateStrip = model.mulStrip, model.addStrip, model.activateStrip
				tiles.bfloat16Strip, tiles.split = model.bfloat16Strip, model.split
			}
			filled(t, fmt.Sprintf("%v tiles %d", level, i), reflect.ValueOf(tiles))
		}
	}
}

// filled fails for every field within v that is zero.
func filled(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			filled(t, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is not set", name)
		}
	}
}
