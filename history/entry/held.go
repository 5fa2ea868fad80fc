package entry

import "slices"

// MaxHeld is the maximum number of parts that a [Remembered] holds back.
const MaxHeld = 1000

// Same reports whether two are of the same part.
func (h Held) Same(other Held) bool { return h.Entry == other.Entry && h.Part == other.Part }

// of reports whether a part is held of requests to a model at a server.
func (h Held) of(model, server string) bool { return h.Model == model && mayBe(h.Server, server) }

// of reports whether something was learnt of a model at a server.
func (l Learnt) of(model, server string) bool { return l.Model == model && mayBe(l.Server, server) }

// mayBe reports whether two servers may be the same: one that is not known may be any.
func mayBe(a, b string) bool { return a == b || a == "" || b == "" }

// HeldFor returns what requests to a model at a server leave out, or show again to see whether it is refused. The server is
// "" if it is not known.
func (m Remembered) HeldFor(model, server string) []Held {
	return slices.DeleteFunc(slices.Clone(m.Held), func(h Held) bool { return !h.of(model, server) })
}

// hold sets what requests leave out that are like the refused one. The list that was there before stays as it is.
func (m *Remembered) hold(r Refusal) {
	all := slices.DeleteFunc(slices.Clone(m.Held), func(h Held) bool { return h.of(r.Model, r.Server) })
	for _, h := range r.Held {
		h.Model, h.Server = r.Model, r.Server
		all = append(all, h)
	}
	m.Held = all[max(0, len(all)-MaxHeld):]
}

// comeBack records that a request was accepted: what was tried in it is innocent, and the next suspect is tried.
func (m *Remembered) comeBack(of func(Held) bool) {
	if !slices.ContainsFunc(m.Held, func(h Held) bool { return h.State != HeldRefused }) {
		return
	}
	next := slices.DeleteFunc(slices.Clone(m.Held), func(h Held) bool { return of(h) && h.State == HeldTried })
	tried := map[Held]bool{}
	for i, h := range next {
		asked := Held{Model: h.Model, Server: h.Server}
		switch {
		case !of(h):
		case h.State == HeldBlamed:
			next[i].State = HeldRefused
		case h.State == HeldSuspect && !tried[asked]:
			next[i].State, tried[asked] = HeldTried, true
		}
	}
	m.Held = next
}
