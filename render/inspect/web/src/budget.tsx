import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { number } from "./format";
import { colour, themed } from "./icicle";
import { exact, known, type Fit, type Drop, type Tree } from "./tree";

type Props = { tree: Tree; fit: Fit; list: Drop[]; budget: number; onBudget: (budget: number) => void };

/** Budget is the slider, with a tick at each budget below which something is dropped. */
export function Budget({ tree, fit, list, budget, onBudget }: Props) {
  const p = tree.prompt;
  const ticks = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const theme = themed();
  const [low, high] = useMemo(() => {
    const most = Math.max(p.budget, list[0]?.keptFrom ?? 0, p.tokens);
    const least = known(p) ? Math.max(1, Math.min(p.least!, p.budget)) : p.budget;
    return [Math.max(1, Math.floor(least * 0.98)), Math.ceil(most * 1.02)];
  }, [tree]);
  useEffect(() => {
    const watch = new ResizeObserver((list) => setWidth(Math.floor(list[0].contentRect.width)));
    watch.observe(ticks.current!.parentElement!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!width) return;
    const c = ticks.current!;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = 30 * ratio;
    const g = c.getContext("2d")!;
    g.scale(ratio, ratio);
    const inner = width - 16; // the slider's thumb is 16 pixels
    const x = (b: number) => 8 + ((b - low) / Math.max(1, high - low)) * inner;
    g.fillStyle = colour("unknown");
    if (known(p) && p.from! > low) g.fillRect(0, 0, x(p.from!), 14);
    if (p.below && p.below < high) g.fillRect(x(p.below), 0, width, 14);
    let drawn = -9;
    for (const e of list) {
      const at = Math.round(x(e.keptFrom));
      if (at === drawn) continue;
      drawn = at;
      g.fillStyle = colour(e.keptFrom > budget ? "gone" : "ink");
      g.fillRect(at, e.keptFrom > budget ? 4 : 0, 1, e.keptFrom > budget ? 6 : 10);
    }
    g.fillStyle = colour("accent");
    const at = x(p.budget);
    g.beginPath();
    g.moveTo(at, 10);
    g.lineTo(at - 5, 17);
    g.lineTo(at + 5, 17);
    g.fill();
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colour("ink");
    const words = `rendered for ${number(p.budget)}`;
    const w = g.measureText(words).width;
    g.fillText(words, Math.min(width - w, Math.max(0, at - w / 2)), 28);
  }, [tree, list, width, budget, low, high, theme]);

  const disabled = !known(p);
  const set = (value: number) => onBudget(Math.max(1, Math.round(value)));
  const spoken = `${number(budget)} tokens: ${number(fit.keptPieces)} pieces kept, ${number(fit.droppedPieces)} dropped`;
  return (
    <section class="budget" aria-label="Budget">
      <label for="slider">
        Budget{" "}
        <input
          id="number"
          type="number"
          aria-label="Budget in tokens"
          min={1}
          value={budget}
          disabled={disabled}
          onInput={(e) => e.currentTarget.valueAsNumber >= 1 && set(e.currentTarget.valueAsNumber)}
        />{" "}
        tokens
      </label>
      <div class="scale">
        <input
          id="slider"
          type="range"
          min={low}
          max={high}
          step={1}
          value={budget}
          disabled={disabled}
          aria-valuetext={spoken}
          onInput={(e) => set(e.currentTarget.valueAsNumber)}
        />
        <canvas ref={ticks} aria-hidden="true" style={{ width: `${width}px`, height: "30px" }} />
      </div>
      <div class="buttons">
        <button type="button" disabled={disabled || budget === p.budget} onClick={() => set(p.budget)}>
          Back to {number(p.budget)}
        </button>
        <button type="button" disabled={disabled || !list.some((e) => e.keptFrom <= budget)} onClick={() => set(Math.max(...list.filter((e) => e.keptFrom <= budget).map((e) => e.keptFrom)) - 1)}>
Drop next
        </button>
        <button type="button" disabled={disabled || !list.some((e) => e.keptFrom > budget)} onClick={() => set(Math.min(...list.filter((e) => e.keptFrom > budget).map((e) => e.keptFrom)))}>
Keep next
        </button>
      </div>
      <p role="status" class={exact(p, budget) && budget >= (p.least ?? 0) ? "outcome" : "outcome warning"}>
        {outcome(tree, fit, budget)}
      </p>
    </section>
  );
}

/** outcome returns in words how much a budget keeps. */
function outcome(tree: Tree, fit: Fit, budget: number): string {
  const p = tree.prompt;
  if (!known(p)) return `Other budgets are not known: ${p.unknown}.`;
  if (!exact(p, budget)) {
    const range = p.below ? `from ${number(p.from!)} to ${number(p.below - 1)}` : `from ${number(p.from!)} on`;
    return `Not known: another token limit applies, or a cache breakpoint. The page shows what is kept ${range}.`;
  }
  if (budget < p.least!) return `Does not fit: the pieces that cannot be dropped need ${number(p.least!)} tokens.`;
  const parts = [`${number(fit.keptPieces)} pieces kept (${number(fit.keptTokens())} tokens by themselves)`];
  if (fit.trimmedPieces) parts.push(`${number(fit.trimmedPieces)} of them trimmed by ${number(fit.trimmed[0])}`);
  parts.push(fit.droppedPieces ? `${number(fit.droppedPieces)} dropped (${number(fit.dropped[0])})` : "nothing dropped");
  return parts.join(", ") + ".";
}
