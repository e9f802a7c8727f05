//go:build gpu

package nvidia_test

import (
	"strings"
	"testing"

	"ppal/cuda"
	"ppal/cuda/nvidia"
	"ppal/models"
	"ppal/trainer/session"
)

// A session on two devices adds sums in the way that the environment names. One device ignores the
// setting.
func TestSumsSetting(t *testing.T) {
	t.Setenv("PPAL_STUB_DEVICES", "2")
	t.Setenv("PPAL_STUB_NAME", "Stub")
	t.Setenv(nvidia.NCCLFile, stubFile)
	device := func(d session.Device) (string, error) {
		d.Kind = session.CUDA
		s, err := session.New(t.Context(), session.Options{
			Data: fewRows(t), Task: session.DemographicParity{}, Model: &models.Spec{Hidden: []int{6}}, Device: d})
		if err != nil {
			return "", err
		}
		return s.Describe().Device, s.Close()
	}
	for value, path := range map[string]string{"": "reading each other's memory", "peers": "reading each other's memory",
		"nccl": "with NCCL 2.21.5", "host": "through the host's memory"} {
		t.Setenv(cuda.SumsSetting, value)
		if got, err := device(session.Device{AllGPUs: true}); err != nil || !strings.HasSuffix(got, ", sums added "+path) {
			t.Errorf("%q: %s, %v", value, got, err)
		}
	}
	t.Setenv(cuda.SumsSetting, "ring")
	if _, err := device(session.Device{AllGPUs: true}); err == nil || err.Error() != "cuda: PPAL_GPU_SUMS=ring: want peers, nccl or host" {
		t.Errorf("error %v", err)
	}
	if got, err := device(session.Device{}); err != nil || strings.Contains(got, "sums added") {
		t.Errorf("one device: %s, %v", got, err)
	}
	t.Setenv(cuda.DigitsSetting, "fast")
	if _, err := device(session.Device{}); err == nil || err.Error() != "cuda: PPAL_INT8=fast: want own, forward or library" {
		t.Errorf("error %v", err)
	}
}
