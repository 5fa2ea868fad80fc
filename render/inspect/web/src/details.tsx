import { useState } from "preact/hooks";
import { text } from "./data";
import { number, percent, tokens } from "./format";
import { known, stateWords, why, type Fit, type Tree } from "./tree";

type Props = {
  tree: Tree;
  fit: Fit;
  node: number;
  zoom: number;
  onSelect: (node: number) => void;
  onBudget: (budget: number) => void;
  onZoom: (node: number) => void;
};

/** Details shows everything known about an element or a piece. */
export function Details({ tree, fit, node: at, zoom, onSelect, onBudget, onZoom }: Props) {
  const node = tree.nodes[at];
  const p = node.piece;
  const [sign, word] = stateWords[fit.state(at)];
  const near = tree.priority(at);
  const above = [];
  for (let i = tree.parent[at]; i >= 0; i = tree.parent[i]) above.unshift(i);
  return (
    <section class="details" aria-label="Details" tabIndex={0}>
      {above.length > 0 && (
        <p class="crumbs">
          {above.map((i) => (
            <span key={i}>
              <button type="button" class="link" onClick={() => onSelect(i)}>
                {tree.nodes[i].name || tree.label(i)}
              </button>{" "}
              ›{" "}
            </span>
          ))}
        </p>
      )}
      <h2>{tree.label(at)}</h2>
      <p class={`verdict ${fit.state(at)}`}>
        <b>
          {sign} {word[0].toUpperCase() + word.slice(1)}
        </b>{" "}
        {p
          ? why(tree, fit, at)
          : `${number(fit.kept[at])} of ${tokens(tree.whole[at])} kept${at > 0 ? `, ${percent(fit.kept[at], fit.kept[0])} of everything kept` : ""}${fit.dropped[at] ? `, ${number(fit.dropped[at])} dropped` : ""}${fit.trimmed[at] ? `, ${number(fit.trimmed[at])} trimmed` : ""}.`}
      </p>
      {p && known(tree.prompt) && p.keptFrom ? (
        <p>
          A budget of{" "}
          <button type="button" onClick={() => onBudget(p.keptFrom!)}>
            {number(p.keptFrom)}
          </button>{" "}
          or more keeps it{p.sizes && p.sizes.length > 1 ? " in part, and " : "."}
          {p.sizes && p.sizes.length > 1 && (
            <>
              <button type="button" onClick={() => onBudget(p.sizes![p.sizes!.length - 1].budget)}>
                {number(p.sizes[p.sizes.length - 1].budget)}
              </button>{" "}
              all of it.
            </>
          )}
        </p>
      ) : null}
      <dl>
        <dt>Path</dt>
        <dd>{tree.path(at)}</dd>
        <dt>Tokens</dt>
        <dd>
          {number(tree.whole[at])} {p ? "by itself" : "in all its pieces"}
        </dd>
        <dt>Priority</dt>
        <dd>
          {near ? (near.from === at ? near.value : `${near.value}, from ${tree.path(near.from)}`) : "none, which is the highest"}
        </dd>
        {p && (
          <>
            <dt>Kind</dt>
            <dd>{p.kind}</dd>
          </>
        )}
        {node.role && (
          <>
            <dt>Role</dt>
            <dd>{node.role}</dd>
          </>
        )}
        {p?.group && (
          <>
            <dt>Group</dt>
            <dd>{p.group}</dd>
          </>
        )}
        {p?.limit && (
          <>
            <dt>Token limit</dt>
            <dd>{p.limit}</dd>
          </>
        )}
      </dl>
      {tree.end[at] > at + 1 && at !== zoom && (
        <button type="button" onClick={() => onZoom(at)}>
          Zoom to it
        </button>
      )}
      {node.text ? <Text key={at} of={text(node.text)} /> : null}
    </section>
  );
}

const shown = 4000; // characters

/** Text shows the beginning of a text, and all of it on request. */
export function Text({ of, mark }: { of: string; mark?: number }) {
  const [all, setAll] = useState(false);
  if (of === "") return null;
  const cut = !all && of.length > shown;
  const body = cut ? of.slice(0, shown) : of;
  return (
    <>
      <pre dir="auto" class={/[^\n]{20000}/.test(body) ? "long" : ""}>
        {mark !== undefined && mark < body.length ? (
          <>
            {body.slice(0, mark)}
            <mark>{body.slice(mark)}</mark>
          </>
        ) : (
          body
        )}
      </pre>
      {cut && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {number(of.length)} characters
        </button>
      )}
    </>
  );
}
