import { page, text, type Step } from "./data";
import { difference, lost } from "./messages";

/** kinds of tokens in a context window, from the bottom of the timeline. */
export const kinds = ["tools", "system", "summary", "user", "assistant", "tool"] as const;
export type Kind = (typeof kinds)[number];

export const kindWords: Record<Kind, string> = {
  tools: "tool definitions and what stands beside the messages",
  system: "system",
  summary: "summaries",
  user: "user",
  assistant: "assistant",
  tool: "tool results",
};

/** StepFacts are the facts about a step that the page shows. */
export type StepFacts = {
  step: Step;
  tokens: Record<Kind, number>;
  total: number;
  /** budget is undefined if it is not known. */
  budget?: number;
  /** cached is the number of tokens that the cache served, or that the prompt has in common with the previous one. */
  cached: number;
  /** asked is the number of tokens of the whole prompt: the provider's count, or ours. */
  asked: number;
  reported: boolean;
  /** estimated reports that the dollars of its request are worked out from prices. */
  estimated: boolean;
  /** lost is the number of tokens of the previous prompt that a cache cannot serve, lostDollars their cost. */
  lost: number;
  lostDollars: number;
  /** broke says that more than the last message was lost although nothing was compacted or cleared. */
  broke: boolean;
  /** asks is the index plus one of the user's words that the step answers first, 0 if it goes on. */
  asks: number;
  /** dollars is the cost of the step with its compactions and what it would look up, sum that of all steps up to it. */
  dollars: number;
  sum: number;
};

/** factsOfSteps returns the facts about each step. */
export function factsOfSteps(): StepFacts[] {
  const summaries = new Set<number>();
  let sum = 0;
  const usage = page.steps!.some((s) => (s.usage?.input ?? 0) > 0); // a request without it was cancelled
  let sums = { system: 0, summary: 0, user: 0, assistant: 0, tool: 0 };
  return page.steps!.map((step, i) => {
    const p = page.prompts[step.prompt];
    const before = i > 0 ? page.prompts[page.steps![i - 1].prompt] : undefined;
    for (const c of step.compactions ?? []) for (const m of c.shown ?? []) summaries.add(m);
    const grew = before && !step.compactions && p === page.prompts[page.steps![i - 1].prompt + 1] && p.same === before.messages.length;
    sums = grew ? { ...sums } : { system: 0, summary: 0, user: 0, assistant: 0, tool: 0 };
    for (let k = grew ? p.same! : 0; k < p.messages.length; k++) {
      const m = page.messages[p.messages[k]];
      const kind = summaries.has(p.messages[k]) ? "summary" : m.role in sums ? (m.role as keyof typeof sums) : "user";
      sums[kind] += m.tokens ?? 0;
    }
    const counted = sums.system + sums.summary + sums.user + sums.assistant + sums.tool;
    const tokens: Record<Kind, number> = { ...sums, tools: (p.toolTokens ?? 0) + Math.max(0, p.tokens - counted) }; // tools in the prompt are included
    const total = p.tokens + (p.toolTokens ?? 0);
    const d = before && difference(before, p);
    const gone = step.break?.tokens ?? (before ? lost(before, d!) : 0);
    const reported = (step.usage?.input ?? 0) > 0;
    const cached = reported ? step.usage!.cacheRead ?? 0 : d ? Math.min(total, d.tokens) : 0;
    const asked = reported ? step.usage!.input! : total;
    const r = p.rates;
    const read = r?.read || r?.input || 0;
    const write = r?.write || r?.input || 0;
    let dollars = step.dollars ?? (r && !usage ? (cached * read + (asked - cached) * write) / 1e6 : 0);
    dollars += step.lookBack?.dollars ?? 0;
    for (const c of step.compactions ?? []) dollars += c.dollars ?? 0;
    sum += dollars;
    // The end of a prompt may change from step to step: that breaks nothing.
    const tail = before?.messages.length ? page.messages[before.messages[before.messages.length - 1]].tokens ?? 0 : 0;
    const changed = (step.compactions?.length ?? 0) > 0 || !!step.cleared;
    return {
      step,
      tokens,
      total,
      budget: p.noBudget ? undefined : p.budget + (p.toolTokens ?? 0),
      cached,
      asked,
      reported,
      estimated: !step.dollars && !usage && r !== undefined,
      lost: gone,
      lostDollars: step.break?.dollars ?? (gone * Math.max(0, write - read)) / 1e6,
      broke: step.break !== undefined || (gone > tail && !changed && !step.lost),
      asks: words(p.messages, summaries, before?.messages),
      dollars,
      sum,
    };
  });
}

/** words returns the text that the user says at the end of a prompt, 0 for none. What begins as it did in the prompt before is new only behind an answer. */
function words(messages: number[], summaries: Set<number>, before: number[] = []): number {
  const said = (m: number) => page.messages[m].parts.find((p) => p.kind === "text")?.text ?? 0;
  const begins = (m: number) => text(said(m)).slice(0, 60);
  const behind = (list: number[]) => list.findLastIndex((m) => page.messages[m].role !== "user") + 1;
  const first = behind(messages);
  const answered = first > 0 && page.messages[messages[first - 1]].role === "assistant";
  const old = answered ? [] : before.slice(behind(before)).map(begins);
  const found = messages.slice(first).find((m) => !summaries.has(m) && !old.includes(begins(m)));
  return found === undefined ? 0 : said(found);
}

/** saved says what a compaction before a step spared and cost, until the next one; "" if prices are not known. */
export function saved(steps: StepFacts[], at: number, c: { before: number; after: number; dollars?: number }): { requests: number; tokens: number; spared: number; written: number } | undefined {
  const r = page.prompts[steps[at].step.prompt].rates;
  if (!r || c.after >= c.before) return;
  const next = steps.findIndex((t, i) => i > at && t.step.compactions?.length);
  const requests = (next < 0 ? steps.length : next) - at;
  const tokens = c.before - c.after;
  const read = r.read || r.input;
  return { requests, tokens, spared: (requests * tokens * read) / 1e6, written: (c.after * Math.max(0, (r.write || r.input) - read)) / 1e6 };
}
