package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
)

func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil {
		fmt.Println(err)
		return
	}
	sessions := &postgres.Sessions{Pool: pool, Tenant: "acme"}
	session, err := sessions.Open(ctx, "42", history.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if err := session.Append(ctx, chat.UserMessage("Why does the build fail?")); err != nil {
		fmt.Println(err) // a *storage.ConflictError if another replica was told something meanwhile
	}
}
