package rundir

import (
	"math"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify/near"
)

// The line of a record has the distance to a solution of the proximal problem. If this distance
// does not exist, the line has null and the reason. If no distance was measured, the line has
// neither.
func TestNearStationarityJSON(t *testing.T) {
	for _, test := range []struct {
		near *near.Stationarity
		want string
	}{
		{nil, ""},
		{&near.Stationarity{Distance: 0.25}, `"near_stationarity":0.25`},
		{&near.Stationarity{Distance: math.NaN(), Reason: "infeasible"},
			`"near_stationarity":null,"near_stationarity_reason":"infeasible"`},
	} {
		r := trainer.Record{NearStationarity: test.near}
		if test.near != nil {
			r.NearReason = test.near.Reason
		}
		line := require.Value(encode(&r))(t)
		if got := string(line); strings.Contains(got, "near") != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
		back := require.Value(decode(line))(t)
		if test.near != nil && test.near.Reason == "" && back.NearStationarity.Distance != test.near.Distance || back.NearReason != r.NearReason {
			t.Errorf("read back as %+v", back)
		}
	}
}
