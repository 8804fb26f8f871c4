// Paints a drawing of the page on a canvas, with the styles that it has. The page's policy allows no addresses of
// blobs and data, by which an image could load it.

/** @param element  an SVG of groups, paths, lines, rectangles, circles and texts */
export function paintSvg(context: CanvasRenderingContext2D, element: Element) {
  const style = getComputedStyle(element);
  if (style.display === "none") return;
  context.save();
  const matrix =
    element instanceof SVGGraphicsElement && element.transform.baseVal.consolidate()?.matrix;
  if (matrix) context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f);
  const path = pathOf(element);
  const isText = element.localName === "text";
  if (style.fill !== "none") {
    context.fillStyle = style.fill;
    context.globalAlpha = Number(style.fillOpacity);
    if (path) context.fill(path);
    if (isText) writeText(context, element, style);
  }
  if (path && style.stroke !== "none") {
    context.strokeStyle = style.stroke;
    context.globalAlpha = Number(style.strokeOpacity);
    context.lineWidth = Number.parseFloat(style.strokeWidth);
    context.setLineDash(dashesOf(style));
    context.stroke(path);
  }
  if (!isText) for (const child of element.children) paintSvg(context, child);
  context.restore();
}

function pathOf(element: Element) {
  const number = (name: string) => Number(element.getAttribute(name) ?? 0);
  const path = new Path2D(element.getAttribute("d") ?? "");
  switch (element.localName) {
    case "path":
      return path;
    case "line":
      path.moveTo(number("x1"), number("y1"));
      path.lineTo(number("x2"), number("y2"));
      return path;
    case "rect":
      path.rect(number("x"), number("y"), number("width"), number("height"));
      return path;
    case "circle":
      path.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
      return path;
  }
  return undefined;
}

function writeText(
  context: CanvasRenderingContext2D,
  element: Element,
  style: CSSStyleDeclaration,
) {
  const { fontStyle, fontWeight, fontSize, fontFamily, textAnchor } = style;
  context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  context.textAlign = textAnchor === "middle" ? "center" : textAnchor === "end" ? "end" : "start";
  const [x, y] = ["x", "y"].map((name) => Number(element.getAttribute(name)));
  context.fillText(element.textContent ?? "", x, y);
}

const dashesOf = ({ strokeDasharray }: CSSStyleDeclaration) =>
  (strokeDasharray.match(/[\d.]+/g) ?? []).map(Number);
