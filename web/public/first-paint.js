// Runs before anything is drawn, so that a chosen theme does not flash, and neither do the other views:
// while the page's scripts are on their way, this shows the view that the address names. The rest is in
// theme.js and router.js.

const root = document.documentElement;

try {
  const theme = localStorage.getItem("zeropoint-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system's theme it is.
}

root.classList.add("is-starting");
// Should the scripts not come, or fail, everything is shown, as without scripts.
addEventListener("error", () => root.classList.remove("is-starting"), true);

function showNamedView() {
  if (!root.classList.contains("is-starting")) return;
  const views = [...document.querySelectorAll(".view")];
  let name = "";
  try {
    // Behind a question mark a view keeps its own state.
    name = decodeURIComponent(location.hash.slice(1).split("?")[0]);
  } catch {
    // An address that cannot be read names nothing.
  }
  // Most views are fetched when they are shown: the names of their parts begin with theirs.
  const named = views.find(({ id }) => name === id || name.startsWith(`${id}-`));
  // It may be on its way: another in its place would only flash.
  const isToCome = !named && location.hash.length > 1 && document.readyState === "loading";
  const view = isToCome ? undefined : (named ?? views[0]);
  for (const other of views) other.toggleAttribute("data-current", other === view);
  showInContents(view ? `#${view.id}` : location.hash.split("?")[0]);
}

/**
 * Marks a view in the contents, which come before it: its sections make them longer, and bold letters may
 * need another line.
 * @param {string} hash  the view's, or that of a part of it, which begins with the view's
 */
function showInContents(hash) {
  for (const link of document.querySelectorAll(".contents a[href^='#']")) {
    if (link.closest("[data-sections-of]")) continue;
    const own = link.getAttribute("href");
    const isCurrent = own === hash || hash.startsWith(`${own}-`);
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    const sections = link.parentElement?.querySelector("[data-sections-of]");
    sections?.toggleAttribute("hidden", !isCurrent);
  }
}

addEventListener("hashchange", showNamedView);

function fit() {
  showNamedView();
  // On narrow screens the contents are a drawer.
  const menu = /** @type {HTMLDetailsElement | null} */ (
    document.querySelector(".contents details:not([data-fitted])")
  );
  if (!menu) return;
  menu.dataset.fitted = "";
  if (matchMedia("(max-width: 64rem)").matches) menu.open = false;
}

const arrivals = new MutationObserver(fit);
arrivals.observe(root, { childList: true, subtree: true });
document.addEventListener("readystatechange", () => {
  arrivals.disconnect();
  fit();
});
