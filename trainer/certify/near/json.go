package near

import (
	"encoding/json"

	"ppal/trainer/internal/vec"
)

// MarshalJSON implements json.Marshaler: the distance, or null without a distance.
func (n Stationarity) MarshalJSON() ([]byte, error) {
	if n.Reason != "" || !vec.Finite(n.Distance) {
		return []byte("null"), nil
	}
	return json.Marshal(n.Distance)
}

// UnmarshalJSON implements json.Unmarshaler: it reads the distance alone.
func (n *Stationarity) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &n.Distance)
}
