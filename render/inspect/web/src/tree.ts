import { childrenOf, page, snippet, text, type Node, type Piece, type Prompt } from "./data";

export type State = "kept" | "trimmed" | "dropped" | "required" | "mixed";

/** Tree is a prompt as arrays, with the nodes in preorder. */
export class Tree {
  readonly nodes: Node[] = [];
  readonly parent: number[] = [];
  readonly depth: number[] = [];
  /** end is the first node after a node's descendants. */
  readonly end: number[] = [];
  readonly role: string[] = [];
  /** whole is the tokens of a node if nothing were dropped or trimmed. */
  readonly whole: Float64Array;
  readonly pieces: number[] = [];
  /** beside is the node of the tools beside the prompt, or the number of nodes if there are none. */
  readonly beside: number;

  constructor(readonly prompt: Prompt) {
    this.add(prompt.root, -1, 0, "");
    this.beside = this.nodes.length;
    if (prompt.tools?.length) {
      const root = this.nodes.length;
      this.nodes.push({ name: "tools beside the prompt", role: "tools" });
      this.parent.push(0);
      this.depth.push(1);
      this.end.push(0);
      this.role.push("tools");
      for (const t of prompt.tools) this.add(t, root, 2, "tools");
      this.end[root] = this.end[0] = this.nodes.length;
    }
    this.whole = new Float64Array(this.nodes.length);
    for (let i = this.nodes.length - 1; i >= 0; i--) {
      const p = this.nodes[i].piece;
      if (p) this.whole[i] = p.trimmedFrom || p.tokens;
      if (i > 0) this.whole[this.parent[i]] += this.whole[i];
    }
  }

  private add(index: number, parent: number, depth: number, role: string) {
    const node = page.nodes[index];
    const at = this.nodes.length;
    this.nodes.push(node);
    this.parent.push(parent);
    this.depth.push(depth);
    this.end.push(0);
    this.role.push(node.piece?.kind === "tool" ? "tools" : node.role || role);
    if (node.piece) this.pieces.push(at);
    for (const c of childrenOf(index)) this.add(c, at, depth + 1, this.role[at]);
    this.end[at] = this.nodes.length;
  }

  children(of: number): number[] {
    const list = [];
    for (let i = of + 1; i < this.end[of]; i = this.end[i]) list.push(i);
    return list;
  }

  /** path returns the path of a node, or of the element around it. */
  path(of: number): string {
    const names = [];
    for (let i = of; i > 0; i = this.parent[i]) if (this.nodes[i].name) names.unshift(this.nodes[i].name);
    return names.join(" > ") || this.nodes[0].name || "";
  }

  /** label returns a short name of a node. */
  label(of: number): string {
    const n = this.nodes[of];
    if (ownTag(n)) return text(n.tag);
    if (n.piece && !n.name) return n.text ? snippet(n.text, 60) : n.piece.kind;
    return n.name || "Root";
  }

  /** title returns the tag or name around a piece, or its path. */
  title(of: number): string {
    return this.named(of) ?? this.path(of);
  }

  /** named returns the tag around a piece, or the nearest element whose name says something. */
  named(of: number): string | undefined {
    for (let i = of; i > 0 && !this.nodes[i].role; i = this.parent[i]) {
      const above = this.nodes[i];
      if (ownTag(above, "<")) return text(above.tag);
      if (above.name && !generic.test(above.name)) return above.name;
    }
    return undefined;
  }

  /** priority returns the priority of a node, or of the nearest element around it that has one. */
  priority(of: number): { value: number; from: number } | undefined {
    for (let i = of; i >= 0; i = this.parent[i]) {
      const value = this.nodes[i].priority;
      if (value !== undefined) return { value, from: i };
    }
    return undefined;
  }
}

/** generic matches names that say nothing about the content. */
const generic = /^(Text|Fence|Together|Wrap|Finished|text)(#\d+)?$/;

/** ownTag reports whether a tag, or a fence, was given no other name. */
const ownTag = (n: Node, begin = ""): boolean =>
  !!n.tag && text(n.tag).startsWith(begin) && (generic.test(n.name!) || text(n.tag).startsWith("<" + n.name!.split("#")[0]));

/** known reports whether the page knows what a prompt keeps at other budgets than its own. */
export const known = (p: Prompt): boolean => p.unknown === undefined;

/** exact reports whether the page knows what a prompt keeps at a budget. */
export const exact = (p: Prompt, budget: number): boolean =>
  budget === p.budget || (known(p) && budget >= p.from! && (!p.below || budget < p.below));

/** sizeAt returns the tokens of a piece at a budget, -1 if it is dropped. */
export function sizeAt(p: Piece, budget: number, prompt: Prompt): number {
  if (!p.keptFrom || !known(prompt)) return p.dropped ? -1 : p.tokens;
  if (budget < p.keptFrom) return -1;
  let size = p.tokens;
  for (const s of p.sizes ?? []) if (s.budget <= budget) size = s.tokens;
  return size;
}

/** Fit holds the tokens that a prompt keeps at a budget. */
export class Fit {
  readonly kept: Float64Array;
  readonly trimmed: Float64Array;
  readonly dropped: Float64Array;
  /** size is the tokens of a piece, -1 if it is dropped. */
  readonly size: Float64Array;
  readonly keptPieces: number = 0;
  readonly droppedPieces: number = 0;
  readonly trimmedPieces: number = 0;

  constructor(readonly tree: Tree, readonly budget: number) {
    const n = tree.nodes.length;
    this.kept = new Float64Array(n);
    this.trimmed = new Float64Array(n);
    this.dropped = new Float64Array(n);
    this.size = new Float64Array(n);
    for (let i = n - 1; i >= 0; i--) {
      const p = tree.nodes[i].piece;
      if (p) {
        const whole = tree.whole[i];
        const size = sizeAt(p, budget, tree.prompt);
        this.size[i] = size;
        if (size < 0) {
          this.dropped[i] = whole;
          this.droppedPieces++;
        } else {
          if (i < tree.beside) this.keptPieces++;
          this.kept[i] = size;
          this.trimmed[i] = whole - size;
          if (size < whole) this.trimmedPieces++;
        }
      }
      if (i > 0) {
        const up = tree.parent[i];
        this.kept[up] += this.kept[i];
        this.trimmed[up] += this.trimmed[i];
        this.dropped[up] += this.dropped[i];
      }
    }
  }

  /** keptTokens returns the tokens of the pieces in the prompt, without the tools beside it. */
  keptTokens(): number {
    return this.kept[0] - (this.kept[this.tree.beside] ?? 0);
  }

  state(of: number): State {
    const p = this.tree.nodes[of].piece;
    if (p) {
      if (this.size[of] < 0) return "dropped";
      if (this.size[of] < this.tree.whole[of]) return "trimmed";
      return p.required ? "required" : "kept";
    }
    if (this.dropped[of] > 0 && this.kept[of] === 0) return "dropped";
    if (this.dropped[of] > 0) return "mixed";
    return this.trimmed[of] > 0 ? "trimmed" : "kept";
  }
}

/** Drop is a set of pieces that are dropped together as the budget gets smaller: they are kept from the same budget on. */
export type Drop = { keptFrom: number; pieces: number[]; tokens: number };

/** wholeFrom returns the budget from which on a piece is whole, 0 if it is at any. */
export const wholeFrom = (p: Piece): number => p.sizes?.at(-1)?.budget ?? p.keptFrom ?? 0;

/** neverWhole returns the texts that layout cut: no budget keeps all of them, unless the prompt is laid out again. */
export const neverWhole = (tree: Tree): number[] => tree.pieces.filter((i) => tree.nodes[i].piece!.cut);

/** drops returns all drops in order, the first one first. */
export function drops(tree: Tree): Drop[] {
  const by = new Map<number, Drop>();
  for (const i of tree.pieces) {
    const p = tree.nodes[i].piece!;
    if (!known(tree.prompt) ? !p.dropped : !p.keptFrom) continue;
    // A text that is trimmed first is dropped at the budget at which no part of it is kept.
    const from = p.keptFrom ?? 0;
    const key = known(tree.prompt) ? from : i - tree.nodes.length;
    const g = by.get(key);
    if (g) {
      g.pieces.push(i);
      g.tokens += tree.whole[i];
    } else by.set(key, { keptFrom: from, pieces: [i], tokens: tree.whole[i] });
  }
  const list = [...by.values()];
  if (known(tree.prompt)) return list.sort((a, b) => b.keptFrom - a.keptFrom);
  const rank = (g: Drop) => tree.nodes[g.pieces[0]].piece!.priority ?? Infinity;
  return list.sort((a, b) => rank(a) - rank(b));
}

/** stateWords are the states in words, and their signs. */
export const stateWords: Record<State, [sign: string, word: string]> = {
  required: ["■", "required"],
  kept: ["●", "kept"],
  trimmed: ["◐", "trimmed"],
  dropped: ["○", "dropped"],
  mixed: ["◍", "kept in part"],
};

/** why returns in words the reason for the state of a piece at a budget. */
export function why(tree: Tree, fit: Fit, of: number): string {
  const p = tree.nodes[of].piece!;
  const state = fit.state(of);
  const rank = (n: number | undefined) => (n === undefined ? "no priority, which is the highest" : `priority ${n}`);
  if (state === "required") return of > tree.beside ? "It is declared beside the prompt, where nothing is pruned." : "It is required, so it is never pruned.";
  if (state === "kept") return p.restored ? "It was dropped, and put back because there was room left (backfill)." : "There is room for it.";
  if (state === "trimmed") {
    const largest = sizeAt(p, Infinity, tree.prompt);
    const reason =
      p.cut && fit.size[of] === largest ? "That was its share of the budget at layout." : p.required ? "That is what a token limit leaves it." : "Otherwise it would have been the last piece to be dropped.";
    return `It is trimmed to ${fit.size[of].toLocaleString("en")} of ${tree.whole[of].toLocaleString("en")} tokens. ${reason}`;
  }
  if (p.dropped === "share") return `It was dropped because no share of the budget was left at layout${p.by ? ` for “${p.by}”` : ""}.`;
  if (!p.dropped) return `At this budget it is dropped: ${rank(p.priority)} is then the lowest that is left.`;
  const limit = p.limit ? ` for the token limit of ${p.limit}` : "";
  const what = p.by ? `“${p.by}”` : "it";
  switch (p.dropped) {
    case "chunk":
      return `It was dropped${limit} with its chunk, ${p.by ? what : "the element around it"}, which had the lowest priority that was left: ${rank(p.priority)}.`;
    case "group":
      return `It was dropped${limit} with ${p.group ? `group “${p.group}”` : "its group"}, in which ${what} had the lowest priority that was left: ${rank(p.priority)}.`;
    case "emptied":
      return `It was dropped${limit} because only white space was left around it without ${what}.`;
    default:
      return `It was dropped${limit} because ${rank(p.priority)} was the lowest that was left${p.by ? `, of ${what}` : ""}.`;
  }
}
