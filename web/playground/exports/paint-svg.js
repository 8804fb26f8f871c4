// Paints a drawing of the page on a canvas, with the styles that it has. The page's policy allows no addresses of
// blobs and data, by which an image could load it.

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Element} element  an SVG of groups, paths, lines, rectangles, circles and texts
 */
export function paintSvg(context, element) {
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

/** @param {Element} element */
function pathOf(element) {
  const number = (/** @type {string} */ name) => Number(element.getAttribute(name) ?? 0);
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

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Element} element
 * @param {CSSStyleDeclaration} style
 */
function writeText(context, element, style) {
  const { fontStyle, fontWeight, fontSize, fontFamily, textAnchor } = style;
  context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  context.textAlign = textAnchor === "middle" ? "center" : textAnchor === "end" ? "end" : "start";
  const [x, y] = ["x", "y"].map((name) => Number(element.getAttribute(name)));
  context.fillText(element.textContent ?? "", x, y);
}

/** @param {CSSStyleDeclaration} style */
const dashesOf = ({ strokeDasharray }) => (strokeDasharray.match(/[\d.]+/g) ?? []).map(Number);
