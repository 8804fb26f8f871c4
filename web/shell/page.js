// Connects the page's scripts. All content is readable without them.

import { connectOffline } from "./offline.js";
import { showCurrentView } from "./router.js";
import { makeScrollable } from "./scrollable.js";
import { connectThemeButton } from "./theme.js";

/** Keeps --header-height equal to the header's height, for elements that stick below it. */
function measureHeader() {
  const header = /** @type {HTMLElement} */ (document.querySelector(".page-header"));
  const measure = () => {
    document.documentElement.style.setProperty("--header-height", `${header.offsetHeight}px`);
  };
  new ResizeObserver(measure).observe(header);
  measure();
}

const liveRegion = /** @type {HTMLElement} */ (document.getElementById("announcements"));

/** @param {string} message */
function announce(message) {
  // The same sentence twice is two announcements.
  liveRegion.textContent = "";
  setTimeout(() => {
    liveRegion.textContent = message;
  }, 50);
}

document.documentElement.classList.remove("is-starting");
document.documentElement.classList.add("is-live");
connectThemeButton();
measureHeader();

/** Views whose scripts are loaded or loading. @type {Set<string>} */
const connected = new Set();

showCurrentView((view) => {
  if (connected.has(view.id)) return;
  connected.add(view.id);
  connect(view).catch(() => {
    // The view can be read without its scripts; the next visit tries again.
    connected.delete(view.id);
  });
});

/**
 * Loads the scripts that a view needs, and no others.
 * @param {HTMLElement} view
 */
async function connect(view) {
  makeScrollable(view);
  // A jump into the view happens before its scripts have come: the toolbar's room is known already.
  const toolbar = /** @type {HTMLElement | null} */ (view.querySelector(".toolbar"));
  if (toolbar?.offsetHeight) {
    const height = `${toolbar.offsetHeight}px`;
    document.documentElement.style.setProperty("--toolbar-height", height);
  }
  if (view.querySelector("[data-figure]")) {
    import("../figures/live.js").then(({ showFigures }) => showFigures(view));
  }
  if (view.classList.contains("notebook")) {
    const { Notebook } = await import("../notebook/notebook.js");
    new Notebook(view, announce);
  } else if (view.id === "lab") {
    const { connectLab } = await import("../lab/lab.js");
    connectLab(view, announce);
  } else if (view.id === "measure") {
    const { connectMeasure } = await import("../measure/measure.js");
    connectMeasure(view, announce);
  } else if (view.id === "play") {
    const { connectPlayground } = await import("../playground/playground.js");
    await connectPlayground(view, announce);
  }
}

connectOffline();
