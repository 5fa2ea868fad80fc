// Package provider holds the code that the adapters share: the limits and secrets of a request and its answer
// ([Exchange]), redirects ([SameOrigin]), lost connections ([Lost]), waits ([Wait]), repairs of requests ([Changes]) and
// streams of tool calls ([CallStream]).
package provider
