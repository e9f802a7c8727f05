package trainer

// Sampler is a Problem whose f and g are those of a mini-batch. The loop asks for batch k before x_k is evaluated for the method's step;
// records and certificates are of Settings.Full.
type Sampler interface {
	Problem
	// Sample makes the next Forward that of batch k, a function of k alone, so that a resumed run sees the same batches.
	Sample(k int) error
}

// sampleAndForward evaluates p on batch k, where it has batches.
func (at *Point) sampleAndForward(p Problem, k int) error {
	if s, ok := p.(Sampler); ok {
		if err := s.Sample(k); err != nil {
			return err
		}
	}
	return at.forward(p)
}
