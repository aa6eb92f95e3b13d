"use strict";
// What pages with pictures share: values under the pointer, round ticks, a frame, ellipses of covariances.

/** The part of a picture of 640 x 400 that its frame encloses. */
const box = { left: 62, right: 626, top: 12, bottom: 356 };

/** A number with four significant digits. */
const number = (x) => String(Number(x.toPrecision(4)));

/** An element of a picture; text goes in as text. */
function element(name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => e.setAttribute(key, value));
  if (text !== undefined) e.textContent = text;
  return e;
}

/** Round steps of 1, 2 or 5 times a power of ten that cover a range with about six of them. */
function ticks([low, high]) {
  const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999);
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++) all.push(i * step);
  return all;
}

/** The range of some values with a margin, never empty. */
function wide(values) {
  const low = Math.min(...values), high = Math.max(...values), margin = 0.04 * (high - low);
  return high > low ? [low - margin, high + margin] : [low - 0.5, low + 0.5];
}

/** From values to places in the picture. */
function scale(spanX, spanY) {
  const unitX = (box.right - box.left) / (spanX[1] - spanX[0]), unitY = (box.top - box.bottom) / (spanY[1] - spanY[0]);
  const px = (x) => box.left + (x - spanX[0]) * unitX, py = (y) => box.bottom + (y - spanY[0]) * unitY;
  return { spanX, spanY, unitX, unitY, px, py };
}

/** The frame with ticks, pairs of a value and its word, and the names of the axes. */
function frame({ spanX, spanY, px, py }, nameX, nameY, words = {}) {
  const worded = (all) => all.map((t) => [t, number(t)]);
  const group = element("g", { class: "frame" });
  (words.x || worded(ticks(spanX))).forEach(([t, word]) => group.append(
    element("line", { x1: px(t), x2: px(t), y1: box.top, y2: box.bottom, class: "grid" }),
    element("text", { x: px(t), y: box.bottom + 16, "text-anchor": "middle" }, word)));
  (words.y || worded(ticks(spanY))).forEach(([t, word]) => group.append(
    element("line", { x1: box.left, x2: box.right, y1: py(t), y2: py(t), class: "grid" }),
    element("text", { x: box.left - 6, y: py(t) + 4, "text-anchor": "end" }, word)));
  group.append(
    element("text", { x: (box.left + box.right) / 2, y: 392, "text-anchor": "middle", class: "axis" }, nameX),
    element("text", { transform: `translate(14 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, nameY));
  return group;
}

/** Half axes and angle (degrees) of the ellipse of a covariance at so many standard deviations, in the picture's units. */
function ellipseOf([xx, xy, yy], reach, { unitX, unitY }) {
  const [a, b, c] = [xx * unitX * unitX, xy * unitX * unitY, yy * unitY * unitY];
  const middle = (a + c) / 2, apart = Math.hypot((a - c) / 2, b);
  const half = (v) => Math.max(2, reach * Math.sqrt(Math.max(0, v)));
  return { rx: half(middle + apart), ry: half(middle - apart), angle: Math.atan2(2 * b, a - c) * 90 / Math.PI };
}

/** Shows the value of what is under the pointer, and lights what has the same name. */
function tips(tip) {
  const lit = (name, on) => document.querySelectorAll("[data-shape]").forEach((e) => e.classList.toggle("lit", on && e.dataset.shape === name));
  document.addEventListener("pointerover", (event) => {
    const at = event.target.closest("[data-tip]");
    tip.hidden = !at;
    if (at) tip.textContent = at.dataset.tip;
    const shape = event.target.closest("[data-shape]");
    lit(shape && shape.dataset.shape, !!shape);
  });
  document.addEventListener("pointermove", (event) => {
    const room = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + "px";
    tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
}
