// The live view: updates numbers and charts from one stream of events.
import { clock, counted, texts, summary, width } from "./texts.js";
import { LineChart } from "./line_chart.js";

const RECENT_SECS = 900;
const HISTORY_MS = 60_000;
const AGAIN_MS = 10_000;
const AT_REST = ["finished", "stopped", "away"];
const SETTLING_MS = [1_000, 4_000, 15_000]; // until the logs of a crawl are read
const root = document.getElementById("now");
const connection = document.getElementById("connection");
const charts = { recent: [], history: [] };
const columns = { recent: null, history: null };

const at = (value, path) =>
  path.split(".").reduce((found, name) => (found == null ? null : found[name]), value);

function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function cell(row, name, text, isNumber) {
  const node = document.createElement(name);
  if (name === "th") node.scope = "row";
  if (isNumber) node.className = "number";
  node.textContent = text;
  row.append(node);
  return node;
}

/** Show rows of cells in a table; cells that stay the same are not touched. */
function fill(id, rows, none) {
  const body = document.getElementById(id);
  const shape = rows.map((each) => each.length).join();
  const span = body.parentElement.tHead.rows[0].cells.length;
  if (body.dataset.shape !== shape) {
    body.dataset.shape = shape;
    body.replaceChildren(
      ...(rows.length ? rows : [[{ text: none, span }]]).map((cells) => {
        const row = document.createElement("tr");
        cells.forEach((each, i) => {
          const node = cell(row, i || each.span ? "td" : "th", "", each.isNumber);
          if (each.span) node.colSpan = each.span;
          if (each.span) node.textContent = each.text;
          if (each.href) node.append(document.createElement("a"));
        });
        return row;
      }),
    );
  }
  rows.forEach((cells, i) => {
    const row = body.rows[i];
    row.className = cells.isBad ? "bad" : "";
    cells.forEach((each, j) => {
      const link = row.cells[j].firstElementChild;
      if (each.href && link && link.getAttribute("href") !== each.href) {
        link.href = each.href;
      }
      say(each.href ? link : row.cells[j], each.text);
    });
  });
}

const word = (text) => ({ text });
const number = (value, as = "number", more = "") => ({
  text: texts[as](value) + more,
  isNumber: true,
});

function showTables(now) {
  fill(
    "faults",
    now.faults.map(({ reason, n }) => [
      { text: reason, href: `${root.dataset.faults}?reason=${encodeURIComponent(reason)}` },
      number(n),
    ]),
    "none",
  );
  fill(
    "workers",
    now.workers.map((each) => [
      word(each.name),
      word(each.state),
      number(each.silent_secs, "number", " s ago"),
      number(each.documents_per_sec, "rate"),
      number(each.n_hosts),
      number(each.n_documents),
      number(each.n_faults),
      number(each.delay_secs, "duration"),
    ]),
    "none is running",
  );
  fill(
    "followers",
    now.followers.map((each) => {
      const cells = [
        word(each.name),
        word(each.detail ? `${each.state}: ${each.detail}` : each.state),
        number(each.n_behind),
        number(each.secs_behind, "duration"),
        number(each.n_set_aside),
      ];
      cells.isBad = each.is_stuck;
      return cells;
    }),
    "none",
  );
  document.getElementById("more-workers").hidden = !now.n_more_workers;
}

function showReasons(reasons) {
  const list = document.getElementById("reasons");
  const wanted = reasons.length ? reasons : ["nothing"];
  while (list.children.length > wanted.length) list.lastElementChild.remove();
  while (list.children.length < wanted.length) {
    list.append(document.createElement("li"));
  }
  wanted.forEach((text, i) => say(list.children[i], text));
}

function showValues(name, values) {
  for (const node of root.querySelectorAll(`[data-${name}]`)) {
    const value = at(values, node.dataset[name]);
    const as = node.dataset.as;
    if (as || value != null) say(node, as ? texts[as](value) : String(value));
  }
}

/** Show the parts of a state; when a crawl ends, its result takes some seconds. */
function showState(state) {
  const summary = root.querySelector(".summary");
  if (summary.dataset.state === state) return;
  summary.dataset.state = state;
  for (const part of root.querySelectorAll("[data-states]")) {
    part.hidden = !part.dataset.states.split(" ").includes(state);
  }
  if (AT_REST.includes(state)) for (const ms of SETTLING_MS) setTimeout(load, ms);
}

function showMoment(now) {
  showValues("live", now);
  showState(now.state);
  showTables(now);
  showReasons(now.reasons);
  if (!now.why_away) append(now);
}

/** Show texts in the parts of the lines of a list; spare lines are hidden. */
function fillFeed(id, rows) {
  [...document.getElementById(id).children].forEach((line, i) => {
    line.hidden = i >= rows.length;
    if (line.hidden) return;
    const { uri, ...parts } = rows[i];
    for (const [name, { text, isBad }] of Object.entries(parts)) {
      const part = line.querySelector(`.${name}`);
      say(part, text);
      if (isBad !== undefined) part.classList.toggle("bad", isBad);
    }
    if (uri === undefined) return;
    const link = line.querySelector("a");
    say(link.firstElementChild, uri);
    link.href = `${root.dataset.uri}?u=${encodeURIComponent(uri)}`;
  });
}

function showTail({ fetches, faults, log }) {
  fillFeed(
    "fetches",
    fetches.map((each) => ({
      uri: each.uri,
      at: { text: clock(each.ended_ms) },
      outcome: {
        text: String(each.http_status || each.status.toLowerCase()),
        isBad: Boolean(each.reason),
      },
      found: {
        text:
          each.reason ||
          `${counted(each.n_statements, "triple")}, ${counted(each.n_links, "link")}`,
      },
      kind: { text: each.format },
    })),
  );
  fillFeed(
    "latest-faults",
    faults.map((each) => ({
      uri: each.uri,
      at: { text: clock(each.ended_ms) },
      outcome: { text: each.reason },
      found: { text: each.detail },
    })),
  );
  fillFeed(
    "log",
    (log ?? []).map((each) => ({
      at: { text: each.at.slice(11) },
      level: { text: each.level.toLowerCase() },
      text: { text: each.text },
      kind: { text: each.name },
    })),
  );
  document.getElementById("no-log").hidden = log !== null;
  document.getElementById("no-fetches").hidden = fetches.length > 0;
  document.getElementById("no-faults").hidden = faults.length > 0;
}

function append(now) {
  const recent = columns.recent;
  if (!recent) return;
  const last = recent.at_secs.at(-1) ?? 0;
  if (now.taken_secs < last) {
    for (const name of Object.keys(recent)) recent[name].length = 0;
  } else if (now.taken_secs - last < 0.5) return;
  const row = {
    at_secs: now.taken_secs,
    documents_per_sec: now.rates.documents,
    statements_per_sec: now.rates.statements,
    bytes_per_sec: now.rates.n_bytes,
    n_left: now.counts.queued + now.counts.leased + now.counts.waiting,
    n_hosts_at_work: now.n_leases,
  };
  for (const [name, value] of Object.entries(row)) recent[name].push(value);
  while (now.taken_secs - recent.at_secs[0] > RECENT_SECS) {
    for (const name of Object.keys(row)) recent[name].shift();
  }
  draw("recent");
}

function draw(group) {
  for (const { chart, figure } of charts[group]) {
    const values = columns[group][figure.dataset.column];
    chart.show(columns[group].at_secs, values);
    say(figure.querySelector("[data-summary]"), summary(values, figure.dataset.as));
  }
}

async function load() {
  let view;
  try {
    const answer = await fetch(root.dataset.json);
    if (!answer.ok) return;
    view = await answer.json();
  } catch {
    return; // the stream reports that the server is away
  }
  if (view.result && root.querySelector("[data-result]")) {
    showValues("result", view.result);
  } else if (view.result && AT_REST.includes(view.moment.state)) {
    location.reload(); // the page was opened before anything was fetched
    return;
  }
  columns.history = view.history;
  columns.recent = view.recent;
  say(document.getElementById("width"), width(view.history.secs));
  draw("recent");
  draw("history");
}

function listen() {
  const events = new EventSource(root.dataset.events);
  events.onopen = () => {
    say(connection, "Live: renewed every second.");
    connection.classList.remove("bad");
    load();
  };
  events.addEventListener("tail", (event) => showTail(JSON.parse(event.data)));
  events.onmessage = (event) => showMoment(JSON.parse(event.data));
  events.onerror = () => {
    say(connection, "The connection to the page's server is lost; reconnecting.");
    connection.classList.add("bad");
    // After a response that is not an event stream, browsers do not reconnect.
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS);
  };
}

for (const figure of root.querySelectorAll("figure.chart")) {
  const chart = new LineChart(figure, texts[figure.dataset.as]);
  charts[figure.dataset.group].push({ chart, figure });
}
await load();
listen();
setInterval(load, HISTORY_MS);
