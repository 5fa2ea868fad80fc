package main

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/promptree-go/promptree/elements/chat"
)

// plain is a simple table of jsonb.
type plain struct{}

func (plain) name() string { return "jsonb table" }

// message is a row of the table, in JSON.
type message struct {
	Role  chat.Role   `json:"role"`
	Text  string      `json:"text"`
	Usage *chat.Usage `json:"usage,omitempty"`
}

func (plain) prepare(ctx context.Context, p *place) error {
	_, err := p.Exec(ctx, "CREATE TABLE messages (session text NOT NULL, n int NOT NULL, message jsonb NOT NULL, PRIMARY KEY (session, n))")
	return err
}

func (plain) fill(ctx context.Context, p *place, first, count, messages int) error {
	var exists bool
	if err := p.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", template).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		s := plainSteps{p.Pool}
		for range min(messages, 2*rounds) / 2 {
			if _, err := s.step(ctx, templateName); err != nil {
				return err
			}
		}
		_, err := p.Exec(ctx, "CREATE TABLE "+template+" AS SELECT * FROM messages; TRUNCATE messages", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
	}
	for m := 0; m < messages; m += chunk(count) {
		_, err := p.Exec(ctx, `
			INSERT INTO messages
			SELECT s, m, replace(message::text, $1, s)::jsonb
			FROM generate_series($2::int, $3::int) AS m JOIN `+template+` ON n = m % (SELECT count(*) FROM `+template+`),
				generate_series($4::int, $5::int) AS i, LATERAL (SELECT 's' || lpad(i::text, 8, '0') AS s) AS named
			ORDER BY m, i`, templateName, m, min(messages, m+chunk(count))-1, first, first+count-1)
		if err != nil {
			return err
		}
	}
	return nil
}

func (plain) open(ctx context.Context, p *place, connections int, w *wire) (stepper, error) {
	pool, err := p.connect(ctx, connections, w)
	return plainSteps{pool}, err
}

type plainSteps struct{ pool *pgxpool.Pool }

func (s plainSteps) close() error {
	s.pool.Close()
	return nil
}

func (s plainSteps) read(ctx context.Context, session string) ([]chat.Message, error) {
	rows, err := s.pool.Query(ctx, "SELECT message FROM messages WHERE session = $1 ORDER BY n", session)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (chat.Message, error) {
		var data []byte
		var m message
		err := row.Scan(&data)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		return chat.Message{Role: m.Role, Content: chat.Parts{chat.Text(m.Text)}}, err
	})
}

func (s plainSteps) append(ctx context.Context, session string, n int, m message) error {
	_, err := s.pool.Exec(ctx, "INSERT INTO messages VALUES ($1, $2, $3)", session, n, m)
	return err
}

func (s plainSteps) check(ctx context.Context, session string) (int, string, error) {
	list, err := s.read(ctx, session)
	if err != nil || len(list) == 0 {
		return 0, "", err
	}
	return len(list), list[0].Text(), nil
}

func (s plainSteps) step(ctx context.Context, session string) (did, error) {
	list, err := s.read(ctx, session)
	if err != nil {
		return did{}, err
	}
	question := chat.UserMessage(text(session, askedBytes))
	if err := s.append(ctx, session, len(list), message{Role: question.Role, Text: question.Text()}); err != nil {
		return did{}, err
	}
	prompt := append([]chat.Message{chat.SystemMessage(system)}, append(list, question)...)
	answer := message{Role: chat.RoleAssistant, Text: text(session, answerBytes), Usage: &chat.Usage{Input: inputTokens, Output: outputTokens}}
	return did{shown: len(prompt)}, s.append(ctx, session, len(list)+1, answer)
}
