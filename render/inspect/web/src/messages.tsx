import { useMemo, useState } from "preact/hooks";
import { page, snippet, text, type Message, type Part, type Prompt } from "./data";
import { count, dollars, number, percent, tokens } from "./format";
import { Text } from "./details";

const isBreak = (p: Part) => p.kind === "cacheBreakpoint";

const partName = (p: Part) => (p.kind === "text" ? "" : p.kind === "toolCall" ? `calls ${p.name}` : `${p.kind}${p.name ? ` (${p.name})` : ""}`);

/** MessageView is a message, folded to a line until it is opened. */
export function MessageView({ message: m, at, sum, differs, open }: { message: Message; at?: number; sum?: number; differs?: Difference; open?: boolean }) {
  const named = m.parts.find((p) => p.text || p.name);
  return (
    <details class="message" open={open}>
      <summary>
        {at !== undefined && <span class="rank">{at + 1}</span>}
        <i class={`swatch ${m.role}`} />
        <b>{m.role}</b>
        <span class="name">{named ? `${partName(named)} ${snippet(named.text, 100)}` : ""}</span>
        {m.tokens ? <span class="size">{number(m.tokens)}</span> : null}
        {sum !== undefined && m.tokens ? <span class="from">Σ {number(sum)}</span> : null}
      </summary>
      {m.parts.map((p, i) =>
        isBreak(p) ? (
          <p key={i} class="breakpoint">
            cache breakpoint{p.name ? ` (${p.name})` : ""}
          </p>
        ) : (
          <div key={i}>
            {partName(p) && <p class="hint">{partName(p)}</p>}
            {p.kind === "image" && text(p.text).startsWith("data:image/") ? <img src={text(p.text)} alt="" /> : <Text of={text(p.text)} mark={differs?.part === i ? differs.character : undefined} />}
          </div>
        ),
      )}
    </details>
  );
}

const step = 200; // messages that are shown at first, and with each "more"

/** Messages shows the messages that were sent. */
export function Messages({ prompt, budget }: { prompt: Prompt; budget: number }) {
  const [shown, setShown] = useState(step);
  const sums = useMemo(() => {
    let sum = 0;
    return prompt.messages.map((m) => (sum += page.messages[m].tokens ?? 0));
  }, [prompt]);
  return (
    <div class="messages">
      <p class={budget === prompt.budget ? "hint" : "warning"}>
        {budget === prompt.budget
          ? `${count(prompt.messages.length, "message")}, ${tokens(prompt.tokens)}${prompt.counted ? "; Σ is the sum up to a message" : ""}.`
          : `These are the messages as they were sent at ${number(prompt.budget)} tokens, not at ${number(budget)}.`}
        {prompt.toolTokens ? ` What stands beside them takes ${number(prompt.toolTokens)}.` : ""}
      </p>
      {prompt.messages.slice(0, shown).map((m, i) => (
        <div key={i}>
          <MessageView message={page.messages[m]} at={i} sum={sums[i]} />
          {page.messages[m].parts.some(isBreak) && (
            <p class="breakpoint">cache breakpoint in message {i + 1}{prompt.counted && `, which ends at ${tokens(sums[i])}`}</p>
          )}
        </div>
      ))}
      {shown < prompt.messages.length && (
        <button type="button" onClick={() => setShown(shown + step)}>
          Show {number(Math.min(step, prompt.messages.length - shown))} more of {number(prompt.messages.length)}
        </button>
      )}
    </div>
  );
}

/** Difference is the place where two prompts begin to differ. */
export type Difference = {
  /** messages is the number of messages that both begin with, tokens their count. */
  messages: number;
  tokens: number;
  tools: boolean;
  part: number;
  character: number;
};

/** difference returns the place where two prompts begin to differ. */
export function difference(a: Prompt, b: Prompt): Difference {
  const tools = JSON.stringify(a.tools ?? []) !== JSON.stringify(b.tools ?? []);
  const d: Difference = { messages: 0, tokens: 0, tools, part: 0, character: 0 };
  if (tools) return d;
  d.tokens = a.toolTokens ?? 0;
  const least = Math.min(a.messages.length, b.messages.length);
  while (d.messages < least && a.messages[d.messages] === b.messages[d.messages]) {
    d.tokens += page.messages[a.messages[d.messages]].tokens ?? 0;
    d.messages++;
  }
  if (d.messages === least) return d;
  const one = page.messages[a.messages[d.messages]].parts;
  const two = page.messages[b.messages[d.messages]].parts;
  while (d.part < one.length && d.part < two.length && JSON.stringify(one[d.part]) === JSON.stringify(two[d.part])) d.part++;
  const s = text(one[d.part]?.text);
  const t = text(two[d.part]?.text);
  while (d.character < s.length && s[d.character] === t[d.character]) d.character++;
  return d;
}

/** where returns the place of a difference in words. */
export const where = (d: Difference): string =>
  d.tools ? "the tools" : `message ${number(d.messages + 1)}, character ${number(d.character + 1)}${d.part ? ` of part ${d.part + 1}` : ""}`;

/** lost returns the tokens of a that a cache with all of a cannot serve for b. */
export const lost = (a: Prompt, d: Difference): number => Math.max(0, a.tokens + (a.toolTokens ?? 0) - d.tokens);

/** Compare shows two prompts side by side. */
export function Compare({ prompts, at, onAt, of }: { prompts: Prompt[]; at: number; onAt: (at: number) => void; of: number }) {
  const [all, setAll] = useState(false);
  const a = prompts[at];
  const b = prompts[of];
  const d = useMemo(() => difference(a, b), [a, b]);
  const extended = !d.tools && d.messages === a.messages.length;
  const gone = lost(a, d);
  const price = b.rates ? (gone * ((b.rates.write || b.rates.input) - (b.rates.read || b.rates.input))) / 1e6 : 0;
  const from = all ? 0 : d.messages;
  const rows = Math.min(Math.max(a.messages.length, b.messages.length), from + step);
  const cell = (p: Prompt, i: number) =>
    i < p.messages.length ? <MessageView message={page.messages[p.messages[i]]} at={i} differs={i === d.messages ? d : undefined} open={i === d.messages} /> : <p class="hint">–</p>;
  return (
    <div class="compare">
      <p>
        <label>
          Compare with{" "}
          <select value={at} onChange={(e) => onAt(Number(e.currentTarget.value))}>
            {prompts.map((p, i) => (i === of ? null : <option key={i} value={i}>{p.name}</option>))}
          </select>
        </label>
      </p>
      <p class={extended ? "verdict kept" : "verdict dropped"}>
        {extended ? (
          <>
            <b>● {b.name} begins with all of {a.name}.</b> A cache that has it serves all of it{a.counted ? `, ${tokens(d.tokens)}` : ""}.
          </>
        ) : (
          <>
            <b>○ The first difference: {where(d)}.</b>{" "}
            {a.counted
              ? `A cache that has all of ${a.name} serves ${number(d.tokens)} of its ${number(a.tokens + (a.toolTokens ?? 0))} tokens (${percent(d.tokens, a.tokens + (a.toolTokens ?? 0))}) in whole messages; ${number(gone)} are lost${price ? `, which costs ${dollars(price)}` : ""}.`
              : `Before it, ${count(d.messages, "message")} ${d.messages === 1 ? "is" : "are"} the same.`}
          </>
        )}
      </p>
      {d.messages > 0 && (
        <p>
          <label>
            <input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> Show the {count(d.messages, "message")} in common too
          </label>
        </p>
      )}
      <div class="columns">
        <h2>{a.name} ({number(a.tokens)})</h2>
        <h2>{b.name} ({number(b.tokens)})</h2>
        {Array.from({ length: Math.max(0, rows - from) }, (_, k) => (
          <div key={`${at}-${from + k}`} class={`pair ${a.messages[from + k] === b.messages[from + k] ? "same" : "other"}`}>
            {cell(a, from + k)}
            {cell(b, from + k)}
          </div>
        ))}
      </div>
      {rows < Math.max(a.messages.length, b.messages.length) && <p class="hint">{number(Math.max(a.messages.length, b.messages.length) - rows)} more are not shown.</p>}
    </div>
  );
}
