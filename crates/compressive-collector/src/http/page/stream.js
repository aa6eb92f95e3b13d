// One stream: rows over time, drift with its alarms, and what was promised for its private part.

/** Chance of one false alarm or more among all comparisons shown, if nothing changes. */
const FALSE_ALARM = 0.01;
/** Alarms listed in words; the table has them all. */
const ALARMS_LISTED = 6;

/** The buckets that the reader wants to see: those within so many steps of the latest, all for 0. */
function within(stream, range) {
  const all = stream.buckets.map((b) => ({ ...b, at: buckets.index(b.bucket, stream.every) }));
  const latest = Math.max(...all.map((b) => b.at));
  return range ? all.filter((b) => b.at > latest - range) : all;
}

/** The span of some buckets in time, with room for a few, and words for its ticks. */
function timeAxis(stream, shown) {
  const first = Math.min(...shown.map((b) => b.at)), latest = Math.max(...shown.map((b) => b.at));
  const steps = Math.max(latest - first + 1, 4), from = latest - steps + 1, step = Math.ceil(steps / 4);
  const at = Array.from({ length: Math.ceil(steps / step) }, (_, i) => from + i * step);
  return { span: [from - 0.6, latest + 0.6], words: at.map((i) => [i, buckets.word(i, stream.every)]), name: `${stream.every} (UTC)` };
}

/** Bars: rows of exact sums, and beside them those that private sketches tell of. */
function drawRows(stream, shown) {
  const axis = timeAxis(stream, shown), svg = byId("rows-svg"), both = shown.some((b) => b.private);
  const top = Math.max(1, ...shown.map((b) => Math.max(b.rows, b.private_rows)));
  const places = scale(axis.span, [0, 1.06 * top]), { px, py, unitX } = places;
  const width = Math.min(44, 0.8 * unitX);
  const bar = (b, rows, classes, part, words) => element("rect", {
    x: px(b.at) - width / 2 + (part * width) / 2,
    width: Math.max(1, both ? width / 2 - 1 : width),
    y: py(Math.max(0, rows)),
    height: py(0) - py(Math.max(0, rows)),
    class: `bar ${classes}`,
    "data-tip": `${b.bucket}: ${count(rows, "row")} ${words}`,
  });
  const exact = shown.filter((b) => b.rows).map((b) => bar(b, b.rows, "c0 exact", 0, "in exact sums"));
  const noisy = shown.filter((b) => b.private).map((b) => bar(b, b.private_rows, "c1 private", 1, "reported by private sketches or local reports; the number may carry noise"));
  const yWords = ticks(places.spanY).map((t) => [t, short(t)]);
  svg.replaceChildren(frame(places, axis.name, "rows", { x: axis.words, y: yWords }), ...exact, ...noisy);
  const total = sum(shown.map((b) => b.rows));
  svg.setAttribute("aria-label", `${count(total, "row")} in exact sums over ${count(shown.length, "bucket")}, ${shown[0].bucket} to ${shown[shown.length - 1].bucket}. The table below has the values.`);
  byId("rows-caption").replaceChildren(
    make("div", {}, ...key("c0", "exact sums")),
    ...(noisy.length ? [make("div", {}, ...key("c1 hatched", "private sketches and local reports, which are not in the exact sums; their numbers of rows may carry noise"))] : []));
}

/** Every comparison of the server's answer, with the level below which its p-value is an alarm. */
function judged(days, stream) {
  const all = [];
  days.forEach((day, i) => {
    // The second bucket has one comparison, not two: the one before it is the first.
    for (const [against, c] of [["before", day.before], ["first", i > 1 ? day.first : null]]) {
      if (!c) continue;
      all.push({ bucket: day.bucket, at: buckets.index(day.bucket, stream.every), against, ratio: c.distance / Math.max(c.distance_expected, Number.MIN_VALUE), p: c.p_value });
    }
  });
  const level = FALSE_ALARM / Math.max(1, all.length);
  all.forEach((c) => (c.alarm = c.p < level));
  return { all, level };
}

/** The comparisons of buckets that the server is still working on. */
const WAITING = { all: [], level: 0, waiting: true };

const AGAINST = { before: "the bucket before it", first: "the first one shown" };

/** Two lines, and a diamond for each alarm. */
function drawDrift(stream, shown, { all, level, waiting }) {
  const svg = byId("drift-svg"), axis = timeAxis(stream, shown);
  const top = Math.max(2, ...all.map((c) => c.ratio));
  const places = scale(axis.span, [0, 1.1 * top]), { px, py } = places;
  const line = (points, classes) => element("polyline", { points: points.map((c) => `${px(c.at)},${py(c.ratio)}`).join(" "), class: `curve ${classes}` });
  const mark = (c) => {
    const words = { class: `mark ${c.against === "before" ? "c0" : "c1"}${c.alarm ? " alarm" : ""}`, "data-tip": `${c.bucket}: ${number(c.ratio)} times sampling noise from ${AGAINST[c.against]}, p ${chance(c.p)}${c.alarm ? ", alarm" : ""}` };
    const [x, y] = [px(c.at), py(c.ratio)];
    return c.alarm ? element("path", { ...words, d: `M${x} ${y - 9}l9 9l-9 9l-9 -9z` }) : element("circle", { ...words, cx: x, cy: y, r: 4 });
  };
  // The second bucket is where the line from the first begins, too.
  const start = all.filter((c) => c.against === "before").slice(0, 1);
  const first = all.filter((c) => c.against === "first"), before = all.filter((c) => c.against === "before");
  svg.replaceChildren(
    frame(places, axis.name, "distance / sampling noise", { x: axis.words }),
    element("polyline", { points: `${box.left},${py(1)} ${box.right},${py(1)}`, class: "dotted" }),
    line(first.length ? [...start, ...first] : [], "c1 dashed"),
    line(before, "c0"),
    ...all.filter((c) => !c.alarm).map(mark),
    ...all.filter((c) => c.alarm).map(mark));
  const caption = byId("drift-caption");
  if (!all.length) {
    const none = stream.feature === "quadratic" ? "Buckets of the feature quadratic cannot be compared." : "Two buckets of exact sums, of some rows each, are needed for a comparison.";
    const why = waiting ? "The server is comparing the buckets …" : none;
    svg.setAttribute("aria-label", why);
    caption.textContent = why;
    return;
  }
  const alarms = all.filter((c) => c.alarm).length;
  svg.setAttribute("aria-label", `Distance of each bucket from the one before and from the first shown, in units of sampling noise: ${count(alarms, "alarm")}. The table below has the values.`);
  caption.replaceChildren(
    make("div", {}, ...key("c0 line", "from the bucket before"), ...key("c1 line dash", "from the first shown")),
    `Distances of exact sums in units of what sampling alone gives (dotted: 1). An alarm (diamond) has a p-value below ${FALSE_ALARM} / ${all.length} = ${number(level)}: with this Bonferroni correction for the ${count(all.length, "comparison")} shown, a stream that does not change has an alarm anywhere with a probability of at most ${100 * FALSE_ALARM}%. Looks at a bucket that is still filling are not counted as more comparisons.`);
}

/** Alarms in words. */
function tellAlarms({ all }) {
  const found = new Map();
  all.filter((c) => c.alarm).forEach((c) => found.set(c.bucket, [...(found.get(c.bucket) || []), `${AGAINST[c.against]} (p ${chance(c.p)})`]));
  const lines = [...found].reverse().map(([bucket, from]) => `${bucket} differs from ${from.join(" and from ")}`);
  const listed = lines.slice(0, ALARMS_LISTED);
  if (lines.length > listed.length) listed.push(`and ${count(lines.length - listed.length, "earlier bucket")}`);
  const place = byId("alarms"), text = listed.join("\n");
  if (place.dataset.shown === text && place.hasChildNodes()) return;
  place.dataset.shown = text;
  if (!all.length) return place.replaceChildren();
  if (!listed.length) return place.replaceChildren(make("p", { class: "notice" }, "No drift alarm in the buckets shown."));
  place.replaceChildren(make("div", { class: "notice loud" }, make("strong", {}, `Drift alarm in ${count(found.size, "bucket")}`), make("ul", {}, ...listed.map((line) => make("li", {}, line)))));
}

/** All numbers of the two pictures, the latest bucket first. */
function tellBuckets(shown, { all }) {
  const of = (bucket, against) => all.find((c) => c.bucket === bucket && c.against === against);
  const pair = (c) => (c ? [number(c.ratio), chance(c.p) + (c.alarm ? " (alarm)" : "")] : ["-", "-"]);
  const rows = [...shown].reverse().map((b) => [b.bucket, whole(b.rows), whole(b.private), b.private ? whole(b.private_rows) : "-", ...pair(of(b.bucket, "before")), ...pair(of(b.bucket, "first"))]);
  table(byId("buckets-table"), ["bucket", "rows, exact", "private sketches", "their rows, noisy", "from the one before", "p-value", "from the first shown", "p-value"], rows);
}

/** Private sketches by what they promise. */
function tellPrivate(list, exact) {
  const groups = new Map();
  for (const one of list) {
    const local = one.privacy.some((r) => r.mechanism.name === "local-response");
    const promises = one.privacy.map((r) => [`epsilon ${r.epsilon}, delta ${r.delta}`, hides(r), noise(r)]);
    const name = JSON.stringify([local, promises]);
    const group = groups.get(name) || { local, promises, all: [] };
    group.all.push(one);
    groups.set(name, group);
  }
  const none = "None in this stream.", kept = "These are kept apart from the exact sums: they are in no total of exact rows, in no drift line, and in a model only if it is learned from them, which it then says.";
  const besides = exact ? ` The ${count(exact, "row")} in exact sums carry no such promise.` : "";
  write(byId("privacy-say"), list.length ? kept + besides : `${none}${exact ? ` The ${count(exact, "row")} of exact sums are the plain sums, which carry no promise of privacy.` : ""}`);
  byId("promises").replaceChildren(...[...groups.values()].map(({ local, promises, all }) => {
    const days = all.map((one) => one.bucket).sort(), details = make("dl", { class: "facts" });
    const rows = sum(all.map((one) => one.rows));
    const exactly = all.every((one) => one.privacy.every((r) => r.neighbours === "replace"));
    facts(details, [
      ...promises.flatMap(([budget, what, how]) => [["promise", budget], ["hides", what], ["mechanism", how]]),
      [local ? "readings" : "rows", `${whole(rows)}${exactly ? " (this number is public)" : " (this number carries noise)"}`],
      ["buckets", days[0] === days[days.length - 1] ? days[0] : `${days[0]} to ${days[days.length - 1]}`],
    ]);
    const title = local ? `Local reports of ${count(new Set(days).size, "bucket")}` : count(all.length, "private sketch").replace("sketchs", "sketches");
    return make("div", { class: "promise" }, make("h3", {}, title), details);
  }));
}
