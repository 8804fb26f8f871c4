// Elements of the page by selector, with their types.

/**
 * The first element of a selector in another.
 * @param kind  its class; default: HTMLElement
 * @throws {TypeError} if there is none, or one of another class
 */
export function find(parent: ParentNode, selector: string): HTMLElement;
export function find<T extends Element>(parent: ParentNode, selector: string, kind: new () => T): T;
export function find(parent: ParentNode, selector: string, kind: new () => Element = HTMLElement) {
  const element = parent.querySelector(selector);
  if (element instanceof kind) return element;
  throw new TypeError(`There is no ${kind.name} ${selector}`);
}

/** The nearest element of a selector that an event's target is in, or the target. */
export const closest = ({ target }: Event, selector: string) =>
  target instanceof Element ? target.closest<HTMLElement>(selector) : null;

/** A canvas's context for drawing. */
export function context2d(canvas: HTMLCanvasElement, settings?: CanvasRenderingContext2DSettings) {
  const context = canvas.getContext("2d", settings);
  if (!context) throw new Error("The browser does not draw");
  return context;
}
