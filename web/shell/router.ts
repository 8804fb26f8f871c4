// One view at a time: the overview or a notebook, chosen by the address after the #.

import { fill, isFilled } from "./parts.js";

export function showCurrentView(onShow: (view: HTMLElement) => void) {
  const views = [...document.querySelectorAll<HTMLElement>(".view")];
  const links = document.querySelectorAll(".contents a[href^='#']");
  const menu = document.querySelector<HTMLDetailsElement>(".contents details");
  const ownTitle = document.title;
  const isNarrow = matchMedia("(max-width: 64rem)");

  /** The menu is a drawer on narrow screens and always open on wide ones. */
  const fitMenu = () => {
    if (menu) menu.open = !isNarrow.matches;
  };
  isNarrow.addEventListener("change", fitMenu);
  fitMenu();

  /** @param place  how far down this entry of the history was left */
  const show = (isNavigation: boolean, place?: number) => {
    const name = nameIn(location.hash);
    const view = viewOf(name, views);
    // A view without its content has no way to scroll along.
    const isNewView = !view.hasAttribute("data-current") || !isNavigation || !isFilled(view);
    for (const other of views) other.toggleAttribute("data-current", other === view);
    for (const link of links) {
      if (link.getAttribute("href") === `#${view.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    for (const sections of document.querySelectorAll("[data-sections-of]")) {
      sections.toggleAttribute("hidden", sections.getAttribute("data-sections-of") !== view.id);
    }
    document.title = view.dataset.title ? `${view.dataset.title} · zeropoint` : ownTitle;
    onShow(view);
    if (isNarrow.matches) fitMenu();
    const { hash } = location;
    const wasFilled = isFilled(view);
    const go = () => goTo(view, name, { isNavigation, place, isNewView });
    go();
    if (wasFilled) return;
    const goOn = () => {
      // The reader may be elsewhere by now: in another view, or further down in this one.
      const isHere = location.hash === hash && view.hasAttribute("data-current");
      const isForPart = place !== undefined || (name !== view.id && scrollY === 0);
      if (isHere && isForPart) go();
    };
    fill(view).then(goOn, () => {});
  };

  // The skip link must not become the address: the view would be lost when the page is loaded again.
  document.querySelector(".skip-link")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  });
  const placeOfEntry = keepPlaces();
  addEventListener("hashchange", () => show(true, placeOfEntry()));
  show(false, placeOfEntry());
}

const REST = 100; // milliseconds without scrolling, after which a place is worth keeping

/**
 * Keeps with every entry of the history how far down it was left. The browser does that too, but returns
 * while the view that is left is still shown, which is of another height.
 * @returns the place of the current entry, if it was here before
 */
function keepPlaces(): () => number | undefined {
  history.scrollRestoration = "manual"; // two would disturb each other
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = () => {
    clearTimeout(timer);
    if (history.state?.top === scrollY) return;
    history.replaceState({ ...history.state, top: scrollY }, "");
  };
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, REST);
  });
  // Following a link leaves this history entry before the scroll timer fires: save the position now.
  addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a[href]")) keep();
  });
  // The address now belongs to another history entry: cancel the pending save and read its position.
  let place: number | undefined = history.state?.top;
  addEventListener("popstate", () => {
    clearTimeout(timer);
    place = history.state?.top;
  });
  return () => {
    clearTimeout(timer);
    return place;
  };
}

/**
 * The name in a hash, up to a question mark, behind which a view keeps its own state; empty if the hash cannot be
 * decoded.
 */
function nameIn(hash: string) {
  try {
    return decodeURIComponent(hash.slice(1).split("?")[0]);
  } catch {
    return "";
  }
}

/** The view of this name, or the one that has or will have the element of this name; else the first. */
function viewOf(name: string, views: HTMLElement[]) {
  const found = document.getElementById(name)?.closest(".view");
  if (found instanceof HTMLElement) return found;
  return views.find((view) => !isFilled(view) && name.startsWith(`${view.id}-`)) ?? views[0];
}

/** Scrolls to the element of this name in a view, and moves the focus there after a navigation. */
function goTo(
  view: HTMLElement,
  name: string,
  {
    isNavigation,
    place,
    isNewView,
  }: { isNavigation: boolean; place: number | undefined; isNewView: boolean },
) {
  const target = document.getElementById(name);
  const isInView = target !== null && target !== view && view.contains(target);
  if (!isNavigation && !target && place === undefined) return;
  const behavior = isNewView ? "instant" : "auto";
  if (place !== undefined) scrollTo({ top: place, behavior: "instant" });
  else if (isInView) target.scrollIntoView({ behavior });
  else scrollTo({ top: 0, behavior });
  // Screen readers and the Tab key go on from where the reader now is.
  if (isNavigation) focusQuietly(isInView ? target : view.querySelector("h1"));
}

function focusQuietly(element: HTMLElement | null) {
  if (!element) return;
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}
