package datatest

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"
)

// PNG returns the picture as a PNG file.
func PNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// JPEG returns the picture as a JPEG file of high quality.
func JPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Bars returns a grey picture of class 0, 1 or 2: horizontal bars, vertical bars, or a dark
// picture, with noise.
func Bars(r *rand.Rand, class, height, width int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			light := class == 0 && y%4 < 2 || class == 1 && x%4 < 2
			v := 40 + r.IntN(60)
			if light {
				v += 120
			}
			img.SetGray(x, y, color.Gray{Y: uint8(v)})
		}
	}
	return img
}
