// Makes boxes with overflowing content focusable, so that the keyboard can scroll them.

let observer: ResizeObserver | undefined;

function update(box: Element) {
  const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  if (scrolls) box.setAttribute("tabindex", "0");
  else box.removeAttribute("tabindex");
}

/** Makes every box in here that can scroll focusable exactly while it does. Code of cells and exercises always is. */
export function makeScrollable(parent: ParentNode) {
  observer ??= new ResizeObserver((entries) => {
    for (const { target } of entries) update(target);
  });
  for (const box of parent.querySelectorAll(
    "pre:not(.cell-code > pre, .exercise-code > pre, .cell-torch > pre), .scroll-x",
  ))
    observer.observe(box);
}
