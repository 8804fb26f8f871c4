// What is too wide or too long scrolls inside its own box, and then has to be reachable by keyboard.

const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) update(/** @type {HTMLElement} */ (target));
});

/** @param {HTMLElement} box */
function update(box) {
  const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  if (scrolls) box.setAttribute("tabindex", "0");
  else box.removeAttribute("tabindex");
}

/**
 * Makes every box in here that can scroll focusable exactly while it does.
 * @param {ParentNode} parent
 */
export function makeScrollable(parent) {
  for (const box of parent.querySelectorAll("pre, .scroll-x")) observer.observe(box);
}
