import { effect, signal } from "./framework.ts";

/** A choice of colors; `auto` follows the system. */
export type Theme = "auto" | "light" | "dark";

const KEY = "gateway-theme";
const themes: readonly Theme[] = ["auto", "light", "dark"];

/** The chosen theme; kept for this browser. */
export const theme = signal<Theme>(readTheme());

/** Changes with the colors in force, so that drawings which read them are redrawn. */
export const paint = signal(0);

matchMedia("(prefers-color-scheme: dark)").addEventListener(
  "change",
  () => paint.value++,
);

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(KEY, theme.value);
  paint.value = paint.peek() + 1;
});

/** Chooses the next theme. */
export function nextTheme(): void {
  const index = themes.indexOf(theme.value) + 1;
  theme.value = themes[index % themes.length] ?? "auto";
}

function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return themes.find((each) => each === stored) ?? "auto";
}
