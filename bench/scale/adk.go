package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/genai"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// adk is session/database of adk-go with gorm's driver for PostgreSQL, in the tables that AutoMigrate creates.
type adk struct {
	recent  int  // the maximum number of events that are read, 0 means all
	indexed bool // the events have an index by session, which AutoMigrate does not create
}

func (a adk) name() string {
	name := "adk-go"
	if a.recent > 0 {
		name += fmt.Sprintf(", newest %d", a.recent)
	}
	if a.indexed {
		name += ", index added"
	}
	return name
}

const app = "scale"

func (a adk) prepare(ctx context.Context, p *place) (err error) {
	s, err := a.connect(p, 1, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := database.AutoMigrate(s.service); err != nil {
		return err
	}
	if a.indexed {
		_, err = p.Exec(ctx, "CREATE INDEX scale_events ON events (app_name, user_id, session_id, timestamp)")
	}
	return err
}

// copied maps the columns that differ between a session and its copies to their values. The newest event is a second
// old, and others are 10 ms apart.
var copied = map[string]string{
	"id": "gen_random_uuid()::text", "user_id": "s", "session_id": "s", "content": "replace(content::text, $1, s)::jsonb",
	"timestamp": "now() - interval '1 second' - ($6 - m) * interval '10 milliseconds'",
}

func (a adk) fill(ctx context.Context, p *place, first, count, messages int) (err error) {
	var exists bool
	if err := p.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", template).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if err := a.template(ctx, p, min(messages, 2*rounds)); err != nil {
			return err
		}
	}
	rows, err := p.Query(ctx, "SELECT column_name::text FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'events'", p.schema)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = copied[name]
		if values[i] == "" {
			values[i] = name
		}
	}
	_, err = p.Exec(ctx, `
		INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
		SELECT $1, s, s, '{}', now() - interval '1 day', now() - interval '1 second'
		FROM generate_series($2::int, $3::int) AS i, LATERAL (SELECT 's' || lpad(i::text, 8, '0') AS s) AS named`, app, first, first+count-1)
	if err != nil {
		return err
	}
	for m := 0; m < messages; m += chunk(count) {
		_, err := p.Exec(ctx, `
			INSERT INTO events (`+strings.Join(names, ", ")+`)
			SELECT `+strings.Join(values, ", ")+`
			FROM generate_series($2::int, $3::int) AS m JOIN `+template+` ON n = m % (SELECT count(*) FROM `+template+`),
				generate_series($4::int, $5::int) AS i, LATERAL (SELECT 's' || lpad(i::text, 8, '0') AS s) AS named
			ORDER BY m, i`, templateName, m, min(messages, m+chunk(count))-1, first, first+count-1, messages)
		if err != nil {
			return err
		}
	}
	return nil
}

// template creates the session that others are copied from.
func (a adk) template(ctx context.Context, p *place, messages int) (err error) {
	s, err := a.connect(p, 1, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.service.Create(ctx, &session.CreateRequest{AppName: app, UserID: templateName, SessionID: templateName}); err != nil {
		return err
	}
	for range messages / 2 {
		if _, err := s.step(ctx, templateName); err != nil {
			return err
		}
	}
	_, err = p.Exec(ctx, "CREATE TABLE "+template+" AS SELECT row_number() OVER (ORDER BY timestamp) - 1 AS n, * FROM events; TRUNCATE events, sessions",
		pgx.QueryExecModeSimpleProtocol)
	return err
}

func (a adk) open(_ context.Context, p *place, connections int, w *wire) (stepper, error) {
	return a.connect(p, connections, w)
}

func (a adk) connect(p *place, connections int, w *wire) (*adkSteps, error) {
	config, err := p.config(w)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config.ConnConfig) // as gorm's driver opens it, but counted
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	// A missing record is not an error here, but gorm would print it.
	service, err := database.NewSessionService(gormpostgres.New(gormpostgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &adkSteps{service, db, a.recent}, nil
}

type adkSteps struct {
	service session.Service
	db      *sql.DB
	recent  int
}

func (s *adkSteps) close() error { return s.db.Close() }

func (s *adkSteps) get(ctx context.Context, name string, recent int) (session.Session, error) {
	got, err := s.service.Get(ctx, &session.GetRequest{AppName: app, UserID: name, SessionID: name, NumRecentEvents: recent})
	if err != nil {
		return nil, err
	}
	return got.Session, nil
}

func (s *adkSteps) check(ctx context.Context, name string) (int, string, error) {
	got, err := s.get(ctx, name, 0)
	if err != nil || got.Events().Len() == 0 {
		return 0, "", err
	}
	return got.Events().Len(), got.Events().At(0).Content.Parts[0].Text, nil
}

func (s *adkSteps) step(ctx context.Context, name string) (did, error) {
	got, err := s.get(ctx, name, s.recent)
	if err != nil {
		return did{}, err
	}
	invocation := fmt.Sprint("e-", name, "-", got.Events().Len())
	add := func(author string, response model.LLMResponse) error {
		event := session.NewEvent(ctx, invocation)
		event.Author, event.LLMResponse = author, response
		event.Timestamp = time.Now()
		return s.service.AppendEvent(ctx, got, event)
	}
	question := model.LLMResponse{Content: genai.NewContentFromText(text(name, askedBytes), genai.RoleUser)}
	if err := add("user", question); err != nil {
		return did{}, err
	}
	prompt := []*genai.Content{genai.NewContentFromText(system, genai.RoleUser)}
	for e := range got.Events().All() {
		prompt = append(prompt, e.Content)
	}
	answer := model.LLMResponse{
		Content:       genai.NewContentFromText(text(name, answerBytes), genai.RoleModel),
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: inputTokens, CandidatesTokenCount: outputTokens},
		TurnComplete:  true,
	}
	return did{shown: len(prompt)}, add("agent", answer)
}
