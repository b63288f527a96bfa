// Bundles the extension, the page of the session panel and, with --tests, the tests. Nothing is needed at run time
// that is not in the bundles.
import * as esbuild from "esbuild";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const minify = process.argv.includes("--minify");
const node = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  mainFields: ["module", "main"],
  loader: { ".jsonc": "text" },
  logLevel: "warning",
};

rmSync("dist", { recursive: true, force: true });
await esbuild.build({
  ...node,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  minify,
  sourcemap: !minify,
});
// Agent files may have comments, which VS Code has to be told
const schema = JSON.parse(readFileSync("../../docs/agent-file.schema.json", "utf8"));
writeFileSync(
  "dist/agent-file.schema.json",
  JSON.stringify({ ...schema, allowComments: true, allowTrailingCommas: true }),
);

for (const page of ["webview", "review/page"].filter((page) => existsSync(`src/${page}/main.ts`))) {
  await esbuild.build({
    bundle: true,
    platform: "browser",
    target: "es2022",
    format: "iife",
    entryPoints: [`src/${page}/main.ts`, ...found(`src/${page}`, ".css")],
    outdir: `dist/${page}`,
    minify,
    logLevel: "warning",
  });
}

if (process.argv.includes("--tests")) {
  rmSync("out", { recursive: true, force: true });
  await esbuild.build({
    ...node,
    // Reads files beside its own
    external: [...node.external, "playwright-core"],
    sourcemap: "inline",
    entryPoints: [...found("test", ".test.ts"), ...["test/host/index.ts"].filter((path) => existsSync(path))],
    outdir: "out/test",
    outbase: "test",
  });
}

function found(folder, ending) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);
}
