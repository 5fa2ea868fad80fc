import { snippet } from "./data";
import { number } from "./format";
import { List } from "./list";
import { Sign } from "./sign";
import { known, type Fit, type Drop, type Tree } from "./tree";

type Props = { tree: Tree; fit: Fit; list: Drop[]; selected: number; onSelect: (node: number) => void };

/** Order lists the pieces in the order in which they are dropped as the budget gets smaller, with a line at the budget. */
export function Order({ tree, fit, list, selected, onSelect }: Props) {
  const next = known(tree.prompt) ? list.findIndex((e) => e.keptFrom <= fit.budget) : -1;
  const gone = next < 0 ? (known(tree.prompt) ? list.length : 0) : next;
  const row = list.findIndex((e) => e.pieces.includes(selected));
  if (list.length === 0) return <p class="empty">{known(tree.prompt) ? "Nothing in this prompt can be dropped." : "Nothing was dropped."}</p>;
  return (
    <>
      <p class="hint">
        {known(tree.prompt)
          ? `Pieces are dropped in this order as the budget gets smaller. ${number(gone)} of ${number(list.length)} steps are needed at ${number(fit.budget)} tokens. The ten below the line are next, from →1 on.`
          : "The dropped pieces, by priority. The order in which they were dropped is not known."}
      </p>
      <div class="row head" aria-hidden="true">
        <span class="rank">no.</span>
        <span class="sign" />
        <span class="name">piece</span>
        <span class="size">tokens</span>
        {list.some((e) => e.keptFrom > 0) && <span class="from">in budgets</span>}
      </div>
      <List
        id="order"
        label="Drop order"
        role="listbox"
        length={list.length}
        selected={row}
        shown={Math.max(0, gone - 1)}
        onSelect={(row) => onSelect(list[row].pieces[0])}
        row={(row) => {
          const e = list[row];
          const first = e.pieces[0];
          const p = tree.nodes[first].piece!;
          const state = fit.state(first);
          const soon = gone >= 0 && row >= gone && row < gone + 10 && known(tree.prompt);
          const more = e.pieces.length > 1 ? ` and ${number(e.pieces.length - 1)} more` : "";
          const rank = p.priority === undefined ? "no priority" : `priority ${p.priority}`;
          return {
            key: row,
            attributes: {
              class: `${state}${soon ? " soon" : ""}${row === gone && gone > 0 ? " line" : ""}`,
            },
            content: (
              <>
                <span class="rank">{soon ? <b>→{row - gone + 1}</b> : row + 1}</span>
                <Sign state={state} />
                <span class="name">
                  {tree.title(first)}
                  {more} <span class="hint">{snippet(tree.nodes[first].text, 60)}</span>
                </span>
                <span class="priority">{rank}</span>
                <span class="size">
                  {number(e.tokens)}
                  <span class="spoken"> tokens</span>
                </span>
                {e.keptFrom > 0 && (
                  <span class="from" title="The smallest budget that keeps it">
                    <span aria-hidden="true">≥ </span>
                    <span class="spoken">kept from </span>
                    {number(e.keptFrom)}
                  </span>
                )}
              </>
            ),
          };
        }}
      />
    </>
  );
}
