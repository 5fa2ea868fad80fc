// Package notice carries what a package reports to the one who made the context of a call, whom it may not import.
package notice

import "context"

type key struct{}

// Heard returns a context by which hear is called with what is reported: a []chat.Repair, or a value with a method String.
func Heard(ctx context.Context, hear func(context.Context, any)) context.Context {
	return context.WithValue(ctx, key{}, hear)
}

// Or returns a caller's function if it is set, else one that reports to the context, nil if nobody hears it.
func Or[T any](ctx context.Context, set func(T)) func(T) {
	hear, _ := ctx.Value(key{}).(func(context.Context, any))
	if set != nil || hear == nil {
		return set
	}
	return func(v T) { hear(ctx, v) }
}
