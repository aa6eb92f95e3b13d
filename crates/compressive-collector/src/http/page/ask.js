// Questions to the server that sent the page, and the token they carry.

/** What the server answered in place of data; status 0 if there was no answer. */
class Refused extends Error {
  constructor(status, problem) {
    super(problem);
    this.status = status;
  }
}

/** The token, which this tab forgets when it is closed. */
const pass = {
  key: "compressive-token",
  get: () => sessionStorage.getItem(pass.key),
  set: (text) => sessionStorage.setItem(pass.key, text),
  forget: () => sessionStorage.removeItem(pass.key),
};

/** Asks, and waits for the whole answer as text; a body is sent as JSON. */
async function asked(path, body, seconds) {
  const headers = {}, token = pass.get();
  if (token && (path.startsWith("/v1/") || path === "/metrics")) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  try {
    const response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers,
      body: body && JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(1000 * seconds),
    });
    return [response, await response.text()];
  } catch (error) {
    throw new Refused(0, error.name === "TimeoutError" ? `no answer within ${seconds} seconds` : "the server cannot be reached");
  }
}

/** The JSON of an answer. */
async function ask(path, body, seconds = 20) {
  const [response, text] = await asked(path, body, seconds);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused(response.status, "the answer is no JSON");
  }
  if (!response.ok) throw new Refused(response.status, value.error || `status ${response.status}`);
  return value;
}

/** The server's counters by name. */
async function counters() {
  const [response, text] = await asked("/metrics", undefined, 10);
  if (!response.ok) throw new Refused(response.status, `status ${response.status}`);
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => {
    const [name, value] = line.split(" ");
    return [name.replace(/^compressive_/, "").replace(/_total$/, ""), Number(value)];
  }));
}

/** Keeps a question from being asked too often: after an answer that took t, not before ten times t have passed. */
class Pace {
  constructor() {
    this.next = 0;
  }

  get due() {
    return performance.now() >= this.next;
  }

  async run(question) {
    const start = performance.now();
    try {
      return await question();
    } finally {
      const end = performance.now();
      this.next = end + 10 * (end - start);
    }
  }
}
