package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"ppal/datasets/dataerr"
)

// mostPixels is the largest number of pixels of a picture file, because a file of few bytes may
// need much memory.
const mostPixels = 1 << 26

// header has the properties of a picture at the beginning of its file.
type header struct {
	height, width int // of the picture as it is stored
	grey          bool
	orientation   int // of EXIF: 1 (upright) to 8
	decode        func(r io.Reader) (image.Image, error)
}

// upright returns the height and the width of the upright picture.
func (h *header) upright() (height, width int) {
	if h.orientation > 4 {
		return h.width, h.height
	}
	return h.height, h.width
}

// The first and the last bytes of the formats.
const (
	pngEnd    = "IEND\xae\x42\x60\x82"
	jpegEnd   = "\xff\xd9"
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

// readHeader reads the header of a PNG or JPEG file.
func readHeader(content []byte) (*header, error) {
	h := &header{orientation: 1}
	config := png.DecodeConfig
	switch {
	case bytes.HasPrefix(content, []byte(pngMagic)):
		h.decode = png.Decode
	case bytes.HasPrefix(content, []byte(jpegMagic)):
		config, h.decode, h.orientation = jpeg.DecodeConfig, jpeg.Decode, orientationOf(content)
	case len(content) == 0:
		return nil, fmt.Errorf("%w: the file is empty", dataerr.ErrTruncated)
	default:
		return nil, fmt.Errorf("%w: the file is neither PNG nor JPEG", dataerr.ErrFormat)
	}
	c, err := config(bytes.NewReader(content))
	if err != nil {
		return nil, decodeError(content, err)
	}
	h.height, h.width = c.Height, c.Width
	if h.height < 1 || h.width < 1 || int64(h.height)*int64(h.width) > mostPixels {
		return nil, fmt.Errorf("%w: %d x %d pixels, want 1 to %d", dataerr.ErrFormat, h.height, h.width, mostPixels)
	}
	h.grey = c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model
	return h, nil
}

// decodeError returns the error of a decoder as an error of the data.
func decodeError(content []byte, err error) error {
	ending := pngEnd
	if bytes.HasPrefix(content, []byte(jpegMagic)) {
		ending = jpegEnd
	}
	if !bytes.HasSuffix(content, []byte(ending)) || // the decoders may miss other data first
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the picture ends early", dataerr.ErrTruncated)
	}
	return fmt.Errorf("%w: %v", dataerr.ErrFormat, err)
}

// pixels decodes a picture to planes of height x width values as they are stored: one plane of
// luma, or red, green and blue. Values of 16 bits keep the upper 8 bits. Transparency is ignored.
func (h *header) pixels(content []byte, channels int) ([][]uint8, error) {
	img, err := h.decode(bytes.NewReader(content))
	if err != nil {
		return nil, decodeError(content, err)
	}
	b := img.Bounds()
	if b.Dy() != h.height || b.Dx() != h.width {
		return nil, fmt.Errorf("%w: %d x %d pixels, and the header says %d x %d", dataerr.ErrFormat, b.Dy(), b.Dx(), h.height, h.width)
	}
	planes := make([][]uint8, channels)
	for c := range planes {
		planes[c] = make([]uint8, h.height*h.width)
	}
	put := func(i int, r, g, b uint8) {
		if channels == 3 {
			planes[0][i], planes[1][i], planes[2][i] = r, g, b
		} else {
			planes[0][i] = luma(r, g, b)
		}
	}
	for y := range h.height {
		at := y * h.width
		switch img := img.(type) {
		case *image.Gray:
			row := img.Pix[y*img.Stride:][:h.width]
			for _, p := range planes {
				copy(p[at:], row)
			}
		case *image.YCbCr:
			for x := range h.width {
				grey := img.Y[img.YOffset(b.Min.X+x, b.Min.Y+y)]
				if channels == 1 {
					planes[0][at+x] = grey
					continue
				}
				c := img.COffset(b.Min.X+x, b.Min.Y+y)
				red, green, blue := color.YCbCrToRGB(grey, img.Cb[c], img.Cr[c])
				put(at+x, red, green, blue)
			}
		case *image.NRGBA:
			for x := range h.width {
				p := img.Pix[y*img.Stride+4*x:]
				put(at+x, p[0], p[1], p[2])
			}
		case *image.RGBA: // opaque
			for x := range h.width {
				p := img.Pix[y*img.Stride+4*x:]
				put(at+x, p[0], p[1], p[2])
			}
		default: // palettes, 16 bits, CMYK
			for x := range h.width {
				c := color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
				put(at+x, c.R, c.G, c.B)
			}
		}
	}
	return planes, nil
}

// luma returns the brightness of a colour (ITU-R BT.601), which is v for the grey (v, v, v).
func luma(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// turned returns the planes of a stored picture turned upright, as EXIF's orientation says.
func (h *header) turned(planes [][]uint8) [][]uint8 {
	if h.orientation == 1 {
		return planes
	}
	height, width := h.upright()
	for c, stored := range planes {
		upright := make([]uint8, len(stored))
		for y := range height {
			for x := range width {
				sy, sx := y, x
				if h.orientation > 4 { // 5: rows and columns are exchanged
					sy, sx = x, y
				}
				switch h.orientation {
				case 2, 3, 7, 8:
					sx = h.width - 1 - sx
				}
				switch h.orientation {
				case 3, 4, 6, 7:
					sy = h.height - 1 - sy
				}
				upright[y*width+x] = stored[sy*h.width+sx]
			}
		}
		planes[c] = upright
	}
	return planes
}

// orientationOf returns the orientation in the EXIF data of a JPEG file, or 1.
func orientationOf(content []byte) int {
	for at := 2; at+4 <= len(content) && content[at] == 0xff; {
		marker, size := content[at+1], int(binary.BigEndian.Uint16(content[at+2:]))
		if marker == 0xda || size < 2 || at+2+size > len(content) { // the scan begins
			break
		}
		if body := content[at+4 : at+2+size]; marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			return exifOrientation(body[6:])
		}
		at += 2 + size
	}
	return 1
}

// exifOrientation returns the orientation in the first directory of a TIFF block, or 1.
func exifOrientation(tiff []byte) int {
	const tag, entry = 0x0112, 12
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	n := int64(order.Uint16(tiff[at:]))
	for e := at + 2; n > 0 && e+entry <= int64(len(tiff)); e, n = e+entry, n-1 {
		if order.Uint16(tiff[e:]) == tag {
			if o := int(order.Uint16(tiff[e+8:])); o >= 1 && o <= 8 {
				return o
			}
		}
	}
	return 1
}
