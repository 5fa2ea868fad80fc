import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { page, snippet, text, type Compaction } from "./data";
import { Text } from "./details";
import { count, dollars, endOfPaths, number, percent, tokens } from "./format";
import { List } from "./list";
import { difference, MessageView, where } from "./messages";
import { Fact, Where } from "./prompt";
import { kinds, kindWords, saved, type StepFacts } from "./session";
import { Timeline } from "./timeline";

type Props = { steps: StepFacts[]; selected: number; onSelect: (step: number) => void; onOpen: (step: number, compare?: boolean) => void };

/** SessionView shows the steps of a session. */
export function SessionView({ steps, selected, onSelect, onOpen }: Props) {
  const [only, setOnly] = useState(false);
  const [query, setQuery] = useState("");
  const rows = useMemo(() => {
    const wanted = query.toLowerCase();
    const said = (t: StepFacts) => `${text(t.asks)}\n${text(t.step.did)}`.toLowerCase();
    return steps.map((_, i) => i).filter((i) => (!only || marks(steps[i])) && (!wanted || said(steps[i]).includes(wanted)));
  }, [steps, only, query]);
  const most = Math.max(...steps.map((t) => t.total));
  return (
    <>
      <Timeline steps={steps} selected={selected} onSelect={onSelect} />
      <Totals steps={steps} onSelect={onSelect} />
      <div class="body">
        <div class="views">
          <p>
            <label>
              <input type="checkbox" checked={only} onChange={(e) => setOnly(e.currentTarget.checked)} /> Only steps with a mark
            </label>{" "}
            <label>
              Search what was said <input type="search" value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
            </label>
          </p>
          <div class="row head" aria-hidden="true">
            <span class="rank">step</span>
            <span class="marks" />
            <span class="name">“the user's message” and the model's answer</span>
            <span class="size">tokens</span>
            <span class="size priority">{steps.some((t) => t.reported) ? "cached" : "in common"}</span>
          </div>
          <List
            id="steps"
            label="Steps"
            role="listbox"
            length={rows.length}
            selected={rows.indexOf(selected)}
            onSelect={(row) => onSelect(rows[row])}
            onKey={(e) => e.key === "Enter" && (onOpen(selected), true)}
            row={(row) => {
              const i = rows[row];
              const t = steps[i];
              return {
                key: i,
                content: (
                  <>
                    <span class="rank">
                      <span class="spoken">step </span>
                      {i + 1}
                    </span>
                    <span class="marks" title={words(t)}>
                      <span aria-hidden="true">{marks(t)}</span>
                      <span class="spoken">{words(t)}</span>
                    </span>
                    <span class="name">
                      {t.asks ? <b>“{snippet(t.asks, 60)}” </b> : null}
                      {endOfPaths(snippet(t.step.did, 200))}
                    </span>
                    <span class="bar" aria-hidden="true">
                      <i style={{ width: `${(100 * t.total) / most}%` }} />
                    </span>
                    <span class="size">
                      {number(t.total)}
                      <span class="spoken"> tokens, </span>
                    </span>
                    <span class="size priority">
                      {percent(t.cached, t.asked)}
                      <span class="spoken"> {t.reported ? "cached" : "in common"}</span>
                    </span>
                  </>
                ),
              };
            }}
          />
        </div>
        <StepDetails steps={steps} at={selected} onOpen={onOpen} />
      </div>
    </>
  );
}

const marks = (t: StepFacts): string => `${t.step.compactions?.length ? "▼" : ""}${t.step.cleared ? "▽" : ""}${t.broke ? "✕" : ""}${t.step.lost ? "○" : ""}${t.step.lookBack?.facts ? "?" : ""}`;

const words = (t: StepFacts): string => [t.step.compactions?.length && "compacted", t.step.cleared && "cleared", t.broke && "cache break", t.step.lost && "the cache was gone", t.step.lookBack?.facts && "needed what the prompt no longer showed"].filter(Boolean).join(", ");

/** Totals are the numbers of the whole session, and its compactions and cache breaks in sentences. */
function Totals({ steps, onSelect }: { steps: StepFacts[]; onSelect: (step: number) => void }) {
  const compactions = steps.flatMap((t, i) => (t.step.compactions ?? []).map((c) => ({ c, i })));
  const breaks = steps.map((t, i) => ({ t, i })).filter(({ t }) => t.broke);
  const worst = [...breaks].sort((a, b) => b.t.lost - a.t.lost)[0];
  const sent = steps.reduce((sum, t) => sum + t.total, 0);
  const cached = steps.reduce((sum, t) => sum + t.cached, 0);
  const peak = steps.reduce((best, t, i) => (t.total > steps[best].total ? i : best), 0);
  const last = steps[steps.length - 1];
  const model = page.prompts.find((p) => p.model)?.model;
  const step = (i: number) => (
    <button type="button" class="link" onClick={() => onSelect(i)}>
      step {number(i + 1)}
    </button>
  );
  const lost = breaks.reduce((sum, { t }) => sum + t.lost, 0);
  const lostDollars = breaks.reduce((sum, { t }) => sum + t.lostDollars, 0);
  return (
    <>
      <dl class="facts">
        {model && <Fact name="Model" value={model} />}
        <Fact name="Steps" value={number(steps.length)} />
        <Fact name="Sent" value={number(sent)} note="tokens in all" />
        <Fact name="Peak" value={number(steps[peak].total)} note={steps[peak].budget === undefined ? "tokens" : `tokens, ${percent(steps[peak].total, steps[peak].budget!)} of the budget`} />
        <Fact name={steps.some((t) => t.reported) ? "Cached" : "In common with the previous step"} value={percent(cached, steps.reduce((sum, t) => sum + t.asked, 0))} />
        {page.account ? (
          <Fact name="Cost" value={dollars(page.account[page.account.length - 1].dollars)} note={page.account.slice(0, -1).filter((c) => c.dollars > 0).map((c) => `${c.name} ${dollars(c.dollars)}`).join(" + ")} />
        ) : (
          last.sum > 0 && <Fact name="Cost" value={dollars(last.sum)} note={steps.some((t) => t.estimated) ? "estimated from prices" : "as reported"} />
        )}
      </dl>
      <section class="summary" aria-label="Summary">
        <p>
          <b>▼ {count(compactions.length, "compaction")}.</b> {compactions.length > 0 && "Tokens of the prompt before and after: "}
          {compactions.map(({ c, i }, n) => (
            <span key={n}>
              {n > 0 && "; "}
              {step(i)}: {number(c.before)} to {number(c.after)}
            </span>
          ))}
          {compactions.length ? "." : ""}
        </p>
        <p>
          <b>✕ {count(breaks.length, "cache break")}</b>
          {worst ? (
            <>
              {" "}
              lost {tokens(lost)}
              {lostDollars > 0 && `, which cost ${dollars(lostDollars)}`}. The worst is {step(worst.i)}: {number(worst.t.lost)} lost{worst.t.lostDollars > 0 && `, ${dollars(worst.t.lostDollars)}`}.
            </>
          ) : (
            "."
          )}
        </p>
        <Sum mark="○" what="request" of={steps.map((t, i) => [i, t.step.lost?.dollars] as const).filter(([i]) => steps[i].step.lost)} rest="found the cache gone" step={step} />
        <Sum mark="?" what="answer" of={steps.map((t, i) => [i, t.step.lookBack?.dollars] as const).filter(([i]) => steps[i].step.lookBack?.facts)} rest="needed what the prompt no longer showed" step={step} />
      </section>
    </>
  );
}

type SumProps = { mark: string; what: string; of: (readonly [number, number | undefined])[]; rest: string; step: (i: number) => JSX.Element };

/** Sum says how many steps have a mark, what they cost, and which cost most. */
function Sum({ mark, what, of, rest, step }: SumProps) {
  if (of.length === 0) return null;
  const cost = of.reduce((sum, [, d]) => sum + (d ?? 0), 0);
  const [most] = [...of].sort((a, b) => (b[1] ?? 0) - (a[1] ?? 0));
  return (
    <p>
      <b>
        {mark} {count(of.length, what)}
      </b>{" "}
      {rest}
      {cost > 0 && `, which cost ${dollars(cost)}`}; most at {step(most[0])}.
    </p>
  );
}

function StepDetails({ steps, at, onOpen }: { steps: StepFacts[]; at: number; onOpen: (step: number, compare?: boolean) => void }) {
  const t = steps[at];
  const s = t.step;
  return (
    <section class="details" aria-label="Details of the step" tabIndex={0}>
      <h2>
        Step {number(at + 1)}
        {s.at ? <small> {new Date(s.at).toISOString().replace("T", " ").slice(0, 19)}</small> : null}
      </h2>
      {t.asks ? <p class="asks">“{snippet(t.asks, 2000)}”</p> : null}
      {s.did ? <p>{text(s.did)}</p> : null}
      <p>
        <button type="button" onClick={() => onOpen(at)}>
          Open its prompt
        </button>
      </p>
      {t.broke && (
        <p class="verdict dropped">
          <b>✕ The cache broke.</b> {tokens(t.lost)} of the previous step are not served from the cache{t.lostDollars > 0 && `, which costs ${dollars(t.lostDollars)}`}. {at > 0 && `The first difference: ${where(difference(page.prompts[steps[at - 1].step.prompt], page.prompts[s.prompt]))}. `}
          {s.break?.why}{" "}
          {at > 0 && (
            <button type="button" onClick={() => onOpen(at, true)}>
              Compare with step {number(at)}
            </button>
          )}
        </p>
      )}
      {s.cleared ? (
        <p class="verdict">
          <b>▽ Cleared</b> {tokens(s.cleared)} of old tool output{s.clearedWhy ? `: ${s.clearedWhy}` : ""}.
        </p>
      ) : null}
      {s.lost && (
        <p class="verdict dropped">
          <b>○ The cache was gone.</b> {s.lost.why}: {tokens(s.lost.tokens)} were not read from it{s.lost.dollars ? `, which cost ${dollars(s.lost.dollars)}` : ""}.
        </p>
      )}
      {s.lookBack?.facts && (
        <p class="verdict dropped">
          <b>? The answer needed what the prompt no longer showed:</b> {s.lookBack.facts.slice(0, 20).join(", ")}
          {s.lookBack.facts.length > 20 ? ", …" : ""}
          {s.lookBack.dollars ? `; looking it up costs ${dollars(s.lookBack.dollars)}` : ""}.
        </p>
      )}
      {s.compactions?.map((c, i) => <Compacted key={`${at}-${i}`} c={c} steps={steps} at={at} />)}
      {s.notes?.map((n, i) => (
        <p key={i} class="warning">
          {text(n)}
        </p>
      ))}
      <dl>
        <dt>Prompt</dt>
        <dd>
          {number(t.total)}{t.budget === undefined ? " tokens" : ` of ${number(t.budget)} (${percent(t.total, t.budget)})`}
        </dd>
        {kinds
          .filter((k) => t.tokens[k] > 0)
          .map((k) => (
            <>
              <dt key={k}>
                <i class={`swatch ${k}`} />
                {kindWords[k]}
              </dt>
              <dd>
                {number(t.tokens[k])} ({percent(t.tokens[k], t.total)})
              </dd>
            </>
          ))}
        <dt>{t.reported ? "Cached" : "In common"}</dt>
        <dd>
          {number(t.cached)} ({percent(t.cached, t.asked)})
        </dd>
        {t.reported && (
          <>
            <dt>Reported</dt>
            <dd>
              {number(s.usage!.input ?? 0)} in, {number(s.usage!.output ?? 0)} out
            </dd>
          </>
        )}
        {t.dollars > 0 && (
          <>
            <dt>Cost</dt>
            <dd>
              {dollars(t.dollars)}, {dollars(t.sum)} in all{s.dollars ? "" : " (estimated)"}
            </dd>
          </>
        )}
      </dl>
      <Where prompt={page.prompts[s.prompt]} />
      {s.explain && (
        <>
          <h3>Decision</h3>
          <Text key={at} of={s.explain} />
        </>
      )}
    </section>
  );
}

/** Compacted shows a compaction: the summary beside the messages that it covers. */
function Compacted({ c, steps, at }: { c: Compaction; steps: StepFacts[]; at: number }) {
  const s = saved(steps, at, c);
  const later = s ? steps.slice(at, at + s.requests).flatMap((t, i) => (t.step.lookBack?.facts ? [number(at + i + 1)] : [])) : [];
  const [shown, setShown] = useState(20);
  const covered = c.covered ?? [];
  return (
    <div class="compacted">
      <p class="verdict">
        <b>
          ▼ Compacted from {number(c.before)} to {tokens(c.after)}
        </b>
        {[c.reason && `on ${c.reason}`, c.mode && `mode ${c.mode}`, c.model && `by ${c.model}`, c.dollars && dollars(c.dollars)].filter(Boolean).map((w) => `, ${w}`)}. {c.why && `Why: ${c.why}.`}
      </p>
      {s && (
        <p>
          {count(s.requests, "request")} until the next compaction {s.requests === 1 ? "was" : "were"} spared {tokens(s.tokens)} each: {dollars(s.spared)} saved at the price of a cache read; writing the new prompt cost {dollars(s.written)} more than
          reading it{c.dollars ? `, the summary ${dollars(c.dollars)}` : ""}.{later.length > 0 && ` Of their answers ${number(later.length)} needed what the prompt no longer showed: steps ${later.join(", ")}.`}
        </p>
      )}
      <div class="columns">
        <div>
          <h3>Summary</h3>
          {(c.shown ?? []).map((m) => (
            <MessageView key={m} message={page.messages[m]} open />
          ))}
        </div>
        <div>
          <h3>Covered messages ({number(covered.length)})</h3>
          {covered.slice(0, shown).map((m, i) => (
            <MessageView key={i} message={page.messages[m]} />
          ))}
          {shown < covered.length && (
            <button type="button" onClick={() => setShown(shown + 200)}>
              Show {number(Math.min(200, covered.length - shown))} more
            </button>
          )}
        </div>
      </div>
    </div>
  );
}
