import type { HTMLAttributes, TargetedKeyboardEvent } from "preact";
import { useMemo } from "preact/hooks";
import { snippet } from "./data";
import { number } from "./format";
import { List } from "./list";
import { Sign } from "./sign";
import type { Fit, Tree } from "./tree";

type Props = {
  tree: Tree;
  fit: Fit;
  selected: number;
  open: Set<number>;
  found: Set<number>;
  onSelect: (node: number) => void;
  onOpen: (node: number, open: boolean) => void;
};

/** Outline is the prompt as a tree of rows. */
export function Outline({ tree, fit, selected, open, found, onSelect, onOpen }: Props) {
  const rows = useMemo(() => {
    const list: number[] = [];
    for (let i = 0; i < tree.nodes.length; i = open.has(i) ? i + 1 : tree.end[i]) list.push(i);
    return list;
  }, [tree, open]);
  const siblings = useMemo(() => {
    const place = new Map<number, [at: number, of: number]>();
    for (const i of rows) {
      if (!open.has(i)) continue;
      const children = tree.children(i);
      children.forEach((c, at) => place.set(c, [at + 1, children.length]));
    }
    return place;
  }, [tree, rows]);
  const leaf = (i: number) => tree.end[i] === i + 1;
  const onKey = (e: TargetedKeyboardEvent<HTMLElement>): boolean => {
    if (e.key === "ArrowRight" && !leaf(selected)) {
      if (open.has(selected)) onSelect(selected + 1);
      else onOpen(selected, true);
    } else if (e.key === "ArrowLeft" && open.has(selected) && !leaf(selected)) onOpen(selected, false);
    else if (e.key === "ArrowLeft" && selected > 0) onSelect(tree.parent[selected]);
    else if ((e.key === "Enter" || e.key === " ") && !leaf(selected)) onOpen(selected, !open.has(selected));
    else return false;
    return true;
  };
  return (
    <List
      id="outline"
      label="The prompt as a tree"
      role="tree"
      length={rows.length}
      selected={rows.indexOf(selected)}
      onSelect={(row) => onSelect(rows[row])}
      onKey={onKey}
      row={(row) => {
        const i = rows[row];
        const node = tree.nodes[i];
        const state = fit.state(i);
        const [at, of] = siblings.get(i) ?? [1, 1];
        const size = state === "dropped" ? tree.whole[i] : fit.kept[i];
        const priority = node.priority === undefined ? "" : `priority ${node.priority}`;
        return {
          key: i,
          attributes: {
            class: `${state}${found.has(i) ? " found" : ""}`,
            "aria-level": tree.depth[i] + 1,
            "aria-setsize": of,
            "aria-posinset": at,
            "aria-expanded": leaf(i) ? undefined : open.has(i),
          } as HTMLAttributes<HTMLDivElement>,
          content: (
            <>
              <span
                aria-hidden="true"
                class="twist"
                style={{ marginLeft: `${Math.min(tree.depth[i], 12) * 14}px` }}
                onClick={(e) => {
                  e.stopPropagation();
                  if (!leaf(i)) onOpen(i, !open.has(i));
                }}
              >
                {leaf(i) ? "" : open.has(i) ? "▾" : "▸"}
              </span>
              <i class={`swatch ${tree.role[i] || "other"}`} />
              <Sign state={state} />
              <span class="name">
                {tree.label(i)}
                {node.tag || !node.name || !node.text ? null : <span class="hint"> {snippet(node.text, 60)}</span>}
              </span>
              {priority && <span class="priority">{priority}</span>}
              <span class="size">
                {number(size)}
                <span class="spoken"> tokens</span>
              </span>
            </>
          ),
        };
      }}
    />
  );
}
