// Dark or light: the viewer's choice, or that of their system.

const KEY = "quarterdeck-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function choose(): "dark" | "light" {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "dark" || chosen === "light") return chosen;
  return dark.matches ? "dark" : "light";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = choose();
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, choose() === "dark" ? "light" : "dark");
  applyTheme();
}

dark.addEventListener("change", applyTheme);
