// The page: polls while it is looked at, asks for what has changed, and draws it.

/** Milliseconds between two polls. */
const EVERY = 2000;
/** Polls between two looks at the store's health, and at data whose counters did not move (deleted or expired buckets). */
const HEALTH = 5, ANYWAY = 15;
/** Streams whose rows are asked for at the beginning; the others follow one by one. */
const AT_ONCE = 20;

/** What holds something of the chosen stream. */
const PICTURES = ["rows-svg", "drift-svg", "model-svg"];
const FILLED = ["alarms", "buckets-table", "components-table", "promises", "stream-facts", "stream-h", "rows-caption", "drift-caption", "model-caption", "privacy-say", "waiting-command", "axis-x", "axis-y"];

const state = { locked: false, turn: 0, dirty: true, counted: null, streams: [], totals: new Map(), next: 0 };
const time = () => new Date().toLocaleTimeString("en-GB");
const paces = () => ({ stream: new Pace(), drift: new Pace(), private: new Pace() });
const pathOf = (name) => `/v1/streams/${encodeURIComponent(name)}`;
const shownOf = (stream) => within(stream, Number(byId("range").value));

/** Takes everything of the chosen stream away. */
function clear() {
  Object.assign(state, { chosen: null, stream: null, days: [], compared: null, comparing: null, released: null, promises: [], model: null, learned: 0, drawn: null });
  state.paces = paces();
  PICTURES.forEach((id) => byId(id).setAttribute("aria-label", "nothing drawn yet"));
  [...PICTURES, ...FILLED].forEach((id) => byId(id).replaceChildren());
  ["axis-x", "axis-y"].forEach((id) => delete byId(id).dataset.axes);
  delete byId("alarms").dataset.shown;
  byId("picture").hidden = true;
  byId("model-say").className = "";
  write(byId("model-say"), "No model was asked for yet.");
}

/** Shows nothing but the question for a token. */
function lock(problem) {
  clear();
  pass.forget();
  Object.assign(state, { locked: true, streams: [], totals: new Map() });
  byId("streams-table").replaceChildren();
  delete byId("streams-table").dataset.names;
  ["server-facts", "first-commands", "first-why"].forEach((id) => byId(id).replaceChildren());
  ["all", "first", "forget"].forEach((id) => (byId(id).hidden = true));
  byId("door").hidden = false;
  write(byId("door-problem"), problem);
}

function choose(name) {
  if (state.chosen === name) return;
  clear();
  state.chosen = name;
  state.dirty = true;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
}

/** The stream named in the address, if there is one. */
function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

function note(stream) {
  const last = stream.buckets[stream.buckets.length - 1];
  const sketches = sum(stream.buckets.map((b) => b.private));
  state.totals.set(stream.name, { rows: sum(stream.buckets.map((b) => b.rows)), private: sketches, noisy: sum(stream.buckets.map((b) => b.private_rows)), last: last ? last.bucket : "-" });
}

/** The list of streams; cells change in place, so that the keyboard stays where it is. */
function showStreams() {
  const place = byId("streams-table"), names = JSON.stringify(state.streams.map((s) => s.name));
  if (place.dataset.names !== names) {
    const button = (name) => {
      const b = make("button", { type: "button", class: "pick" }, name);
      b.addEventListener("click", () => (choose(name), showStreams(), poll()));
      return b;
    };
    table(place, ["stream", "rows, exact", "rows, private (noisy)", "latest bucket", "buckets by", "feature", "columns"], state.streams.map((s) => [button(s.name), "", "", "", s.every, s.feature, whole(s.columns.length)]));
    place.dataset.names = names;
  }
  const rows = place.querySelectorAll("tbody tr");
  state.streams.forEach(({ name }, i) => {
    const [first, ...cells] = rows[i].children, total = state.totals.get(name);
    first.firstChild.setAttribute("aria-pressed", String(name === state.chosen));
    const words = total ? [whole(total.rows), total.private ? whole(total.noisy) : "-", total.last] : ["…", "…", "…"];
    words.forEach((word, c) => write(cells[c], word));
  });
}

function showStream() {
  const { stream } = state, total = state.totals.get(stream.name);
  const columns = stream.columns.slice(0, 12).join(", ") + (stream.columns.length > 12 ? `, and ${stream.columns.length - 12} more` : "");
  write(byId("stream-h"), stream.name);
  facts(byId("stream-facts"), [
    ["rows", `${whole(total.rows)} in exact sums, ${count(stream.buckets.length, "bucket")} by ${stream.every}${stream.keep ? `, the latest ${whole(stream.keep)} kept` : ""}`],
    ...(total.private ? [["beside them", `about ${count(total.noisy, "row")} in private sketches or local reports (see below), not added to these`]] : []),
    ["columns", columns],
    ["spec", `${stream.feature}, ${whole(stream.size)} frequencies, fingerprint ${stream.fingerprint.slice(0, 12)}, made ${stream.created}`],
  ]);
  const empty = !stream.buckets.length;
  byId("waiting").hidden = !empty;
  ["shown", "model", "privacy"].forEach((id) => (byId(id).hidden = empty));
  if (empty) return write(byId("waiting-command"), commands(stream.name));
  const shown = shownOf(stream), exact = shown.filter((b) => b.rows);
  // Until the server has worked it out there is no drift of these buckets.
  const verdict = exact.length < 2 || state.days[0]?.bucket === exact[0].bucket ? judged(exact.length < 2 ? [] : state.days, stream) : WAITING;
  const drawn = JSON.stringify([shown, verdict]);
  offerKinds(shown);
  if (drawn === state.drawn) return;
  state.drawn = drawn;
  drawRows(stream, shown);
  drawDrift(stream, shown, verdict);
  tellAlarms(verdict);
  tellBuckets(shown, verdict);
}

function showServer(now) {
  const before = state.before, seconds = before ? (now.at - before.at) / 1000 : 0;
  const rate = seconds && now.rows >= before.rows ? `, ${whole((now.rows - before.rows) / seconds)} a second now` : "";
  state.before = now;
  if (state.locked) return;
  facts(byId("server-facts"), [
    ["state", state.health],
    ["rows", `${whole(now.rows)} counted since it started${rate}`],
    ["batches", `${whole(now.batches)} acknowledged (${short(now.bytes)} bytes), ${whole(now.repeated)} of them sent again and not counted twice`],
    ["refused", count(now.refused, "request")],
    ["connections", `${whole(now.connections)} open`],
  ]);
}

/** Asks for the drift of some buckets, beside the polls, since it takes the server the longest. */
async function compareBuckets(name, exact, compared) {
  const current = () => state.comparing === compared && state.chosen === name;
  state.comparing = compared;
  try {
    const path = `/v1/drift?streams=${encodeURIComponent(name)}&from=${exact[0]?.bucket}`;
    const days = exact.length > 1 ? (await state.paces.drift.run(() => ask(path, undefined, 120))).buckets : [];
    if (!current()) return;
    Object.assign(state, { days, compared });
    showStream();
  } catch (error) {
    // Whoever may no longer ask learns it at the next poll.
    if (current() && error.status !== 401) write(byId("drift-caption"), `The drift could not be worked out: ${error.message}.`);
  } finally {
    if (current()) state.comparing = null;
  }
}

/** Asks for what the chosen stream's buckets say, for drift and promises if they changed; false if something must wait. */
async function refreshStream(name) {
  const pace = state.paces, other = () => state.chosen !== name;
  if (!pace.stream.due) return false;
  const stream = await pace.stream.run(() => ask(pathOf(name)));
  if (other()) return false;
  state.stream = stream;
  note(stream);
  const shown = stream.buckets.length ? shownOf(stream) : [], exact = shown.filter((b) => b.rows);
  const compared = JSON.stringify(exact), released = JSON.stringify(stream.buckets.map((b) => [b.bucket, b.private, b.private_rows]));
  let done = true;
  if (released !== state.released) {
    const path = `/v1/private?streams=${encodeURIComponent(name)}`, some = stream.buckets.some((b) => b.private);
    if (!some || pace.private.due) {
      const promises = some ? (await pace.private.run(() => ask(path))).private : [];
      if (other()) return false;
      Object.assign(state, { released, promises });
    } else {
      done = false;
    }
  }
  tellPrivate(state.promises, state.totals.get(name).rows);
  if (compared !== state.compared) {
    if (pace.drift.due && !state.comparing) compareBuckets(name, exact, compared);
    else done = false;
  }
  showStream();
  learnAgain();
  return done;
}

/** Rows of streams that are not chosen: those that are not known yet, and one more each time. */
async function refreshOthers() {
  const others = state.streams.map((s) => s.name).filter((name) => name !== state.chosen);
  const unknown = others.filter((name) => !state.totals.has(name)).slice(0, AT_ONCE);
  const next = others.length ? [others[state.next++ % others.length]] : [];
  for (const name of new Set([...unknown, ...next])) {
    try {
      const stream = await ask(pathOf(name));
      if (state.locked) return;
      note(stream);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
}

async function refresh() {
  const { streams } = await ask("/v1/streams");
  if (state.locked) return true;
  Object.assign(state, { streams });
  const opened = !byId("door").hidden;
  byId("door").hidden = true;
  byId("forget").hidden = !pass.get();
  byId("first").hidden = streams.length > 0;
  byId("all").hidden = !streams.length;
  if (opened) byId(streams.length ? "streams-h" : "first-h").focus();
  if (!streams.length) {
    clear();
    write(byId("first-why"), pass.get() ? "There is no stream that this token may read." : "This server has no stream.");
    write(byId("first-commands"), commands());
    return true;
  }
  const known = (name) => streams.some((s) => s.name === name);
  if (!known(state.chosen)) choose(known(named()) ? named() : streams[0].name);
  showStreams();
  const done = await refreshStream(state.chosen);
  await refreshOthers();
  if (!state.locked) showStreams();
  return done;
}

async function look() {
  const now = { ...(await counters()), at: performance.now() };
  if (state.turn % HEALTH === 0) state.health = (await ask("/healthz")).status;
  const moved = now.batches !== state.counted || state.turn % ANYWAY === 0;
  state.turn += 1;
  state.counted = now.batches;
  if (moved) state.dirty = true;
  if (state.dirty && !state.locked) {
    state.dirty = false;
    try {
      if (!(await refresh())) state.dirty = true;
    } catch (error) {
      state.dirty = true;
      throw error;
    }
  }
  showServer(now);
}

/** How the last look ended, at the head of the page. */
function tellState(error) {
  const good = !error;
  byId("light").className = `light ${good ? "ok" : "bad"}`;
  write(byId("state"), good ? "server ok" : "server in trouble");
  if (good) write(byId("updated"), state.locked ? "" : `updated ${time()}`);
  write(byId("say"), good ? "" : `${error.message}. What is shown is from before.`);
}

let timer, busy = false, again = false;

async function poll() {
  clearTimeout(timer);
  if (busy) return void (again = true);
  busy = true;
  try {
    await look();
    tellState();
  } catch (error) {
    if (error.status === 401) {
      lock(pass.get() ? "The server does not know this token, or it was revoked." : "");
      tellState();
    } else if (error.status === 404) {
      // The stream was deleted between two questions.
      clear();
    } else {
      tellState(error);
    }
  }
  busy = false;
  if (!document.hidden) timer = setTimeout(poll, again ? 0 : EVERY);
  again = false;
}

/** Learns a model and draws it. */
async function learn(question) {
  const { stream } = state, say = byId("model-say"), button = byId("fit").querySelector("button");
  say.className = "";
  say.textContent = `Learning from ${question.words} …`;
  button.disabled = true;
  state.learning = true;
  const start = performance.now();
  try {
    const model = await ask("/v1/fit", question.body, 300);
    if (state.stream?.name !== stream.name) return;
    Object.assign(state, { model, learned: question.rows });
    byId("picture").hidden = false;
    offerAxes(model);
    drawModel(model);
    tellModel(model);
    const source = question.body.private ? "private sketches and local reports, with the noise of their promise" : "exact sums";
    say.textContent = `${count(model.k, "component")} learned from ${question.words}, ${source}, at ${time()} in ${((performance.now() - start) / 1000).toFixed(1)} s.`;
  } catch (error) {
    if (error.status === 401) return void poll();
    say.className = "problem";
    say.textContent = error.message;
  } finally {
    button.disabled = false;
    state.learning = false;
  }
}

/** Learns again if the reader wants that and the rows have changed enough. */
function learnAgain() {
  if (!byId("auto").checked || !state.model || state.learning) return;
  const question = wanted(state.stream, shownOf(state.stream));
  if (question.body && Math.abs(question.rows - state.learned) > CHANGE * state.learned) learn(question);
}

byId("fit").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!state.stream || state.learning) return;
  const question = wanted(state.stream, shownOf(state.stream));
  if (question.body) return void learn(question);
  byId("model-say").className = "problem";
  byId("model-say").textContent = question;
});
["axis-x", "axis-y"].forEach((id) => byId(id).addEventListener("change", () => state.model && drawModel(state.model)));
byId("range").addEventListener("change", () => {
  Object.assign(state, { dirty: true, comparing: null, paces: paces() });
  poll();
});
byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = byId("token").value.trim();
  if (!/^[!-~]{1,500}$/.test(token)) return write(byId("door-problem"), "A token has letters, digits and signs, and no blank.");
  pass.set(token);
  byId("token").value = "";
  write(byId("door-problem"), "");
  Object.assign(state, { locked: false, dirty: true });
  poll();
});
byId("forget").addEventListener("click", () => {
  lock("");
  byId("token").focus();
});
window.addEventListener("hashchange", () => {
  if (!state.streams.some((s) => s.name === named())) return;
  choose(named());
  poll();
});
document.addEventListener("visibilitychange", () => document.hidden || poll());
tips(byId("tip"));
clear();
poll();
