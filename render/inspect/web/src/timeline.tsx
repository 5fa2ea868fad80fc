import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { dollars, number } from "./format";
import { colour, themed } from "./icicle";
import { kinds, kindWords, type StepFacts } from "./session";

type Props = { steps: StepFacts[]; selected: number; onSelect: (step: number) => void };

/** Timeline draws the tokens in the context window by kind, the cached share and the cost, step by step. */
export function Timeline({ steps, selected, onSelect }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const charts = useRef<uPlot[]>([]);
  const chosen = useRef(selected);
  const select = useRef(onSelect);
  select.current = onSelect;
  const [width, setWidth] = useState(0);
  const theme = themed();
  const paid = steps.length > 0 && steps[steps.length - 1].sum > 0;
  useLayoutEffect(() => {
    setWidth(Math.floor(box.current!.clientWidth)); // so that the chart is in the first frame
    const watch = new ResizeObserver((list) => setWidth(Math.floor(list[0].contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!width) return;
    const [ink, line, gone, accent] = ["ink", "line", "gone", "accent"].map(colour);
    const peak = Math.max(1, ...steps.map((t) => t.total));
    const numbers = steps.map((_, i) => i + 1);
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "12px system-ui, sans-serif" };
    const byStep = { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] };
    const marks = (labels: boolean) => (u: uPlot) => {
      const g = u.ctx;
      const ratio = devicePixelRatio || 1;
      const { top, height } = u.bbox;
      g.save();
      g.font = `${11 * ratio}px system-ui, sans-serif`;
      g.textAlign = "center";
      const at = (i: number, color: string, dash: number[], label: string, lift: number) => {
        const x = u.valToPos(i + 1, "x", true);
        g.strokeStyle = g.fillStyle = color;
        g.lineWidth = (i === chosen.current ? 2 : 1) * ratio;
        g.setLineDash(dash.map((d) => d * ratio));
        g.beginPath();
        g.moveTo(x, top);
        g.lineTo(x, top + height);
        g.stroke();
        if (labels && label) g.fillText(label, x, top - lift * ratio);
      };
      steps.forEach((t, i) => {
        if (t.step.compactions?.length) at(i, ink, [], "▼", 4);
        else if (t.step.cleared) at(i, ink, [6, 3], "▽", 4);
        else if (t.broke) at(i, gone, [2, 3], "✕", 4);
        else if (t.step.lost) at(i, gone, [1, 5], "○", 4);
      });
      g.setLineDash([]);
      const x = u.valToPos(chosen.current + 1, "x", true);
      g.strokeStyle = accent;
      g.lineWidth = 3 * ratio;
      g.strokeRect(x - 2 * ratio, top, 4 * ratio, height);
      g.restore();
    };
    const common = (height: number, labels: boolean): Omit<uPlot.Options, "series"> => ({
      width,
      height,
      scales: { x: { time: false } },
      legend: { show: false },
      cursor: { sync: { key: "steps" }, drag: { x: false, y: false }, points: { show: false } },
      hooks: {
        draw: [marks(labels)],
        ready: [(u) => u.over.addEventListener("click", () => u.cursor.idx !== null && u.cursor.idx !== undefined && select.current(u.cursor.idx))],
      },
      padding: [16, labels && paid ? 68 : 8, 0, 8],
    });
    const stacked: number[][] = [];
    for (const k of kinds) {
      const below = stacked[stacked.length - 1];
      stacked.push(steps.map((t, i) => t.tokens[k] + (below ? below[i] : 0)));
    }
    const tokens = new uPlot(
      {
        ...common(260, true),
        scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, Math.min(max * 1.03, peak * 1.5)] } }, // a budget far above is off the chart
        axes: [byStep, { ...axis, size: 70, values: (_u, ticks) => ticks.map(number) }],
        series: [
          {},
          { stroke: accent, dash: [8, 4], width: 1.5, points: { show: false } },
          ...[...kinds].reverse().map((k) => ({ stroke: ink, width: 0.5, fill: colour(k), points: { show: false } })),
        ],
      },
      [numbers, steps.map((t) => t.budget ?? null), ...[...stacked].reverse()],
      box.current!,
    );
    const cost = new uPlot(
      {
        ...common(130, false),
        scales: { x: { time: false }, y: { range: [0, 100] }, dollars: { range: (_u, _min, max) => [0, max * 1.05] } },
        axes: [
          byStep,
          { ...axis, size: 70, values: (_u, ticks) => ticks.map((t) => `${t}%`) },
          ...(paid ? [{ ...axis, scale: "dollars", side: 1 as const, size: 60, grid: { show: false }, values: (_u: uPlot, ticks: number[]) => ticks.map(dollars) }] : []),
        ],
        series: [
          {},
          { stroke: accent, width: 2, points: { show: false } },
          ...(paid ? [{ scale: "dollars", stroke: ink, width: 2, dash: [6, 3], points: { show: false } }] : []),
        ],
      },
      [numbers, steps.map((t) => (t.asked ? (100 * t.cached) / t.asked : 0)), ...(paid ? [steps.map((t) => t.sum)] : [])],
      box.current!,
    );
    charts.current = [tokens, cost];
    return () => charts.current.forEach((c) => c.destroy());
  }, [steps, width, theme]);
  useEffect(() => {
    chosen.current = selected;
    charts.current.forEach((c) => c.redraw(false));
  }, [selected]);

  const reported = steps.some((t) => t.reported);
  return (
    <figure class="timeline">
      <div
        ref={box}
        role="img"
        aria-label={`Tokens by kind over ${number(steps.length)} steps, and below it the cached share${paid ? " and the dollars in all" : ""}. The list of steps has the same numbers.`}
      />
      <figcaption>
        <span class="legend">
          <span>tokens at each step:</span>
          {kinds
            .filter((k) => steps.some((t) => t.tokens[k] > 0))
            .map((k) => (
              <span key={k}>
                <i class={`swatch ${k}`} />
                {kindWords[k]}
              </span>
            ))}
          {steps.some((t) => t.budget !== undefined) && (
            <span>
              <i class="dash accent" />
              budget
            </span>
          )}
          <span>▼ compaction</span>
          <span>▽ clearing</span>
          <span>✕ cache break</span>
          <span>○ cache gone</span>
        </span>
        <span class="legend">
          <span>
            <i class="dash accent solid" />
            {reported ? "cached share, as reported" : "share in common with the previous step"}
          </span>
          {paid && (
            <span>
              <i class="dash" />
              dollars in all
            </span>
          )}
        </span>
      </figcaption>
    </figure>
  );
}
