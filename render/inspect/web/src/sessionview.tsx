import { useMemo, useState } from "preact/hooks";
import { page, snippet, text, type Compaction } from "./data";
import { Text } from "./details";
import { count, dollars, endOfPaths, number, percent, tokens } from "./format";
import { List } from "./list";
import { difference, MessageView, where } from "./messages";
import { Fact, Where } from "./prompt";
import { kinds, kindWords, type StepFacts } from "./session";
import { Timeline } from "./timeline";

type Props = { steps: StepFacts[]; selected: number; onSelect: (step: number) => void; onOpen: (step: number, compare?: boolean) => void };

/** SessionView shows the steps of a session. */
export function SessionView({ steps, selected, onSelect, onOpen }: Props) {
  const [only, setOnly] = useState(false);
  const rows = useMemo(() => {
    const all = steps.map((_, i) => i);
    return only ? all.filter((i) => marks(steps[i])) : all;
  }, [steps, only]);
  const most = Math.max(...steps.map((t) => t.total));
  return (
    <>
      <Timeline steps={steps} selected={selected} onSelect={onSelect} />
      <Totals steps={steps} onSelect={onSelect} />
      <div class="body">
        <div class="views">
          <p>
            <label>
              <input type="checkbox" checked={only} onChange={(e) => setOnly(e.currentTarget.checked)} /> Only steps with a compaction, a clearing or a cache break
            </label>
          </p>
          <div class="row head" aria-hidden="true">
            <span class="rank">step</span>
            <span class="marks" />
            <span class="name">the model's answer</span>
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
                    <span class="name">{endOfPaths(snippet(t.step.did, 200))}</span>
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

const marks = (t: StepFacts): string => `${t.step.compactions?.length ? "▼" : ""}${t.step.cleared ? "▽" : ""}${t.broke ? "✕" : ""}`;

const words = (t: StepFacts): string => [t.step.compactions?.length && "compacted", t.step.cleared && "cleared", t.broke && "cache break"].filter(Boolean).join(", ");

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
        {last.sum > 0 && <Fact name="Cost" value={dollars(last.sum)} note={steps.some((t) => t.estimated) ? "estimated from prices" : "as reported"} />}
      </dl>
      <section class="summary" aria-label="Summary">
        <p>
          <b>▼ {count(compactions.length, "compaction")}.</b> {compactions.length > 0 && "Tokens of the prompt before and after: "}
          {compactions.slice(0, 8).map(({ c, i }, n) => (
            <span key={n}>
              {n > 0 && "; "}
              {step(i)}: {number(c.before)} to {number(c.after)}
            </span>
          ))}
          {compactions.length > 8 ? "; …" : compactions.length ? "." : ""}
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
      </section>
    </>
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
          <b>▽ Cleared</b> {tokens(s.cleared)} of old tool output.
        </p>
      ) : null}
      {s.compactions?.map((c, i) => <Compacted key={`${at}-${i}`} c={c} />)}
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
function Compacted({ c }: { c: Compaction }) {
  const [shown, setShown] = useState(20);
  const covered = c.covered ?? [];
  return (
    <div class="compacted">
      <p class="verdict">
        <b>
          ▼ Compacted from {number(c.before)} to {tokens(c.after)}
        </b>
        {[c.reason && `on ${c.reason}`, c.mode && `mode ${c.mode}`, c.model && `by ${c.model}`, c.dollars && dollars(c.dollars)].filter(Boolean).map((w) => `, ${w}`)}. {c.why}
      </p>
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
