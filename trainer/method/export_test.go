package method

// Unregister removes the methods of Register.
func Unregister() { registered = nil }
