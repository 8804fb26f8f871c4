// One view at a time: the overview or a notebook, chosen by the address after the #.

/**
 * @param {(view: HTMLElement) => void} onShow
 */
export function showCurrentView(onShow) {
  const views = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".view")]);
  const links = /** @type {HTMLAnchorElement[]} */ ([
    ...document.querySelectorAll(".contents a[href^='#']"),
  ]);
  const menu = /** @type {HTMLDetailsElement | null} */ (
    document.querySelector(".contents details")
  );
  const isNarrow = matchMedia("(max-width: 64rem)");

  /** The menu is a drawer on narrow screens and always open on wide ones. */
  const fitMenu = () => {
    if (menu) menu.open = !isNarrow.matches;
  };
  isNarrow.addEventListener("change", fitMenu);
  fitMenu();

  /** @param {boolean} isNavigation */
  const show = (isNavigation) => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id ? document.getElementById(id) : null;
    const view = /** @type {HTMLElement} */ (target?.closest(".view") ?? views[0]);
    const isNewView = !view.hasAttribute("data-current") || !isNavigation;
    for (const other of views) other.toggleAttribute("data-current", other === view);
    for (const link of links) {
      if (link.getAttribute("href") === `#${view.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    for (const sections of document.querySelectorAll("[data-sections-of]")) {
      sections.toggleAttribute("hidden", sections.getAttribute("data-sections-of") !== view.id);
    }
    document.title = view.dataset.title ? `${view.dataset.title} · zeropoint` : "zeropoint";
    onShow(view);
    if (isNarrow.matches) fitMenu();
    if (!isNavigation && !target) return;
    const behavior = isNewView ? "instant" : "auto";
    if (target && target !== view) target.scrollIntoView({ behavior });
    else scrollTo({ top: 0, behavior });
    // Screen readers and the Tab key go on from where the reader now is.
    if (isNavigation) {
      const place = target && target !== view ? target : view.querySelector("h1");
      focusQuietly(/** @type {HTMLElement | null} */ (place));
    }
  };

  // The skip link must not become the address: the view would be lost when the page is loaded again.
  document.querySelector(".skip-link")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  });
  addEventListener("hashchange", () => show(true));
  show(false);
}

/** @param {HTMLElement | null} element */
function focusQuietly(element) {
  if (!element) return;
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}
