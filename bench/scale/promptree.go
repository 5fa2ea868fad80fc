package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/internal/checksum"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// promptree is this module: sessions in history/postgres, steps of summarize/agent.
type promptree struct {
	view int // maximum rounds of a view before it is compacted to half; 0 means no compaction
}

func (c promptree) name() string {
	if c.view == 0 {
		return "promptree"
	}
	return fmt.Sprintf("promptree, views of %d", c.view)
}

// prepare creates the tables.
func (promptree) prepare(ctx context.Context, p *place) error { return postgres.Migrate(ctx, p) }

// fill creates count sessions of the given number of messages, from session first on.
func (c promptree) fill(ctx context.Context, p *place, first, count, messages int) error {
	var exists bool
	if err := p.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", template).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if err := c.template(ctx, p, messages); err != nil {
			return err
		}
	}
	_, err := p.Exec(ctx, `
		INSERT INTO promptree_sessions (tenant, name, lines, bytes)
		SELECT '', 's' || lpad(i::text, 8, '0'), lines, bytes FROM generate_series($1::int, $2::int) AS i,
			LATERAL (SELECT count(*) AS lines, sum(octet_length(data)) AS bytes FROM `+template+`) AS t`, first, first+count-1)
	if err != nil {
		return err
	}
	return p.copyLines(ctx, sessionName(first), sessionName(first+count-1))
}

// copyLines copies the lines of the template to sessions, all sessions' first lines first, as they would have been
// appended. Each has texts of its own, so each line gets a checksum of its own.
func (p *place) copyLines(ctx context.Context, first, last string) error {
	type session struct {
		id   any
		name string
	}
	rows, err := p.Query(ctx, "SELECT session, name FROM promptree_sessions WHERE name BETWEEN $1 AND $2 ORDER BY session", first, last)
	if err != nil {
		return err
	}
	sessions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s session, err error) { return s, row.Scan(&s.id, &s.name) })
	if err != nil {
		return err
	}
	type line struct {
		at                     int64
		id, parent, kind, data []byte
	}
	if rows, err = p.Query(ctx, "SELECT at, id, parent, kind, data FROM "+template+" ORDER BY at"); err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l line, err error) {
		return l, row.Scan(&l.at, &l.id, &l.parent, &l.kind, &l.data)
	})
	if err != nil {
		return err
	}
	n := 0
	_, err = p.CopyFrom(ctx, pgx.Identifier{"promptree_lines"}, []string{"session", "at", "id", "parent", "kind", "data"}, pgx.CopyFromFunc(func() ([]any, error) {
		if n == len(lines)*len(sessions) {
			return nil, nil
		}
		l, s := lines[n/len(sessions)], sessions[n%len(sessions)]
		n++
		data := checksum.Add(bytes.ReplaceAll(checksum.Cut(l.data), []byte(templateName), []byte(s.name)))
		return []any{s.id, l.at, l.id, l.parent, l.kind, data}, nil
	}))
	return err
}

// template creates the session that others are copied from, and compacts it as it grows.
func (c promptree) template(ctx context.Context, p *place, messages int) (err error) {
	sessions := &postgres.Sessions{Pool: p.Pool}
	s, err := sessions.Open(ctx, templateName, history.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	compactor, prompt := c.compactor(s), prompt(s)
	defer func() { err = errors.Join(err, compactor.Close()) }()
	// Rounds far from the end are added and compacted in larger batches, which is faster: what a compaction retains
	// depends on the user's messages, not on the number of compactions.
	near := max(0, messages/2-64)
	batch := func(made int) int {
		switch {
		case c.view == 0:
			return min(25, messages/2-made)
		case c.view == fewRounds && made+500 <= near:
			return 500
		}
		return min(c.view/2, messages/2-made)
	}
	usage := entry.Usage{Model: modelName, Usage: chat.Usage{Input: inputTokens, Output: outputTokens}, Counted: inputTokens}
	for made := 0; made < messages/2; {
		var entries []entry.Entry
		for range batch(made) {
			entries = append(entries,
				entry.Entry{Body: entry.Message{Message: chat.UserMessage(text(templateName, askedBytes))}},
				entry.Entry{Body: entry.Message{Message: chat.AssistantMessage(text(templateName, answerBytes))}},
				entry.Entry{Body: usage})
			made++
		}
		if _, err := s.Add(ctx, entries...); err != nil {
			return err
		}
		if _, err := compactor.Render(ctx, prompt); err != nil {
			return err
		}
	}
	_, err = p.Exec(ctx, "CREATE TABLE "+template+" AS SELECT * FROM promptree_lines; TRUNCATE promptree_lines, promptree_sessions CASCADE", pgx.QueryExecModeSimpleProtocol)
	return err
}

// open connects to the database.
func (c promptree) open(ctx context.Context, p *place) (promptreeSteps, error) {
	pool, err := p.connect(ctx)
	return promptreeSteps{c, pool, &postgres.Sessions{Pool: pool}}, err
}

const (
	system    = "You answer questions about a program."
	modelName = "made-up"
)

// prompt returns the prompt of a chat.
func prompt(s *history.Session) elements.Node {
	return elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text(system)}},
		history.All{Session: s},
	}
}

// counter is shared by all sessions.
var counter chat.Tokenizer = tiktoken.O200k()

// budget is above the size of any prompt, so that only the number of rounds causes a compaction.
const budget = 1 << 21

// answering is a scripted model of a session.
type answering struct{ session string }

// summaryTokens is the maximum size of a summary: less than half of the shortest view that is compacted, so that the
// compaction saves tokens.
const summaryTokens = 700

var summary = models.SaySummary(strings.Repeat("The parser was mended, and its tests pass. The lexer is next. ", 30))

func (a answering) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "<summary> block") {
		return summary(ctx, req)
	}
	return chat.Response{
		Message: chat.AssistantMessage(text(a.session, answerBytes)),
		Usage:   chat.Usage{Input: inputTokens, Output: outputTokens},
	}, nil
}

// compactor returns the compactor of a session. It compacts a view that reaches its maximum of rounds.
func (c promptree) compactor(s *history.Session) *summarize.Compactor {
	var p policy.Policy
	if c.view > 0 {
		p = policy.Policy{
			Name: "scale", Trigger: policy.Trigger{{On: policy.OnRender, Messages: 2 * c.view}}, Cut: history.Cut{Rounds: c.view / 2},
			Replace: policy.Replace{Max: summaryTokens},
		}
	}
	return &summarize.Compactor{
		Session: s, Policy: p,
		Target: policy.Target{Name: modelName, Model: answering{templateName}, Tokenizer: counter, Budget: budget},
	}
}

type promptreeSteps struct {
	of       promptree
	pool     *pgxpool.Pool
	sessions *postgres.Sessions
}

func (s promptreeSteps) close() error {
	s.pool.Close()
	return nil
}

// check reads a session, and returns its number of messages and its first text.
func (s promptreeSteps) check(ctx context.Context, name string) (messages int, first string, err error) {
	session, err := s.sessions.Open(ctx, name, history.Options{})
	if err != nil {
		return 0, "", err
	}
	defer session.Close()
	for e, err := range session.Back(ctx, session.Leaf()) {
		if err != nil {
			return 0, "", err
		}
		if m, ok := e.Body.(entry.Message); ok {
			messages++
			first = m.Text()
		}
	}
	return messages, first, nil
}

// step opens a session, appends a user message, makes the prompt, appends an answer and closes the session.
func (s promptreeSteps) step(ctx context.Context, name string) (d did, err error) {
	session, err := s.sessions.Open(ctx, name, history.Options{})
	if err != nil {
		return did{}, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	compactor := s.of.compactor(session)
	defer func() { err = errors.Join(err, compactor.Close()) }()
	compactor.Target.Model = answering{name}
	compactor.Hooks.AfterCompact = func(context.Context, entry.Entry) error {
		d.compacted = true
		return nil
	}
	if err := session.Append(ctx, chat.UserMessage(text(name, askedBytes))); err != nil {
		return d, err
	}
	answer, err := (&agent.Agent{Compactor: compactor, Prompt: prompt(session)}).Step(ctx)
	if err != nil {
		return d, err
	}
	d.shown = len(answer.Result.Messages)
	return d, nil
}
