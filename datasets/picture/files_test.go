package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// Area averaging gives the mean of each rectangle, here summed in small squares.
func TestResize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		height, width, h, w := 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(9)
		plane, got := make([]uint8, height*width), make([]uint8, h*w)
		for i := range plane {
			plane[i] = uint8(r.IntN(256))
		}
		resize(got, h, w, plane, height, width)
		for i := range h {
			for j := range w {
				sum := 0 // over height x width squares of a target pixel of this size
				for y := i * height; y < (i+1)*height; y++ {
					for x := j * width; x < (j+1)*width; x++ {
						sum += int(plane[y/h*width+x/w])
					}
				}
				n := height * width
				if want := (sum + n/2) / n; int(got[i*w+j]) != want {
					t.Fatalf("%dx%d to %dx%d: pixel (%d, %d) is %d, want %d", height, width, h, w, i, j, got[i*w+j], want)
				}
			}
		}
	}
}

// read reads one picture from memory.
func read(t *testing.T, content []byte, e tabular.PictureEncoding) []uint8 {
	t.Helper()
	out := make([]uint8, e.Pixels())
	require.NoError(t, NewReader(e).decode(content, out))
	return out
}

// Every form of PNG and JPEG gives the same pixels, in grey and in colour.
func TestForms(t *testing.T) {
	box := image.Rect(0, 0, 2, 1)
	colours := []color.NRGBA{{200, 100, 50, 255}, {10, 20, 30, 255}}
	palette := image.NewPaletted(box, color.Palette{colours[0], colours[1]})
	palette.SetColorIndex(1, 0, 1)
	fill := func(set func(x, y int, c color.Color)) {
		for x, c := range colours {
			set(x, 0, c)
		}
	}
	rgba, deep, clear := image.NewRGBA(box), image.NewNRGBA64(box), image.NewNRGBA(box)
	fill(rgba.Set)
	fill(deep.Set)
	for x, c := range colours {
		c.A = uint8(10 + 100*x) // ignored
		clear.SetNRGBA(x, 0, c)
	}
	want := []uint8{200, 10, 100, 20, 50, 30}
	grey := []uint8{luma(200, 100, 50), luma(10, 20, 30)}
	for name, img := range map[string]image.Image{"palette": palette, "8 bits": rgba, "16 bits": deep, "transparent": clear} {
		content := datatest.PNG(t, img)
		if got := read(t, content, tabular.PictureEncoding{Height: 1, Width: 2, Channels: 3}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got := read(t, content, tabular.PictureEncoding{Height: 1, Width: 2, Channels: 1}); !slices.Equal(got, grey) {
			t.Errorf("%s in grey: %v, want %v", name, got, grey)
		}
	}
	sixteen := image.NewGray16(box)
	sixteen.SetGray16(0, 0, color.Gray16{0xabcd})
	if got := read(t, datatest.PNG(t, sixteen), tabular.PictureEncoding{Height: 1, Width: 2, Channels: 3}); !slices.Equal(got, []uint8{0xab, 0, 0xab, 0, 0xab, 0}) {
		t.Errorf("grey of 16 bits: %x", got)
	}
	cmyk := image.NewCMYK(box)
	cmyk.SetCMYK(0, 0, color.CMYK{0, 255, 255, 0}) // red
	h := &header{height: 1, width: 2, decode: func(io.Reader) (image.Image, error) { return cmyk, nil }}
	planes, err := h.pixels(nil, 3)
	if err != nil || !slices.Equal(slices.Concat(planes...), []uint8{255, 255, 0, 255, 0, 255}) {
		t.Errorf("CMYK: %v, %v", planes, err)
	}
	big := datatest.Bars(rand.New(rand.NewPCG(1, 1)), 0, 16, 16)
	photo := require.Value(jpeg.Decode(bytes.NewReader(datatest.JPEG(t, big))))(t)
	if got := read(t, datatest.JPEG(t, big), tabular.PictureEncoding{Height: 16, Width: 16, Channels: 1}); !slices.Equal(got, photo.(*image.Gray).Pix) {
		t.Error("a grey JPEG gives other pixels than its decoder")
	}
}

// withOrientation returns a JPEG file with an orientation of EXIF.
func withOrientation(content []byte, o uint16) []byte {
	exif := []byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	exif = append(binary.BigEndian.AppendUint16(exif, o), 0, 0, 0, 0, 0, 0)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(2+len(exif)))
	return slices.Concat(content[:2], segment, exif, content[2:])
}

// Pictures with an orientation are turned upright: the light corner of the stored picture moves as
// EXIF says.
func TestOrientation(t *testing.T) {
	const height, width = 16, 32
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range 8 {
		for x := range 8 {
			img.SetGray(x, y, color.Gray{Y: 255}) // row 0 and column 0 of EXIF meet here
		}
	}
	content := datatest.JPEG(t, img)
	for o, corner := range []string{"", "top left", "top right", "bottom right", "bottom left", "left top", "right top", "right bottom", "left bottom"} {
		if o == 0 {
			continue
		}
		h, err := readHeader(withOrientation(content, uint16(o)))
		if err != nil || h.orientation != o {
			t.Fatalf("orientation %d: %+v, %v", o, h, err)
		}
		up, across := h.upright()
		if turned := o > 4; turned != (up == width) {
			t.Errorf("orientation %d: %d x %d", o, up, across)
		}
		got := read(t, withOrientation(content, uint16(o)), tabular.PictureEncoding{Height: up, Width: across, Channels: 1})
		y, x := 2, 2
		if bytes.Contains([]byte(corner), []byte("bottom")) {
			y = up - 3
		}
		if bytes.Contains([]byte(corner), []byte("right")) {
			x = across - 3
		}
		if got[y*across+x] < 200 {
			t.Errorf("orientation %d: the %s corner is dark", o, corner)
		}
	}
}

// bomb returns the beginning of a PNG file of n x n pixels.
func bomb(t *testing.T, n uint32) []byte {
	content := datatest.PNG(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(content[16:], n)
	binary.BigEndian.PutUint32(content[20:], n)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(content[12:29]))
	return content
}

// Bad files are errors of one line that name the file.
func TestBadFiles(t *testing.T) {
	dir, bars := t.TempDir(), datatest.Bars(rand.New(rand.NewPCG(1, 1)), 1, 20, 20)
	photo, drawing := datatest.JPEG(t, bars), datatest.PNG(t, bars)
	for i, c := range []struct {
		content []byte
		want    error
		text    string
	}{
		{photo[:len(photo)/2], dataerr.ErrTruncated, "the picture ends early"},
		{drawing[:len(drawing)/2], dataerr.ErrTruncated, "the picture ends early"},
		{[]byte("hello"), dataerr.ErrFormat, "neither PNG nor JPEG"},
		{nil, dataerr.ErrTruncated, "the file is empty"},
		{bomb(t, 1<<20), dataerr.ErrFormat, "1048576 x 1048576 pixels"},
		{datatest.PNG(t, datatest.Bars(rand.New(rand.NewPCG(1, 1)), 1, 10, 20)), dataerr.ErrFormat, "10 x 20 pixels, and the training had 20 x 20"},
	} {
		path := datatest.Write(t, dir, fmt.Sprint(i, ".png"), c.content)
		err := NewReader(tabular.PictureEncoding{Height: 20, Width: 20, Channels: 1}).Read(tabular.PictureFile{Path: path, Row: -1}, make([]uint8, 400))
		datatest.CheckError(t, err, c.want, c.text)
		datatest.CheckError(t, err, c.want, path)
	}
}

// The error of a set is that of its first bad picture, and a cancelled context ends the reading.
func TestFirstBadPicture(t *testing.T) {
	dir := t.TempDir()
	set := &tabular.PictureSet{Encoding: &tabular.PictureEncoding{}, Fail: func(file int, err error) error { return fmt.Errorf("picture %d: %w", file, err) }}
	good := datatest.PNG(t, image.NewGray(image.Rect(0, 0, 2, 2)))
	for i := range 40 {
		content := good
		if i >= 20 {
			content = good[:10]
		}
		set.Files = append(set.Files, tabular.PictureFile{Path: datatest.Write(t, dir, fmt.Sprint(i, ".png"), content), Row: -1})
	}
	err := Inspect(context.Background(), set, tabular.PictureSize{}, tabular.ColorAuto)
	if err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte("picture 20: ")) {
		t.Errorf("error %v, want that of picture 20", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Inspect(ctx, set, tabular.PictureSize{}, tabular.ColorAuto); err != context.Canceled {
		t.Errorf("error %v after a cancel", err)
	}
}

// Any bytes are a picture or an error.
func FuzzDecode(f *testing.F) {
	img := datatest.Bars(rand.New(rand.NewPCG(1, 1)), 0, 8, 8)
	f.Add(withOrientation(datatest.JPEG(f, img), 6))
	f.Add(datatest.PNG(f, img))
	f.Fuzz(func(t *testing.T, content []byte) {
		h, err := readHeader(content)
		if err != nil || h.height*h.width > 1<<16 {
			return
		}
		e := tabular.PictureEncoding{Height: 3, Width: 4, Channels: 3, Resize: true}
		_ = NewReader(e).decode(content, make([]uint8, e.Pixels())) // no panic
	})
}
