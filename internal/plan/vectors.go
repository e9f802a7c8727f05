package plan

// Vectors does arithmetic on vectors of the iterate's size, in the host's memory, with a device's threads: the passes of a primal step,
// each fused with the norms that are needed of it. All vectors of a call have one length, sums are of float64, and operands are
// different vectors but where it says so. Results depend on the level of the kernels only, not on the number of threads. One Vectors
// serves one problem: calls do not run at the same time.
type Vectors[T Float] interface {
	// Combine sets dst = a x + b y. dst may be x or y; y is not read where b = 0.
	Combine(dst []T, a T, x []T, b T, y []T)
	// Dot returns x.y; x may be y.
	Dot(x, y []T) float64
	// SquaredDistance returns ||x - y||^2.
	SquaredDistance(x, y []T) float64
	// Reach returns ||x - e (d + b (b v + d))||^2, the squared norm of what Descend applies the map to. It writes nothing; v is nil
	// where b = 0.
	Reach(x, d, v []T, e, b T) float64
	// Descend sets v = b v + d and x = P(x - e (d + b v)), P the map p, and returns ||x+ - x||^2 and ||x+||^2. v is nil where b = 0.
	Descend(x, d, v []T, e, b T, p Proximal[T]) (moved, size float64)
	// Adam sets m1 = 0.9 m1 + 0.1 d, m2 = 0.999 m2 + 0.001 d^2 and x = P(x - rate m1/(sqrt(root m2) + 1e-8)), and returns ||x+||^2.
	Adam(x, d, m1, m2 []T, rate, root T, p Proximal[T]) (size float64)
}

// Proximal is a proximal map that acts on each number alone:
//
//	z = min(max(Scale y, Lower), Upper),   P(y) = z - min(max(z, -Threshold), Threshold),
//
// with Scale >= 0 and Threshold >= 0.
type Proximal[T Float] = struct{ Scale, Lower, Upper, Threshold T }
