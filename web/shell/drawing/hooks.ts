// Hooks of components that depend on more than their properties.

import { createElement, type FunctionComponent, type Ref } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

/** A component that is drawn again only if one of its properties has changed. */
export const memo =
  <P extends object>(View: FunctionComponent<P>) =>
  (properties: P) =>
    useMemo(() => createElement(View, properties), Object.values(properties));

/** A function that draws the component again. */
export function useRedraw(): () => void {
  const [, count] = useReducer((drawn: number, _: undefined) => drawn + 1, 0);
  return () => count(undefined);
}

/** For an element whose content depends on its width: in pixels, 0 before it was shown. */
export function useWidth<T extends HTMLElement = HTMLDivElement>(): [Ref<T>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = ref;
    if (!current) return;
    // A hidden element keeps what was drawn.
    const measure = () => current.clientWidth > 0 && setWidth(current.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
