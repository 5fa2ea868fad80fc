// Package provider holds the code that the adapters share: the limits and secrets of a request and its answer
// ([Exchange]), redirects ([SameOrigin]), lost connections ([Lost]), waits ([Wait]) and repairs of requests
// ([Changes]).
package provider
