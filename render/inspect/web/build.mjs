// Bundles the page's script and style. The first argument is the folder that they are written to.
import { build } from "esbuild";
import { resolve } from "node:path";

const out = resolve(process.argv[2] ?? "..");
await build({
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
