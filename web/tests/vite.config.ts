import { defineConfig } from "vite";

// One file for Node with all tests of modules that need no browser.
export default defineConfig({
  build: { ssr: "tests/all.js", outDir: "node_modules/.tests", target: "node20" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
