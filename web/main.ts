// Connects the page's scripts. All content is readable without them.

import { find } from "./shell/dom.js";
import { connectDoor } from "./shell/door.js";
import { refuseLongTexts } from "./shell/long-texts.js";
import { connectOffline } from "./shell/offline/offline.js";
import { fill, isFilled } from "./shell/parts.js";
import { showCurrentView } from "./shell/router.js";
import { makeScrollable } from "./shell/scrollable.js";
import { turn } from "./shell/slices.js";
import { connectThemeButton } from "./shell/theme.js";

/** Keeps --header-height equal to the header's height, for elements that stick below it. */
function measureHeader() {
  const header = find(document, ".page-header");
  const measure = () => {
    document.documentElement.style.setProperty("--header-height", `${header.offsetHeight}px`);
  };
  new ResizeObserver(measure).observe(header);
  measure();
}

const liveRegion = find(document, "#announcements");

function announce(message: string) {
  // The same sentence twice is two announcements.
  liveRegion.textContent = "";
  setTimeout(() => {
    liveRegion.textContent = message;
  }, 50);
}

// In turns: each of these lays the page out.
refuseLongTexts();
connectThemeButton();
await turn();
measureHeader();
await turn();
document.documentElement.classList.remove("is-starting");
document.documentElement.classList.add("is-live");

const giveFiles = connectDoor(find(document, "#overview"));

/** Views whose scripts are loaded or loading. */
const connections = new Map<string, Promise<void>>();

showCurrentView((view) => {
  const connection = connections.get(view.id) ?? connect(view);
  connections.set(view.id, connection);
  connection.then(
    () => {
      view.querySelector(".part-missing")?.remove();
      if (view.id === "lab") giveFiles(view);
    },
    () => {
      // The view can be read without its scripts, or has a link to a page that can; the next visit tries again.
      connections.delete(view.id);
      sayMissing(view);
    },
  );
});

/** Says in a view that a part of it could not be loaded. */
function sayMissing(view: HTMLElement) {
  view.querySelector(".part-missing")?.remove();
  const what = isFilled(view) ? "The part that makes this page work" : "The text of this page";
  const why = navigator.onLine
    ? "could not be loaded."
    : "is not on this device, and there is no network.";
  const again = document.createElement("button");
  again.type = "button";
  again.className = "button";
  again.textContent = "Load again";
  again.addEventListener("click", () => location.reload());
  const note = document.createElement("p");
  note.className = "part-missing";
  note.append(`${what} ${why} `, again);
  const title = view.querySelector("h1, h2");
  if (title) title.after(note);
  else view.prepend(note);
  announce(`${what} ${why}`);
}

/** Loads the content of a view and the scripts that it needs, and no others. */
async function connect(view: HTMLElement) {
  // A jump into the view happens before its scripts have come: the toolbar's room is known already.
  const toolbar = view.querySelector<HTMLElement>(".toolbar");
  if (toolbar?.offsetHeight) {
    const height = `${toolbar.offsetHeight}px`;
    document.documentElement.style.setProperty("--toolbar-height", height);
  }
  // The rest of this task shows the view, and takes the one before it out of the layout.
  await turn();
  const filling = fill(view);
  const isNotebook = view.classList.contains("notebook");
  // Loads while the content does.
  const loading = isNotebook ? import("./notebook/notebook.js") : undefined;
  loading?.catch(() => {});
  await filling;
  makeScrollable(view);
  if (view.querySelector("[data-figure]")) {
    import("./figures/live.js").then(
      ({ showFigures }) => showFigures(view),
      () => sayMissing(view),
    );
  }
  const reader = view.querySelector<HTMLElement>(".reader");
  if (reader) {
    import("./digits/reader.js").then(
      ({ connectReader }) => connectReader(reader, announce),
      () => sayMissing(view),
    );
  }
  // Scripts are evaluated in one task and connected in the next.
  if (loading) {
    const { Notebook } = await loading;
    await turn();
    await new Notebook(view, announce).start();
  } else if (view.id === "lab") {
    const { connectLab } = await import("./lab/lab.js");
    await turn();
    await connectLab(view, announce);
  } else if (view.id === "search") {
    const { connectSearch } = await import("./search/search.js");
    await turn();
    connectSearch(view, announce);
  } else if (view.id === "measure") {
    const { connectMeasure } = await import("./measure/measure.js");
    await turn();
    connectMeasure(view, announce);
  } else if (view.id === "play") {
    const { connectPlayground } = await import("./playground/playground.js");
    await turn();
    await connectPlayground(view, announce);
  }
}

connectOffline();
