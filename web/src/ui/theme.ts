// Dark or light: the viewer's choice, or that of their system.

const KEY = "quarterdeck-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");

function choose(): "dark" | "light" {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "dark" || chosen === "light") return chosen;
  return dark.matches ? "dark" : "light";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = paper.matches ? "light" : choose();
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, choose() === "dark" ? "light" : "dark");
  applyTheme();
}

dark.addEventListener("change", applyTheme);
paper.addEventListener("change", applyTheme); // paper is white
