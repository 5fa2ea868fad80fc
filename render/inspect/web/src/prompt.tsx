import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { page, snippet, text, type Prompt } from "./data";
import { Budget } from "./budget";
import { Details } from "./details";
import { dollars, number, percent } from "./format";
import { Icicle } from "./icicle";
import { Compare, Messages } from "./messages";
import { Order } from "./order";
import { Outline } from "./outline";
import { Fit, drops, known, neverWhole, wholeFrom, stateWords, Tree, why, type Drop } from "./tree";

type View = "order" | "tree" | "messages" | "compare";

/** openAtFirst is the largest number of rows that are shown at first. */
const openAtFirst = 400;

/** opened returns the nodes that are open at first: those around messages, and deeper levels as long as there are few rows. */
function opened(tree: Tree): Set<number> {
  const open = new Set<number>();
  let rows = 1;
  for (let depth = 0; rows < openAtFirst; depth++) {
    const level = [];
    for (let i = 0; i < tree.nodes.length; i++) if (tree.depth[i] === depth && tree.end[i] > i + 1) level.push(i);
    if (level.length === 0) break;
    for (const i of level) rows += tree.children(i).length;
    if (depth > 0 && rows > openAtFirst) break;
    for (const i of level) open.add(i);
  }
  return open;
}

/** PromptView shows a prompt. */
export function PromptView({ at, before, compare }: { at: number; before: number; compare?: boolean }) {
  const prompt = page.prompts[at];
  const tree = useMemo(() => new Tree(prompt), [prompt]);
  const list = useMemo(() => drops(tree), [tree]);
  const [budget, setBudget] = useState(prompt.budget);
  const fit = useMemo(() => new Fit(tree, budget), [tree, budget]);
  const first = list.find((e) => tree.nodes[e.pieces[0]].piece!.dropped);
  const [selected, setSelected] = useState(first ? first.pieces[0] : 0);
  const [open, setOpen] = useState(() => opened(tree));
  const [zoom, setZoom] = useState(0);
  const [view, setView] = useState<View>(compare ? "compare" : first ? "order" : "tree");
  const [query, setQuery] = useState("");
  const [other, setOther] = useState(before);
  const found = useMemo(() => search(tree, query), [tree, query]);
  const hits = useMemo(() => new Set(found), [found]);

  const reveal = (node: number) => {
    setSelected(node);
    setOpen((open) => {
      const more = new Set(open);
      for (let i = tree.parent[node]; i >= 0; i = tree.parent[i]) more.add(i);
      return more.size === open.size ? open : more;
    });
  };
  const go = (by: number) => {
    if (found.length === 0) return;
    const now = found.indexOf(selected);
    reveal(found[now < 0 ? (by > 0 ? 0 : found.length - 1) : (now + by + found.length) % found.length]);
  };
  const views: [View, string][] = [
    ["order", "Drop order"],
    ["tree", "Tree"],
    ["messages", "Messages as sent"],
  ];
  if (page.prompts.length > 1) views.push(["compare", "Compare"]);
  return (
    <>
      <Facts tree={tree} />
      <Summary tree={tree} list={list} onSelect={reveal} onBudget={setBudget} />
      <Budget tree={tree} fit={fit} list={list} budget={budget} onBudget={setBudget} />
      <Icicle tree={tree} fit={fit} zoom={zoom} selected={selected} found={hits} onSelect={reveal} onZoom={setZoom} />
      <div class="search" role="search">
        <label>
          Search{" "}
          <input
            type="search"
            value={query}
            onInput={(e) => setQuery(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && (e.preventDefault(), go(e.shiftKey ? -1 : 1))}
          />
        </label>
        <button type="button" disabled={found.length === 0} onClick={() => go(-1)} aria-label="Previous match">
          ↑
        </button>
        <button type="button" disabled={found.length === 0} onClick={() => go(1)} aria-label="Next match">
          ↓
        </button>
        <span role="status">{query && (found.length ? `${number(found.length)} found${hits.has(selected) ? `, this is ${number(found.indexOf(selected) + 1)}` : ""}` : "nothing found")}</span>
      </div>
      <div class={view === "messages" || view === "compare" ? "body wide" : "body"}>
        <div class="views">
          <Tabs id="views" label="Views of the prompt" tabs={views} selected={view} onSelect={setView} />
          <div role="tabpanel" id="views-panel" aria-labelledby={`views-${view}`}>
            {view === "order" && <Order tree={tree} fit={fit} list={list} selected={selected} onSelect={reveal} />}
            {view === "tree" && (
              <Outline
                tree={tree}
                fit={fit}
                selected={selected}
                open={open}
                found={hits}
                onSelect={reveal}
                onOpen={(node, on) => {
                  const now = new Set(open);
                  if (on) now.add(node);
                  else now.delete(node);
                  setOpen(now);
                }}
              />
            )}
            {view === "messages" && <Messages prompt={prompt} budget={budget} />}
            {view === "compare" && <Compare prompts={page.prompts} at={other} onAt={setOther} of={at} />}
          </div>
        </div>
        {view !== "messages" && view !== "compare" && (
          <Details tree={tree} fit={fit} node={selected} zoom={zoom} onSelect={reveal} onBudget={setBudget} onZoom={setZoom} />
        )}
      </div>
    </>
  );
}

/** search returns the nodes whose name, tag or text has all words of a query. */
function search(tree: Tree, query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = [];
  for (let i = 1; i < tree.nodes.length; i++) {
    const n = tree.nodes[i];
    const where = `${n.name ?? ""} ${text(n.tag)} ${text(n.text)}`.toLowerCase();
    if (words.every((w) => where.includes(w))) found.push(i);
  }
  return found;
}

/** Facts are the numbers at the top of a prompt. */
function Facts({ tree }: { tree: Tree }) {
  const p = tree.prompt;
  const keptTokens = useMemo(() => new Fit(tree, p.budget).keptTokens(), [tree]);
  const beside = p.toolTokens ?? 0;
  const cost = p.rates ? ((p.tokens + beside) * p.rates.input) / 1e6 : 0;
  return (
    <dl class="facts">
      {page.prompts.length > 1 && <Fact name="Prompt" value={p.name} />}
      {p.model && <Fact name="Model" value={p.model} />}
      <Fact name="Used" value={number(p.tokens + beside)} note={p.noBudget ? "tokens; the budget is not known" : `tokens, ${percent(p.tokens + beside, p.budget + beside)} of the budget`} />
      {!p.noBudget && <Fact name="Budget" value={number(p.budget + beside)} note="tokens" />}
      <Fact name="Joins and frames" value={number(p.tokens - keptTokens)} note="tokens of roles, tags and line breaks" />
      {beside ? <Fact name="Beside the messages" value={number(beside)} note="of the tokens used: tools, and what the log does not have" /> : null}
      {cost ? <Fact name="Cost" value={dollars(cost)} note="if nothing is cached" /> : null}
    </dl>
  );
}

export function Fact({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b> {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

/** Where says in a sentence where the tokens of a prompt are, the most first. */
export function Where({ prompt }: { prompt: Prompt }) {
  const parts = Object.entries(prompt.breakdown ?? {}).filter(([, n]) => n > 0);
  const whole = parts.reduce((sum, [, n]) => sum + n, 0);
  if (parts.length < 2) return null; // one class says nothing
  return (
    <p class="where">
      <b>Where the tokens are:</b> {parts.sort((a, b) => b[1] - a[1]).map(([name, n]) => `${name} ${number(n)} (${percent(n, whole)})`).join(", ")}.
    </p>
  );
}

/** Summary says in sentences what was dropped first, why, and which budget would keep it. */
function Summary({ tree, list, onSelect, onBudget }: { tree: Tree; list: Drop[]; onSelect: (node: number) => void; onBudget: (budget: number) => void }) {
  const fit = useMemo(() => new Fit(tree, tree.prompt.budget), [tree]);
  const went = list.filter((e) => tree.nodes[e.pieces[0]].piece!.dropped);
  const trimmed = tree.pieces.find((i) => fit.state(i) === "trimmed");
  const link = (i: number) => (
    <button type="button" class="link" onClick={() => onSelect(i)}>
      {tree.named(i) ?? (tree.nodes[i].text ? `“${snippet(tree.nodes[i].text, 40)}”` : tree.path(i))}
    </button>
  );
  const at = (b: number) => (
    <button type="button" class="link" onClick={() => onBudget(b)}>
      {number(b)} tokens
    </button>
  );
  const [all] = list;
  const cut = neverWhole(tree);
  const cutNote = cut.length > 0 && <>{cut.length > 1 ? `${number(cut.length)} texts were cut to their shares` : <>{link(cut[0])} was cut to its share</>} of the budget at layout. </>;
  return (
    <section class="summary" aria-label="Summary">
      <Where prompt={tree.prompt} />
      {fit.droppedPieces === 0 ? (
        <p>
          <b>
            {stateWords.kept[0]} Nothing was dropped{trimmed === undefined ? "" : `, ${number(fit.trimmed[0])} tokens were trimmed away`}.
          </b>{" "}
          {cutNote}
          {known(tree.prompt) && all && <>Below {at(all.keptFrom)}, {link(all.pieces[0])} is dropped first.</>}
        </p>
      ) : (
        <>
          <p>
            <b>
              {stateWords.dropped[0]} {number(fit.droppedPieces)} of {number(fit.droppedPieces + fit.keptPieces)} pieces were dropped
            </b>
            , {number(fit.dropped[0])} of {number(tree.whole[0] - (tree.whole[tree.beside] ?? 0))} tokens
            {trimmed !== undefined && (
              <>
                ; {link(trimmed)} {fit.trimmedPieces > 1 ? `and ${number(fit.trimmedPieces - 1)} more were` : "was"} trimmed, by {number(fit.trimmed[0])} tokens
              </>
            )}
            . {cutNote}
            {known(tree.prompt) && all && cut.length === 0 && <>Everything fits in {at(Math.max(...tree.pieces.map((i) => wholeFrom(tree.nodes[i].piece!))))}.</>}
          </p>
          {went.length > 0 && (
            <p>
              <b>{known(tree.prompt) ? "Dropped first:" : "Lowest priority:"}</b> {link(went[0].pieces[0])}. {why(tree, fit, went[0].pieces[0])} {went[0].keptFrom > 0 && <>A budget of {at(wholeFrom(tree.nodes[went[0].pieces[0]].piece!))} keeps it.</>}
              {went.length > 3 && (
                <>
                  {" "}
                  Then {link(went[1].pieces[0])} and {link(went[2].pieces[0])}.
                </>
              )}
            </p>
          )}
          {known(tree.prompt) && went.length > 1 && (
            <p>
              <b>Dropped last:</b> {link(went[went.length - 1].pieces[0])}. A budget of {at(went[went.length - 1].keptFrom)} keeps it.
            </p>
          )}
        </>
      )}
    </section>
  );
}

type TabsProps<T extends string> = { id: string; label: string; tabs: [T, string][]; selected: T; onSelect: (tab: T) => void };

/** Tabs switches between views. */
export function Tabs<T extends string>({ id, label, tabs, selected, onSelect }: TabsProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    if (moved.current) box.current!.querySelector<HTMLElement>("[aria-selected=true]")!.focus();
    moved.current = false;
  }, [selected]);
  return (
    <div
      ref={box}
      class="tabs"
      role="tablist"
      aria-label={label}
      onKeyDown={(e) => {
        const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
        if (by === 0) return;
        e.preventDefault();
        moved.current = true;
        const now = tabs.findIndex(([tab]) => tab === selected);
        onSelect(tabs[(now + by + tabs.length) % tabs.length][0]);
      }}
    >
      {tabs.map(([tab, name]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`${id}-${tab}`}
          aria-controls={`${id}-panel`}
          aria-selected={tab === selected}
          tabIndex={tab === selected ? 0 : -1}
          onClick={() => onSelect(tab)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
