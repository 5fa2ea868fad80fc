package main

import (
	"context"
	"errors"
)

func openDatabase(ctx context.Context, o options, a *assistant) (store, error) {
	return nil, errors.New("not yet")
}
