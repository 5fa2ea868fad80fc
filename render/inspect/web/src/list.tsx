import type { ComponentChildren, HTMLAttributes, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** rowHeight of lists, in pixels; page.css has the same. */
const rowHeight = 28;

/** printed is the maximum number of rows that are printed. */
const printed = 1000;

type Props = {
  id: string;
  label: string;
  role: "tree" | "listbox";
  length: number;
  selected: number;
  /** shown is scrolled to when it changes. */
  shown?: number;
  onSelect: (row: number) => void;
  onKey?: (event: TargetedKeyboardEvent<HTMLElement>) => boolean;
  row: (row: number) => { key: string | number; attributes?: HTMLAttributes<HTMLDivElement>; content: ComponentChildren };
};

/** List shows a list of any length: it renders only the rows that are visible. */
export function List(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [printing, setPrinting] = useState(false);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    watch.observe(box.current!);
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      watch.disconnect();
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  const reveal = (row: number, middle: boolean) => {
    const b = box.current!;
    const at = row * rowHeight;
    if (row < 0 || (at >= b.scrollTop && at + rowHeight <= b.scrollTop + b.clientHeight)) return;
    b.scrollTop = middle ? at - b.clientHeight / 2 : at < b.scrollTop ? at : at + rowHeight - b.clientHeight;
  };
  useEffect(() => reveal(p.selected, false), [p.selected]);
  useEffect(() => {
    if (p.shown !== undefined) reveal(p.shown, true);
  }, [p.shown]);

  const first = printing ? 0 : Math.max(0, Math.floor(top / rowHeight) - 8);
  const last = printing ? Math.min(p.length, printed) : Math.min(p.length, Math.ceil((top + height) / rowHeight) + 8);
  const rows = [];
  for (let i = first; i < last; i++) {
    const { key, attributes, content } = p.row(i);
    rows.push(
      <div
        key={key}
        {...attributes}
        id={`${p.id}-${i}`}
        role={p.role === "tree" ? "treeitem" : "option"}
        aria-selected={i === p.selected}
        class={`row ${attributes?.class ?? ""}`}
        onClick={() => p.onSelect(i)}
      >
        {content}
      </div>,
    );
  }
  const onKeyDown = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const to: Record<string, number> = {
      ArrowDown: p.selected + 1,
      ArrowUp: p.selected - 1,
      PageDown: p.selected + page,
      PageUp: p.selected - page,
      Home: 0,
      End: p.length - 1,
    };
    if (p.onKey?.(e)) e.preventDefault();
    else if (e.key in to && p.length > 0) {
      e.preventDefault();
      p.onSelect(Math.min(p.length - 1, Math.max(0, to[e.key])));
    }
  };
  return (
    <div
      ref={box}
      id={p.id}
      class="list"
      style={{ maxHeight: `${Math.max(1, p.length) * rowHeight + 2}px` }}
      role={p.role}
      tabIndex={0}
      aria-label={p.label}
      aria-activedescendant={p.selected >= first && p.selected < last ? `${p.id}-${p.selected}` : undefined}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: `${first * rowHeight}px` }} />
      {rows}
      <div role="presentation" style={{ height: `${printing ? 0 : (p.length - last) * rowHeight}px` }} />
    </div>
  );
}
