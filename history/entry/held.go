package entry

import "slices"

// MaxHeld is the maximum number of parts that a [Memory] holds back.
const MaxHeld = 1000

// HeldFor returns what requests to a model leave out, or show again to see whether it is refused.
func (m Memory) HeldFor(model string) (list []Held) {
	for _, h := range m.Held {
		if h.Model == model {
			list = append(list, h)
		}
	}
	return list
}

// hold sets what requests to a model leave out. The list that was there before stays as it is.
func (m *Memory) hold(model string, list []Held) {
	all := slices.DeleteFunc(slices.Clone(m.Held), func(h Held) bool { return h.Model == model })
	for _, h := range list {
		h.Model = model
		all = append(all, h)
	}
	m.Held = all[max(0, len(all)-MaxHeld):]
}

// comeBack records that a request to some models was accepted: what was tried in it is innocent, and the next suspect is
// tried.
func (m *Memory) comeBack(of func(model string) bool) {
	if !slices.ContainsFunc(m.Held, func(h Held) bool { return h.State != HeldRefused }) {
		return
	}
	next := slices.DeleteFunc(slices.Clone(m.Held), func(h Held) bool { return of(h.Model) && h.State == HeldTried })
	tried := map[string]bool{}
	for i, h := range next {
		switch {
		case !of(h.Model):
		case h.State == HeldBlamed:
			next[i].State = HeldRefused
		case h.State == HeldSuspect && !tried[h.Model]:
			next[i].State, tried[h.Model] = HeldTried, true
		}
	}
	m.Held = next
}
