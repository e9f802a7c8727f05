package load

import (
	"fmt"

	"ppal/datasets/matrix"
	"ppal/datasets/picture"
)

// augment makes copies of the training pictures the training rows. All splits have been normalised
// with the moments of the pictures themselves. A mean over the rows of a class or group is the mean
// over its pictures of the mean over their copies.
func (l *Data) augment(a picture.Augmentation) {
	k := a.Copies()
	if k == 1 {
		return
	}
	train := l.Splits[0]
	train.Rows = train.repeated(k, picture.NewAugmented(train.Data.(*matrix.Bytes), l.Shape, a))
	own := "itself and its mirror image"
	if a == picture.AugmentFlipShift {
		own = "itself and its mirror image, each in nine places"
	}
	l.Description.Notes = append(l.Description.Notes, fmt.Sprintf("Each training picture is %d rows: %s (--augment %s). "+
		"The objective, the bounds, the certificate and the rates of the training rows are about all %d.", k, own, a, k))
}
