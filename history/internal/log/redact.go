package log

import (
	"context"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/worded"
)

// Redact returns a text as [Options.Redact] would have it written, for whoever shows or sends it elsewhere. See
// history.Session.Redact.
func (l *Log) Redact(ctx context.Context, p entry.Passage) (string, error) {
	return p.Redact(ctx, l.options.Redact)
}

// Redacted returns an error whose text is redacted as the session's entries are. See history.Session.Redacted.
func (l *Log) Redacted(ctx context.Context, err error) error {
	if err == nil || l.options.Redact == nil {
		return err
	}
	said := err.Error()
	text, failed := l.Redact(context.WithoutCancel(ctx), entry.Passage{Text: said, Type: entry.TypePlanEnd, Path: "planEnd.error"})
	switch {
	case failed != nil:
		return worded.Errorf(err, "history: an error that could not be redacted: %v", failed)
	case text == said:
		return err
	}
	return worded.Errorf(err, "%s", text)
}
