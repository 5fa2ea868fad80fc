import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { number, percent, tokens } from "./format";
import { stateWords, type Fit, type Tree } from "./tree";

const level = 24; // pixels

/** themed counts how often the colours of the page changed. */
export function themed(): number {
  const [n, set] = useState(0);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const on = () => set((n) => n + 1);
    dark.addEventListener("change", on);
    return () => dark.removeEventListener("change", on);
  }, []);
  return n;
}

/** colour returns a colour of page.css. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** roles that have colours of their own. */
export const roles = ["system", "user", "assistant", "tool", "tools"];

export const colourOf = (role: string): string => colour(roles.includes(role) ? role : "other");

type Props = {
  tree: Tree;
  fit: Fit;
  zoom: number;
  selected: number;
  found: Set<number>;
  onSelect: (node: number) => void;
  onZoom: (node: number) => void;
};

/** Icicle draws a prompt by tokens, with the contents of an element below it. Screen readers and keyboards use the tree instead. */
export function Icicle({ tree, fit, zoom, selected, found, onSelect, onZoom }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState(-1);
  const theme = themed();
  useLayoutEffect(() => {
    const watch = new ResizeObserver((list) => setWidth(Math.floor(list[0].contentRect.width)));
    watch.observe(canvas.current!.parentElement!);
    return () => watch.disconnect();
  }, []);

  const hidden = (i: number) => i !== zoom && tree.end[i] === i + 2 && !tree.nodes[i].tag && !tree.nodes[i].role && tree.nodes[i + 1].piece !== undefined;

  // The places of nodes: their share of the whole from the left, their level, and the nodes by level. A generic element around one piece has none.
  const { left, depth, levels } = useMemo(() => {
    const left = new Float64Array(tree.nodes.length);
    const next = new Float64Array(tree.nodes.length);
    const depth = new Int32Array(tree.nodes.length);
    const levels: number[][] = [];
    for (let i = zoom; i < tree.end[zoom]; i++) {
      if (i > zoom) {
        left[i] = next[tree.parent[i]];
        next[tree.parent[i]] += tree.whole[i];
      }
      next[i] = left[i];
      depth[i] = i === zoom ? 0 : depth[tree.parent[i]] + 1;
      if (hidden(i)) depth[i]--;
      else (levels[depth[i]] ??= []).push(i);
    }
    return { left, depth, levels };
  }, [tree, zoom]);
  const scale = width / Math.max(1, tree.whole[zoom]);
  const height = levels.length * level;

  useEffect(() => {
    const c = canvas.current!;
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = height * ratio;
    const g = c.getContext("2d")!;
    g.scale(ratio, ratio);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    const [paper, ink, gone, mark] = ["paper", "ink", "gone", "mark"].map(colour);
    const colours: Record<string, string> = {};
    for (const r of [...roles, "other"]) colours[r] = colourOf(r);
    const hatch = document.createElement("canvas");
    hatch.width = hatch.height = 8 * ratio;
    const h = hatch.getContext("2d")!;
    h.scale(ratio, ratio);
    h.fillStyle = paper;
    h.fillRect(0, 0, 8, 8);
    h.strokeStyle = gone;
    h.lineWidth = 1.2;
    for (const x of [-8, 0, 8]) {
      h.beginPath();
      h.moveTo(x, 8);
      h.lineTo(x + 8, 0);
      h.stroke();
    }
    const hatched = g.createPattern(hatch, "repeat")!;
    hatched.setTransform(new DOMMatrix().scale(1 / ratio));

    levels.forEach((nodes, row) => {
      const y = row * level;
      let from = 0; // left end, tokens and kept tokens of narrow neighbours that are drawn as one
      let whole = 0;
      let kept = 0;
      const together = (role: string) => {
        const w = whole * scale;
        g.fillStyle = hatched;
        if (kept < whole) g.fillRect(from, y + 1, w, level - 2);
        g.fillStyle = colours[role] ?? colours.other;
        g.fillRect(from, y + 1, whole > 0 ? (w * kept) / whole : 0, level - 2);
        whole = kept = 0;
      };
      for (const i of nodes) {
        const x = left[i] * scale;
        const w = tree.whole[i] * scale;
        if (w < 3 && !found.has(i)) {
          if (whole > 0 && x > from + whole * scale + 0.5) together(tree.role[i]); // there is a gap
          if (whole === 0) from = x;
          whole += tree.whole[i];
          kept += fit.kept[i];
          if (whole * scale >= 4) together(tree.role[i]);
          continue;
        }
        if (whole > 0) together(tree.role[i]);
        const all = Math.max(w, 1);
        const keeps = tree.whole[i] > 0 ? all * (fit.kept[i] / tree.whole[i]) : all;
        const gap = w > 3 ? 1 : 0;
        g.fillStyle = hatched;
        g.fillRect(x, y + 1, all - gap, level - 2);
        g.fillStyle = colours[tree.role[i]] ?? colours.other;
        g.fillRect(x, y + 1, Math.max(0, keeps - (keeps === all ? gap : 0)), level - 2);
        if (tree.nodes[i].piece?.required && w > 2) {
          g.fillStyle = ink;
          g.fillRect(x, y + level - 4, all - gap, 3);
        }
        if (w > 3 && keeps < all) {
          g.strokeStyle = gone;
          g.setLineDash([3, 2]);
          g.strokeRect(x + 0.5, y + 1.5, all - gap - 1, level - 3);
          g.setLineDash([]);
        }
        if (w > 34) {
          const state = fit.state(i);
          const [sign] = stateWords[state];
          g.save();
          g.beginPath();
          g.rect(x, y, all - 4, level);
          g.clip();
          const label = `${tree.nodes[i].piece ? sign + " " : ""}${tree.label(i)}`.slice(0, 200);
          if (keeps < all) { // a background makes the label readable
            g.fillStyle = paper;
            g.fillRect(x + 2, y + 4, Math.min(all - 6, g.measureText(label).width + 6), level - 9);
          }
          g.fillStyle = ink;
          g.fillText(label, x + 5, y + level / 2);
          g.restore();
        }
        if (found.has(i)) {
          g.strokeStyle = mark;
          g.lineWidth = 2;
          g.strokeRect(x + 1, y + 2, Math.max(1, all - gap - 2), level - 4);
          g.lineWidth = 1;
        }
      }
      if (whole > 0) together(tree.role[nodes[nodes.length - 1]]);
    });
    for (const [i, line] of [[hover, 1], [selected, 3]]) {
      if (i < zoom || i >= tree.end[zoom]) continue;
      const row = depth[i] + (hidden(i) ? 1 : 0);
      g.strokeStyle = ink;
      g.lineWidth = line;
      g.strokeRect(left[i] * scale + 1.5, row * level + 1.5, Math.max(2, tree.whole[i] * scale - 3), level - 3);
    }
  }, [tree, fit, zoom, selected, hover, found, width, height, theme]);

  const at = (e: MouseEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    const x = (e.clientX - box.left) / scale;
    const nodes = levels[Math.floor((e.clientY - box.top) / level)];
    if (!nodes) return -1;
    let low = 0;
    let high = nodes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (left[nodes[middle]] + tree.whole[nodes[middle]] > x) high = middle;
      else low = middle + 1;
    }
    return low < nodes.length && left[nodes[low]] <= x ? nodes[low] : -1;
  };
  const about = (i: number) =>
    `${tree.path(i)}${tree.nodes[i].tag ? ` ${tree.label(i)}` : ""}: ${tokens(tree.whole[i])}, ${stateWords[fit.state(i)][1]}`;
  return (
    <figure class="icicle">
      <div>
        <canvas
          ref={canvas}
          role="img"
          style={{ height: `${height}px`, width: `${width}px` }}
          aria-label={`The prompt by tokens: ${number(fit.kept[0])} of ${number(tree.whole[0])} kept, ${percent(fit.kept[0], tree.whole[0])}. The tree lists the same.`}
          title={hover >= 0 ? about(hover) : ""}
          onMouseMove={(e) => setHover(at(e))}
          onMouseLeave={() => setHover(-1)}
          onClick={(e) => at(e) >= 0 && onSelect(at(e))}
          onDblClick={(e) => at(e) >= 0 && onZoom(at(e))}
        />
      </div>
      <figcaption>
        <span class="legend">
          {[...roles, "other"].filter((r) => r === "other" ? false : tree.role.includes(r)).map((r) => (
            <span key={r}>
              <i class={`swatch ${r}`} />
              {r === "tools" ? "tool definitions" : r === "tool" ? "tool results" : r}
            </span>
          ))}
          <span>
            <i class="swatch needed" />■ required
          </span>
          <span>● kept</span>
          <span>
            <i class="swatch cut" />◐ trimmed
          </span>
          <span>
            <i class="swatch gone" />○ dropped
          </span>
        </span>
        {zoom > 0 ? <button type="button" onClick={() => onZoom(0)}>Show the whole prompt</button> : <span class="hint">Double-click to zoom in</span>}
      </figcaption>
    </figure>
  );
}
