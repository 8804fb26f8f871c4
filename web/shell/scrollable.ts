// Makes boxes with overflowing content focusable, so that the keyboard can scroll them.

let observer: ResizeObserver | undefined;

function update(box: Element) {
  const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  if (scrolls) box.setAttribute("tabindex", "0");
  else box.removeAttribute("tabindex");
}

/** Makes a box focusable exactly while it can scroll; a component's ref, which is null in the end. */
export function keepReachable(box: Element | null) {
  observer ??= new ResizeObserver((entries) => {
    for (const { target } of entries) update(target);
  });
  if (box) observer.observe(box);
}

/** Makes every box in here that can scroll focusable exactly while it does. Code of cells and exercises always is. */
export function makeScrollable(parent: ParentNode) {
  for (const box of parent.querySelectorAll(
    "pre:not(.cell-code > pre, .exercise-code > pre, .cell-torch > pre), .scroll-x",
  ))
    keepReachable(box);
}
