"use strict";
(() => {
  // Values under the pointer.
  const tip = document.getElementById("tip");
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

  // Other axes of the map.
  const source = document.getElementById("map-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const svg = document.getElementById("map-svg");
  const [xs, ys] = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  const n = data.labels.length;
  const box = { left: 62, right: 626, top: 12, bottom: 356 };
  const number = (x) => String(Number(x.toPrecision(4)));

  function span(axis) {
    const seen = data.points.map((p) => p[axis]).sort((a, b) => a - b);
    const at = (share) => seen[Math.floor((seen.length - 1) * share)];
    const ends = seen.length ? [at(0.005), at(0.995)] : [];
    data.means.forEach((mean, l) => {
      const r = data.reach * Math.sqrt(Math.max(0, data.covariances[l][axis * n + axis]));
      ends.push(mean[axis] - r, mean[axis] + r);
    });
    const low = Math.min(...ends), high = Math.max(...ends), margin = 0.04 * (high - low);
    return high > low ? [low - margin, high + margin] : [low - 0.5, low + 0.5];
  }

  function ticks([low, high]) {
    const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999);
    const all = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++) all.push(i * step);
    return all;
  }

  function element(name, attributes, text) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => e.setAttribute(key, value));
    if (text !== undefined) e.textContent = text;
    return e;
  }

  function draw() {
    const a = Number(xs.value), b = Number(ys.value);
    const spanX = span(a), spanY = span(b);
    const unitX = (box.right - box.left) / (spanX[1] - spanX[0]), unitY = (box.top - box.bottom) / (spanY[1] - spanY[0]);
    const px = (x) => box.left + (x - spanX[0]) * unitX, py = (y) => box.bottom + (y - spanY[0]) * unitY;
    const frame = element("g", { class: "frame" });
    ticks(spanX).forEach((t) => frame.append(
      element("line", { x1: px(t), x2: px(t), y1: box.top, y2: box.bottom, class: "grid" }),
      element("text", { x: px(t), y: box.bottom + 16, "text-anchor": "middle" }, number(t))));
    ticks(spanY).forEach((t) => frame.append(
      element("line", { x1: box.left, x2: box.right, y1: py(t), y2: py(t), class: "grid" }),
      element("text", { x: box.left - 6, y: py(t) + 4, "text-anchor": "end" }, number(t))));
    frame.append(
      element("text", { x: (box.left + box.right) / 2, y: 392, "text-anchor": "middle", class: "axis" }, data.axes[a]),
      element("text", { transform: `translate(14 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" }, data.axes[b]));
    svg.querySelector(".frame").replaceWith(frame);
    svg.querySelectorAll("#map-points circle").forEach((circle, i) => {
      circle.setAttribute("cx", px(data.points[i][a]));
      circle.setAttribute("cy", py(data.points[i][b]));
    });
    svg.querySelectorAll("#map-shapes g").forEach((shape, l) => {
      const s = data.covariances[l], cx = px(data.means[l][a]), cy = py(data.means[l][b]);
      const xx = s[a * n + a] * unitX * unitX, xy = s[a * n + b] * unitX * unitY, yy = s[b * n + b] * unitY * unitY;
      const middle = (xx + yy) / 2, apart = Math.hypot((xx - yy) / 2, xy), angle = Math.atan2(2 * xy, xx - yy) * 90 / Math.PI;
      const half = (v) => Math.max(2, data.reach * Math.sqrt(Math.max(0, v)));
      const [ellipse, text] = shape.children;
      ellipse.setAttribute("rx", half(middle + apart));
      ellipse.setAttribute("ry", half(middle - apart));
      ellipse.setAttribute("transform", `translate(${cx} ${cy}) rotate(${angle})`);
      text.setAttribute("x", cx);
      text.setAttribute("y", cy);
    });
    const places = data.names.slice(0, 10).map((name, l) => `${name}: ${number(data.means[l][a])}, ${number(data.means[l][b])}.`);
    svg.setAttribute("aria-label", `Map on ${data.labels[a]} and ${data.labels[b]}. ${places.join(" ")}`);
  }
  xs.addEventListener("change", draw);
  ys.addEventListener("change", draw);
})();
