package chat

// Origin says who wrote an answer. What only its author can read, such as encrypted reasoning, is sent back to nobody
// else. An empty field is not known; the zero value says nothing.
type Origin struct {
	// Provider names the provider whose API was spoken, as the packages of its adapters are named: "openai",
	// "anthropic", "gemini".
	Provider string `json:"provider,omitempty"`
	// Server that was asked, as scheme://host, with the port if one was named: without path, query, user and key.
	Server string `json:"server,omitempty"`
	// Model is the name of the model that was asked.
	Model string `json:"model,omitempty"`
}

// Matches reports whether two origins may be the same: no field that both know differs.
func (o Origin) Matches(other Origin) bool {
	match := func(a, b string) bool { return a == b || a == "" || b == "" }
	return match(o.Provider, other.Provider) && match(o.Server, other.Server) && match(o.Model, other.Model)
}
