package chart

import (
	"bytes"
	"fmt"
	"image"
	imagecolor "image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

const (
	perPixel = 2  // pixels of a PNG file for one of SVG, in each direction
	curve    = 16 // lines that stand for a cubic curve
)

// raster is a PNG file. Texts are in the font Go Regular, which draws a letter that it lacks as an
// empty box.
type raster struct {
	*image.RGBA
	font *opentype.Font
	err  error // the first
}

func newRaster(width, height float64) sheet {
	r := &raster{RGBA: image.NewRGBA(image.Rect(0, 0, int(perPixel*width), int(perPixel*height)))}
	draw.Draw(r, r.Bounds(), image.White, image.Point{}, draw.Src)
	r.font, r.err = opentype.Parse(goregular.TTF)
	return r
}

// shape implements sheet.
func (r *raster) shape(o outline, s style) {
	paths := o.flat()
	if s.fill != nil {
		r.paint(covered(paths), *s.fill, s.opacity)
	}
	if s.stroke != nil {
		r.paint(stroke(paths, perPixel*s.width, s.dashes), *s.stroke, 1)
	}
}

// flat returns the outline in pixels, its curves as lines.
func (o outline) flat() (paths [][]point) {
	var last []point
	end := func() {
		if len(last) > 1 {
			paths = append(paths, last)
		}
	}
	for _, segment := range o {
		at := make([]point, len(segment.points))
		for i, p := range segment.points {
			at[i] = point{perPixel * p.x, perPixel * p.y}
		}
		switch segment.op {
		case 'm':
			end()
			last = at
		case 'l':
			last = append(last, at[0])
		case 'h':
			last = append(last, last[0])
		case 'c':
			from := last[len(last)-1]
			for i := 1; i <= curve; i++ {
				t := float64(i) / curve
				a, b, c, d := (1-t)*(1-t)*(1-t), 3*t*(1-t)*(1-t), 3*t*t*(1-t), t*t*t
				last = append(last, point{
					a*from.x + b*at[0].x + c*at[1].x + d*at[2].x,
					a*from.y + b*at[0].y + c*at[1].y + d*at[2].y,
				})
			}
		}
	}
	end()
	return paths
}

// stroke returns what lines of the width cover: a rectangle for each line, and a disc at each join.
func stroke(paths [][]point, width float64, dashes []float64) *image.Alpha {
	all := image.NewAlpha(box(paths).Inset(-int(width) - 1))
	add := func(area []point) {
		part := covered([][]point{area})
		for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
			for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
				// The larger share, because sums make edges wider at each join.
				at := &all.Pix[all.PixOffset(x, y)]
				*at = max(*at, part.Pix[part.PixOffset(x, y)])
			}
		}
	}
	for _, path := range paths {
		for _, dash := range dashed(path, dashes) {
			for i := 1; i < len(dash); i++ {
				a, b := dash[i-1], dash[i]
				length := math.Hypot(b.x-a.x, b.y-a.y)
				if length == 0 {
					continue
				}
				x, y := width/2*(b.x-a.x)/length, width/2*(b.y-a.y)/length
				add([]point{{a.x - y, a.y + x}, {a.x + y, a.y - x}, {b.x + y, b.y - x}, {b.x - y, b.y + x}})
			}
			for _, join := range dash[1 : len(dash)-1] {
				var disc outline
				disc.circle(point{join.x / perPixel, join.y / perPixel}, width/2/perPixel)
				add(disc.flat()[0])
			}
		}
	}
	return all
}

// dashed returns the parts of a path that its dashes cover: the whole of it without dashes. Dashes
// and gaps have positive lengths.
func dashed(path []point, dashes []float64) (parts [][]point) {
	if len(dashes) == 0 || slices.Min(dashes) <= 0 {
		return [][]point{path}
	}
	part := []point{path[0]}
	index, rest := 0, perPixel*dashes[0] // dashes have even indices, gaps odd ones
	for i := 1; i < len(path); {
		at := part[len(part)-1]
		x, y := path[i].x-at.x, path[i].y-at.y
		length := math.Hypot(x, y)
		if length < rest {
			rest -= length
			part = append(part, path[i])
			i++
			continue
		}
		at = point{at.x + x*rest/length, at.y + y*rest/length}
		if index%2 == 0 {
			parts = append(parts, append(part, at))
		}
		part, index = []point{at}, index+1
		rest = perPixel * dashes[index%len(dashes)]
	}
	if index%2 == 0 && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// box returns the pixels around all points.
func box(paths [][]point) (all image.Rectangle) {
	for _, path := range paths {
		for _, p := range path {
			x, y := int(math.Floor(p.x)), int(math.Floor(p.y))
			all = all.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	return all
}

// covered returns the share of each pixel that is inside the paths.
func covered(paths [][]point) *image.Alpha {
	mask := image.NewAlpha(box(paths))
	area := vector.NewRasterizer(mask.Rect.Dx(), mask.Rect.Dy())
	for _, path := range paths {
		for i, p := range path {
			x, y := float32(p.x-float64(mask.Rect.Min.X)), float32(p.y-float64(mask.Rect.Min.Y))
			if i == 0 {
				area.MoveTo(x, y)
			} else {
				area.LineTo(x, y)
			}
		}
		area.ClosePath()
	}
	area.Draw(mask, mask.Rect, image.Opaque, image.Point{})
	return mask
}

// paint paints the pixels by their shares.
func (r *raster) paint(shares *image.Alpha, c [3]uint8, opacity float64) {
	ink := image.NewUniform(imagecolor.NRGBA{c[0], c[1], c[2], uint8(math.Round(255 * opacity))})
	draw.DrawMask(r, shares.Rect, ink, image.Point{}, shares, shares.Rect.Min, draw.Over)
}

// text implements sheet. Bold letters are drawn twice, a pixel apart.
func (r *raster) text(x, y, left, size float64, bold bool, c [3]uint8, text string) {
	if r.err != nil {
		return
	}
	face, err := opentype.NewFace(r.font, &opentype.FaceOptions{Size: perPixel * size, DPI: 72})
	if err != nil {
		r.err = err
		return
	}
	d := font.Drawer{Dst: r, Src: image.NewUniform(imagecolor.RGBA{c[0], c[1], c[2], 255}), Face: face}
	start := perPixel*x - left*float64(d.MeasureString(text))/64
	for i := range map[bool]int{false: 1, true: 2}[bold] {
		d.Dot = fixed.Point26_6{X: fixed.Int26_6(64 * (start + float64(i))), Y: fixed.Int26_6(64 * perPixel * y)}
		d.DrawString(text)
	}
}

// file implements sheet.
func (r *raster) file() ([]byte, error) {
	if r.err != nil {
		return nil, fmt.Errorf("the font: %w", r.err)
	}
	var out bytes.Buffer
	err := png.Encode(&out, r)
	return out.Bytes(), err
}
