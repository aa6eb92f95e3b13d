// A model as a picture on two axes, and as a table.

/** Ellipses are drawn at this many standard deviations. */
const REACH = 2;
/** A share by which the rows must change before a model is learned anew by itself. */
const CHANGE = 0.1;

/** Means, shares and covariances of a model's components; principal components are one shape of all rows. */
function shapesOf(model) {
  if (model.task === "pca") {
    const unit = (i) => (model.scale ? model.scale[i] : 1);
    const shared = (i, j) => sum(model.components.map((v, l) => (model.explained_variance[l] - model.noise_variance) * v[i] * v[j]));
    const covariance = (_, i, j) => (shared(i, j) + (i === j ? model.noise_variance : 0)) * unit(i) * unit(j);
    return { names: ["all rows"], means: [model.mean], weights: [1], covariance };
  }
  const means = model.centers || model.means, all = model.covariances;
  const entry = (l, i, j) => (Array.isArray(all[l][i]) ? all[l][i][j] : i === j ? all[l][i] : 0);
  return { names: means.map((_, l) => String(l + 1)), means, weights: model.weights, covariance: all && entry };
}

/** The axes to choose from: the columns, and the share of the rows. */
const axesOf = (model) => [...model.columns, "share of the rows, %"];

/** Fills the choices of axes; what was chosen stays if it is still there. */
function offerAxes(model) {
  const axes = axesOf(model), selects = [byId("axis-x"), byId("axis-y")];
  const same = selects.every((s) => s.dataset.axes === JSON.stringify(axes));
  if (same) return;
  selects.forEach((select, i) => {
    select.replaceChildren(...axes.map((name, a) => make("option", { value: a }, name)));
    select.value = String(i);
    select.dataset.axes = JSON.stringify(axes);
  });
}

function drawModel(model) {
  const shapes = shapesOf(model), axes = axesOf(model), share = axes.length - 1;
  const [a, b] = [Number(byId("axis-x").value), Number(byId("axis-y").value)];
  const value = (l, axis) => (axis === share ? 100 * shapes.weights[l] : shapes.means[l][axis]);
  const spread = (l, i, j) => (!shapes.covariance || i === share || j === share ? 0 : shapes.covariance(l, i, j));
  const span = (axis) => {
    const ends = shapes.means.flatMap((_, l) => {
      const r = REACH * Math.sqrt(Math.max(0, spread(l, axis, axis)));
      return [value(l, axis) - r, value(l, axis) + r];
    });
    if (axis === share) return [0, 1.15 * Math.max(...ends)];
    const [low, high] = wide(ends), margin = shapes.covariance ? 0 : 0.08 * (high - low);
    return [low - margin, high + margin];
  };
  const places = scale(span(a), span(b)), { px, py } = places;
  const marks = shapes.means.map((_, l) => {
    const [x, y] = [px(value(l, a)), py(value(l, b))], r = Math.max(4, 36 * Math.sqrt(shapes.weights[l]));
    const { rx, ry, angle } = shapes.covariance ? ellipseOf([spread(l, a, a), spread(l, a, b), spread(l, b, b)], REACH, places) : { rx: r, ry: r, angle: 0 };
    const tip = `${shapes.names[l]}: ${percent(shapes.weights[l])} of the rows at ${number(value(l, a))}, ${number(value(l, b))}`;
    const group = element("g", { class: `shape c${l % 10}`, "data-shape": shapes.names[l], "data-tip": tip });
    group.append(element("ellipse", { rx, ry, transform: `translate(${x} ${y}) rotate(${angle})` }), element("text", { x, y, dy: 4, "text-anchor": "middle" }, shapes.names[l]));
    return group;
  });
  const svg = byId("model-svg");
  svg.replaceChildren(frame(places, axes[a], axes[b]), ...marks);
  const parts = marks.slice(0, 10).map((mark) => `${mark.dataset.tip}.`);
  const more = marks.length > parts.length ? ` And ${marks.length - parts.length} more.` : "";
  svg.setAttribute("aria-label", `Model on ${axes[a]} and ${axes[b]}. ${parts.join(" ")}${more}`);
  write(byId("model-caption"), shapes.covariance ? `Ellipses: ${REACH} standard deviations around each mean.` : "Circles: centres; the area of each is its share of the rows.");
}

/** The components in numbers, for those who do not see the picture. */
function tellModel(model) {
  const place = byId("components-table"), shapes = shapesOf(model);
  if (model.task === "pca") {
    const rows = model.components.map((v, l) => [String(l + 1), percent(model.explained_variance[l] / model.total_variance), ...v.map(number)]);
    return table(place, ["component", "variance explained", ...model.columns], [...rows, ["mean", "-", ...model.mean.map(number)]]);
  }
  const cell = (l) => (x, c) => (shapes.covariance ? `${number(x)} ± ${number(Math.sqrt(Math.max(0, shapes.covariance(l, c, c))))}` : number(x));
  const rows = shapes.means.map((mean, l) => [shapes.names[l], percent(shapes.weights[l]), ...mean.map(cell(l))]);
  table(place, ["component", "share of the rows", ...model.columns], rows, shapes.names);
}

/** What the reader asks for: the body of the request, and words and rows of the slice; a text if it cannot be asked for. */
function wanted(stream, shown) {
  const [task, covariance] = byId("task").value.split("-"), text = byId("k").value.trim().toLowerCase();
  const k = text === "auto" && task !== "pca" ? "auto" : Number(text);
  if (k !== "auto" && !(Number.isInteger(k) && k >= 1 && k <= 200)) return `k is a whole number from 1 to 200${task === "pca" ? "" : ", or auto"}.`;
  const noisy = byId("kind").value === "private", rows = (b) => (noisy ? b.private_rows : b.rows);
  let slice = shown.filter((b) => (noisy ? b.private : b.rows));
  if (byId("slice").value === "latest") slice = slice.slice(-1);
  if (!slice.length) return "There is no row to learn from in these buckets.";
  const [from, to] = [slice[0].bucket, slice[slice.length - 1].bucket];
  const body = { streams: [stream.name], task, k, private: noisy, from, to };
  if (task === "gmm") body.covariance = covariance || "diag";
  const total = sum(slice.map(rows));
  return { body, rows: total, words: `${count(total, "row")} of ${from === to ? from : `${from} to ${to}`}` };
}

/** Offers to learn from private sketches where there are any. */
function offerKinds(shown) {
  const kinds = [];
  if (shown.some((b) => b.rows)) kinds.push(["exact", "exact sums"]);
  if (shown.some((b) => b.private)) kinds.push(["private", "private sketches and local reports"]);
  const select = byId("kind"), names = kinds.map(([name]) => name).join();
  byId("kind-label").hidden = kinds.length < 2 && names !== "private";
  if (select.dataset.kinds === names) return;
  const before = select.value;
  select.replaceChildren(...kinds.map(([name, words]) => make("option", { value: name }, words)));
  if (names.includes(before) && before) select.value = before;
  select.dataset.kinds = names;
}
