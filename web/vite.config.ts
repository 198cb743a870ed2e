import { defineConfig } from "vite";

// The result goes where the hub serves it from and where the wheel finds it.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/quarterdeck/services/hub/web/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
