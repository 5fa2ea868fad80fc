// The data of a page, which render/inspect writes.

export type Text = string | { bytes: number; digest: string };
export type Size = { budget: number; tokens: number };

export type Piece = {
  kind: string;
  tokens: number;
  priority?: number;
  by?: string;
  group?: string;
  trimmedFrom?: number;
  /** cut reports that layout trimmed it to its share of the budget. */
  cut?: boolean;
  required?: boolean;
  restored?: boolean;
  dropped?: string;
  limit?: string;
  keptFrom?: number;
  sizes?: Size[];
};

export type Node = {
  name?: string;
  tag?: number;
  role?: string;
  priority?: number;
  text?: number;
  piece?: Piece;
  /** like is the index plus one of a node whose first children are also the first children of this one; same is their number. */
  like?: number;
  same?: number;
  children?: number[];
};

export type Part = { kind: string; name?: string; text?: number };
export type Message = { role: string; tokens?: number; parts: Part[] };

export type Rates = { input: number; read?: number; write?: number; output: number };

export type Breakdown = { instructions: number; skills: number; tools: number; files: number; history: number; other: number };

export type Prompt = {
  name: string;
  model?: string;
  /** budget is the number of tokens that it was rendered for; if noBudget is set, that it has. */
  budget: number;
  noBudget?: boolean;
  tokens: number;
  rates?: Rates;
  root: number;
  /** same is the number of messages at the beginning that are those of the previous prompt; in the file, messages has only the others. */
  same?: number;
  messages: number[];
  counted?: boolean;
  tools?: number[];
  toolTokens?: number;
  /** breakdown says where the tokens of the prompt and of its tools are. */
  breakdown?: Breakdown;
  from?: number;
  below?: number;
  least?: number;
  unknown?: string;
};

export type Usage = { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };

export type Compaction = {
  before: number;
  after: number;
  reason?: string;
  why?: string;
  mode?: string;
  model?: string;
  dollars?: number;
  shown?: number[];
  covered?: number[];
};

export type CacheBreak = { why?: string; tokens: number; dollars?: number };

export type Step = {
  prompt: number;
  at?: number;
  did?: number;
  usage?: Usage;
  dollars?: number;
  explain?: string;
  compactions?: Compaction[];
  cleared?: number;
  clearedWhy?: string;
  break?: CacheBreak;
  lost?: CacheBreak;
  lookBack?: { facts?: string[]; dollars?: number };
  notes?: number[];
};

export type Page = {
  kind: "prompt" | "session";
  title: string;
  hidden?: boolean;
  texts: Text[];
  nodes: Node[];
  messages: Message[];
  prompts: Prompt[];
  steps?: Step[];
  /** account says what the session cost, in parts that add up to the last. */
  account?: { name: string; dollars: number }[];
};

export const page: Page = JSON.parse(document.getElementById("data")!.textContent!);

page.prompts.forEach((p, i) => {
  if (p.same) p.messages = page.prompts[i - 1].messages.slice(0, p.same).concat(p.messages);
});

/** childrenOf returns the children of a node. */
export function childrenOf(index: number): number[] {
  const parts: number[][] = [];
  let most = Infinity;
  for (let node: Node | undefined = page.nodes[index]; node && most > 0; node = node.like ? page.nodes[node.like - 1] : undefined) {
    const same = node.same ?? 0;
    if (most > same) parts.push((node.children ?? []).slice(0, most - same));
    most = Math.min(most, same);
  }
  return parts.reverse().flat();
}

/** text returns a text by its index plus one, or its length and digest if it is hidden. */
export function text(index: number | undefined): string {
  if (!index) return "";
  const t = page.texts[index - 1];
  return typeof t === "string" ? t : `[hidden: ${t.bytes.toLocaleString("en")} bytes, SHA-256 ${t.digest}…]`;
}

/** snippet returns the beginning of a text in a line. */
export function snippet(index: number | undefined, length = 80): string {
  const whole = text(index);
  const start = whole.slice(0, length * 4).replace(/\s+/g, " ").trim();
  return start.length > length || start.length < whole.length / 4 ? start.slice(0, length) + "…" : start;
}
