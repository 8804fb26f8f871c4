// Brings the page to life. Everything on it can be read without this.

import { showFigures } from "./figures.js";
import { connectMeasure } from "./measure.js";
import { Notebook } from "./notebook.js";
import { showCurrentView } from "./router.js";
import { makeScrollable } from "./scrollable.js";
import { connectThemeButton } from "./theme.js";
import { scriptUrl } from "./trusted.js";

/** What stays at the top below the header begins at its end, however many lines it has. */
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
makeScrollable(document);
connectMeasure(/** @type {HTMLElement} */ (document.getElementById("measure")), announce);

/** @type {Map<string, Notebook>} */
const notebooks = new Map();

showCurrentView((view) => {
  const isNotebook = view.classList.contains("notebook");
  if (isNotebook && !notebooks.has(view.id)) {
    notebooks.set(view.id, new Notebook(view, announce));
  }
  showFigures(view);
});

if (import.meta.env.PROD && "serviceWorker" in navigator && location.protocol.startsWith("http")) {
  addEventListener("load", () => {
    navigator.serviceWorker
      .register(scriptUrl(new URL("service-worker.js", document.baseURI).href))
      .catch(() => {
        // Without it the page works as before, only not offline.
      });
  });
}
