tips(document.getElementById("tip"));
(() => {
  // Other axes of the map.
  const source = document.getElementById("map-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const svg = document.getElementById("map-svg");
  const [xs, ys] = ["axis-x", "axis-y"].map((id) => document.getElementById(id));
  const n = data.labels.length;

  function span(axis) {
    const seen = data.points.map((p) => p[axis]).sort((a, b) => a - b);
    const at = (share) => seen[Math.floor((seen.length - 1) * share)];
    const ends = seen.length ? [at(0.005), at(0.995)] : [];
    data.means.forEach((mean, l) => {
      const r = data.reach * Math.sqrt(Math.max(0, data.covariances[l][axis * n + axis]));
      ends.push(mean[axis] - r, mean[axis] + r);
    });
    return wide(ends);
  }

  function draw() {
    const a = Number(xs.value), b = Number(ys.value);
    const places = scale(span(a), span(b)), { px, py } = places;
    svg.querySelector(".frame").replaceWith(frame(places, data.axes[a], data.axes[b]));
    svg.querySelectorAll("#map-points circle").forEach((circle, i) => {
      circle.setAttribute("cx", px(data.points[i][a]));
      circle.setAttribute("cy", py(data.points[i][b]));
    });
    svg.querySelectorAll("#map-shapes g").forEach((shape, l) => {
      const s = data.covariances[l], cx = px(data.means[l][a]), cy = py(data.means[l][b]);
      const { rx, ry, angle } = ellipseOf([s[a * n + a], s[a * n + b], s[b * n + b]], data.reach, places);
      const [ellipse, text] = shape.children;
      ellipse.setAttribute("rx", rx);
      ellipse.setAttribute("ry", ry);
      ellipse.setAttribute("transform", `translate(${cx} ${cy}) rotate(${angle})`);
      text.setAttribute("x", cx);
      text.setAttribute("y", cy);
    });
    const listed = data.names.slice(0, 10).map((name, l) => `${name}: ${number(data.means[l][a])}, ${number(data.means[l][b])}.`);
    svg.setAttribute("aria-label", `Map on ${data.labels[a]} and ${data.labels[b]}. ${listed.join(" ")}`);
  }
  xs.addEventListener("change", draw);
  ys.addEventListener("change", draw);
})();
