// Light or dark theme: the system's preference until the reader chooses.

import { find } from "./dom.js";

const KEY = "zeropoint-theme";

/** Sent to the document when the theme changes, for pictures whose colours no style sheet sets. */
export const THEME_EVENT = "zeropoint-theme";

const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)");

export function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : systemIsDark().matches;
}

export function connectThemeButton() {
  const button = find(document, "#theme", HTMLButtonElement);
  const system = systemIsDark();
  const root = document.documentElement;
  const metas = document.querySelectorAll<HTMLMetaElement>("meta[name='theme-color']");

  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    // The browser's own bars, where they take the page's colour.
    for (const meta of metas) {
      const { theme } = meta.dataset;
      const isChosen = root.dataset.theme === theme;
      if (root.dataset.theme) meta.media = isChosen ? "all" : "not all";
      else meta.media = `(prefers-color-scheme: ${theme})`;
    }
    document.dispatchEvent(new Event(THEME_EVENT));
  };

  button.addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    // Choosing the system's theme returns to following the system.
    const followsSystem = (wanted === "dark") === system.matches;
    if (followsSystem) delete root.dataset.theme;
    else root.dataset.theme = wanted;
    try {
      if (followsSystem) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, wanted);
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}
