import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { page } from "./data";
import { number } from "./format";
import { PromptView } from "./prompt";
import { factsOfSteps } from "./session";
import { SessionView } from "./sessionview";
import "./page.css";

/** stepIn is the step whose prompt the page's address names, -1 for none. */
const stepIn = (hash: string): number => {
  const n = Number(/^#step-(\d+)(-compare)?$/.exec(hash)?.[1] ?? 0) - 1;
  return page.steps && n < page.steps.length ? n : -1;
};

function Session() {
  const steps = useMemo(factsOfSteps, []);
  const [open, setOpen] = useState(stepIn(location.hash));
  const [selected, setSelected] = useState(Math.max(0, open >= 0 ? open : steps.findIndex((t) => t.step.compactions?.length)));
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const on = () => setOpen(stepIn(location.hash));
    addEventListener("hashchange", on);
    return () => removeEventListener("hashchange", on);
  }, []);
  useEffect(() => {
    if (open < 0) return;
    setSelected(open);
    heading.current?.focus();
  }, [open]);
  const go = (step: number, compare?: boolean) => (location.hash = step < 0 ? "" : `step-${step + 1}${compare ? "-compare" : ""}`);
  if (open < 0) return <SessionView steps={steps} selected={selected} onSelect={setSelected} onOpen={go} />;
  return (
    <>
      <p ref={heading} tabIndex={-1} class="crumbs">
        <button type="button" onClick={() => go(-1)}>
          ← All steps
        </button>{" "}
        <button type="button" disabled={open === 0} onClick={() => go(open - 1)} aria-label="The previous step">
          ‹
        </button>{" "}
        <b>The prompt of step {number(open + 1)}</b>{" "}
        <button type="button" disabled={open === steps.length - 1} onClick={() => go(open + 1)} aria-label="The next step">
          ›
        </button>
      </p>
      <PromptView key={open} compare={location.hash.endsWith("-compare")} at={steps[open].step.prompt} before={steps[Math.max(0, open - 1)].step.prompt === steps[open].step.prompt ? 1 : steps[open - 1].step.prompt} />
    </>
  );
}

function App() {
  return (
    <main>
      <h1>{page.title}</h1>
      {page.hidden && <p class="warning">The texts are left out of this page. It has only their lengths and digests.</p>}
      {page.kind === "session" ? <Session /> : <PromptView at={0} before={1} />}
    </main>
  );
}

document.getElementById("app")!.textContent = "";
render(<App />, document.getElementById("app")!);
