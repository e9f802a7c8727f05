package datasets

import (
	"path/filepath"

	"ppal/datasets/picture"
)

// fashionMNIST describes Fashion-MNIST: 60,000 + 10,000 images of clothes, 28 x 28 grey pixels, ten
// balanced classes (Xiao, Rasul, Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking
// machine learning algorithms", 2017).
func fashionMNIST() Dataset {
	const base = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
	file := func(name string, size int64, sha256 string) File {
		return File{Path: "fashion-mnist/" + name, Size: size, SHA256: sha256, URLs: []string{base + name}}
	}
	d := Dataset{
		Name:        "fashion-mnist",
		Description: "clothes, 60,000 training and 10,000 test pictures",
		Classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat",
			"sandal", "shirt", "sneaker", "bag", "ankle boot"},
		Shape: picture.Shape{Height: 28, Width: 28, Channels: 1},
		Files: []File{
			file("train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
			file("train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
			file("t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
			file("t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
		},
	}
	d.images = func(dir string, _ uint64) (train, test *picture.Pictures, err error) {
		if train, err = d.pair(dir, d.Files[0], d.Files[1]); err != nil {
			return nil, nil, err
		}
		test, err = d.pair(dir, d.Files[2], d.Files[3])
		return train, test, err
	}
	return d
}

// FashionMNISTTraining reads only the training images of Fashion-MNIST.
func FashionMNISTTraining(dir string) (*picture.Images, error) {
	d := fashionMNIST()
	p, err := d.pair(dir, d.Files[0], d.Files[1])
	if err != nil {
		return nil, d.advise(err)
	}
	return p.Images()
}

// pair opens a file of images and the file of their labels.
func (d Dataset) pair(dir string, images, labels File) (*picture.Pictures, error) {
	return openIDXPair(filepath.Join(dir, filepath.FromSlash(images.Path)), filepath.Join(dir, filepath.FromSlash(labels.Path)), d)
}
