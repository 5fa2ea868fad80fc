// Bundles the page's script and style. The first argument is the folder that they are written to.
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const out = resolve(process.argv[2] ?? "..");
// Both have the MIT licence, with different copyright lines.
const licences = ["preact", "uplot"].map((name) => readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim());
const copyrights = licences.map((text) => text.match(/^Copyright .*$/m)[0]);
const terms = licences.map((text) => text.slice(text.indexOf("Permission is hereby")));
if (terms[0].replace(/\s+/g, " ") !== terms[1].replace(/\s+/g, " ")) throw new Error("the licences differ: print both");
await build({
  banner: { js: `/*! Contains preact and uPlot.\n\n${copyrights.join("\n")}\n\n${terms[0]}\n*/` },
  entryPoints: { page: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  charset: "ascii", // the page may be read in any encoding
  target: ["chrome111", "firefox113", "safari16.4"],
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
