package callback

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Activity records which functions of callers run in a context, for whoever waits for them. Nil records nothing.
type Activity struct {
	mu   sync.Mutex
	runs []string
}

type activityKey struct{}

// ActivityOf returns the activity of a context, nil if it has none.
func ActivityOf(ctx context.Context) *Activity {
	a, _ := ctx.Value(activityKey{}).(*Activity)
	return a
}

// WithActivity returns a context with an activity of its own.
func WithActivity(ctx context.Context) (context.Context, *Activity) {
	a := &Activity{}
	return context.WithValue(ctx, activityKey{}, a), a
}

// Enter records that a function runs, until leave is called.
func (a *Activity) Enter(name string) (leave func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs = append(a.runs, name)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if i := slices.Index(a.runs, name); i >= 0 {
			a.runs = slices.Delete(a.runs, i, i+1)
		}
	}
}

// Running names the functions that run, "" for none.
func (a *Activity) Running() string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.runs, " and ")
}
