// Words, tables and places: everything that came from outside goes in as text.

const byId = (id) => document.getElementById(id);
const whole = (n) => Math.round(n).toLocaleString("en");
const count = (n, word) => `${whole(n)} ${word}${Math.abs(n) === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const short = (n) => (n + 0).toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
const sum = (all) => all.reduce((a, b) => a + b, 0);

/** A probability; below what the sums can tell it is a bound. */
const chance = (p) => (p < 1e-12 ? "below 1e-12" : number(p));

/** An element of the document with text and parts inside. */
function make(name, properties = {}, ...parts) {
  const e = document.createElement(name);
  Object.entries(properties).forEach(([key, value]) => e.setAttribute(key, value));
  e.append(...parts.map((part) => (part instanceof Node ? part : String(part))));
  return e;
}

/** Sets a text only if it is another, so that nothing is read aloud or selected anew. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Names with their values, in place of those that were there. */
function facts(list, pairs) {
  const same = list.children.length === pairs.length && pairs.every(([name], i) => list.children[i].firstChild.textContent === name);
  if (!same) list.replaceChildren(...pairs.map(([name]) => make("div", {}, make("dt", {}, name), make("dd"))));
  pairs.forEach(([, value], i) => write(list.children[i].lastChild, value));
}

/** A table in place of the one that was there; the first cell of each row is its head. */
function table(place, heads, rows, shapes = []) {
  const cell = (content, i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, content);
  const body = rows.map((row, l) => make("tr", shapes[l] ? { "data-shape": shapes[l] } : {}, ...row.map(cell)));
  const head = make("thead", {}, make("tr", {}, ...heads.map((word) => make("th", { scope: "col" }, word))));
  const at = [place.scrollLeft, place.scrollTop];
  place.replaceChildren(make("table", {}, head, make("tbody", {}, ...body)));
  [place.scrollLeft, place.scrollTop] = at;
}

/** A colour with what it stands for. */
const key = (classes, words) => [make("span", { class: `key ${classes}`, "aria-hidden": "true" }), `${words} `];

/** Buckets as numbers that grow by one, and back. */
const buckets = {
  milliseconds: { hour: 3_600_000, day: 86_400_000 },
  index: (name, every) => Math.round(Date.parse(every === "hour" ? `${name}:00Z` : `${name}T00:00Z`) / buckets.milliseconds[every]),
  name: (index, every) => new Date(index * buckets.milliseconds[every]).toISOString().slice(0, every === "hour" ? 13 : 10),
  /** A name as a reader would write it under an axis. */
  word: (index, every) => {
    const name = buckets.name(index, every).slice(5);
    return every === "hour" ? `${name.replace("T", " ")}:00` : name;
  },
};

/** What a release hides, in words. */
function hides({ mechanism, neighbours, rows_per_person: rows }) {
  if (mechanism.name === "local-response") return "the values of any one reading, from this collector too (local)";
  if (neighbours === "replace") return rows === 1 ? "the values of any one row (replace)" : `the values of any person's rows, up to ${whole(rows)} of them (replace)`;
  return rows === 1 ? "whether any one row is in the table (add-remove)" : `whether any person, with up to ${whole(rows)} rows, is in the table (add-remove)`;
}

/** How a release keeps its promise. */
function noise({ mechanism }) {
  const names = { "discrete-laplace": "discrete Laplace noise on the sums", "discrete-gaussian": "discrete Gaussian noise on the sums" };
  if (mechanism.name === "local-response") return `randomised response: each reading tells ${mechanism.entries} of ${whole(mechanism.of)} signs`;
  return names[mechanism.name] || mechanism.name;
}

/** The commands that fill a stream, with this server's own address. */
function commands(stream) {
  const push = `compressive push rows.csv --to ${location.origin} --stream ${stream || "fleet"}`;
  if (stream) return push;
  const token = pass.get() ? ' \\\n  -H "Authorization: Bearer $COMPRESSIVE_TOKEN"' : "";
  return `compressive design rows.csv -k 10 -o spec.json\ncurl -X PUT --data-binary @spec.json${token} \\\n  "${location.origin}/v1/streams/fleet?every=hour"\n${push}`;
}
