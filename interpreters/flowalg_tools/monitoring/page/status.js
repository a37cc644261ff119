// Shows the queries of status.json. All data are set as text, so no part of them is read as HTML.
"use strict";

const EVERY = 2000; // milliseconds between two answers
const KEPT = 150; // lags in a curve

const sections = new Map(); // the elements of each query, by its name
const lags = new Map(); // the last lags of each stage

function make(tag, text, name) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (name) node.className = name;
  return node;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (Math.abs(seconds) < 10) return `${seconds.toFixed(2)} s`;
  if (Math.abs(seconds) < 120) return `${seconds.toFixed(0)} s`;
  const minutes = seconds / 60;
  return Math.abs(minutes) < 120 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`;
}

function size(bytes) {
  for (const unit of ["B", "kB", "MB"]) {
    if (bytes < 1000) return `${bytes.toFixed(0)} ${unit}`;
    bytes /= 1000;
  }
  return `${bytes.toFixed(1)} GB`;
}

// A table of rows; a column has a title, a function of a row to a text or an element, and whether it is a number.
function table(columns, rows) {
  const head = make("tr");
  for (const [title, , number] of columns) {
    const cell = make("th", title, number ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    for (const [title, value, number] of columns) {
      const found = value(row);
      const cell = make("td", undefined, number ? "number" : "");
      cell.dataset.label = title;
      cell.append(found instanceof Node ? found : make("span", found));
      line.append(cell);
    }
    body.append(line);
  }
  const thead = make("thead");
  thead.append(head);
  const whole = make("table");
  whole.append(thead, body);
  const scroll = make("div", undefined, "scroll");
  scroll.append(whole);
  return scroll;
}

const some = (value) => make("span", count(value), value > 0 ? "some" : "");

// The lags since this page was opened, as a curve from zero to the greatest.
function curve(values) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", `0 0 ${KEPT} 20`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", "the lag since this page was opened");
  const most = Math.max(...values, 1e-9);
  const line = document.createElementNS(space, "polyline");
  const first = KEPT - values.length;
  line.setAttribute("points", values.map((lag, i) => `${first + i},${19 - 18 * Math.max(lag, 0) / most}`).join(" "));
  picture.append(line);
  return picture;
}

function remember(query, stage) {
  const name = JSON.stringify([query.query, stage.number]);
  const values = lags.get(name) ?? [];
  if (stage.lag !== null) values.push(stage.lag);
  lags.set(name, values.slice(-KEPT));
  return lags.get(name);
}

const STAGES = (query) => [
  ["stage", (s) => s.stage],
  ["watermark (UTC)", (s) => s.watermark],
  ["lag", (s) => duration(s.lag), true],
  ["lag so far", (s) => curve(remember(query, s))],
  ["open windows", (s) => count(s.open_windows), true],
  ["state", (s) => size(s.state_bytes), true],
  ["early", (s) => count(s.early), true],
  ["on time", (s) => count(s.on_time), true],
  ["late", (s) => count(s.late), true],
  ["retracted", (s) => count(s.retraction), true],
  ["dropped", (s) => some(s.dropped), true],
  ["step", (s) => duration(s.seconds), true],
];

const SOURCES = [
  ["source", (s) => s.source],
  ["elements", (s) => count(s.elements), true],
  ["watermark (UTC)", (s) => s.watermark],
  ["lag", (s) => duration(s.lag), true],
  ["waits for", (s) => (s.idle ? "idle" : s.awaited.length ? `partitions ${s.awaited.join(", ")}` : "–")],
];

function facts(query) {
  const list = make("dl");
  const pairs = [
    ["micro-batches", count(query.batches)],
    ["elements", count(query.elements)],
    ["elements per second", count(query.rate)],
    ["last micro-batch took", duration(query.seconds)],
    ["bad records", some(query.bad_records)],
    ["processing time (UTC)", query.processing_time ?? "–"],
    ["last event (UTC)", query.updated],
  ];
  for (const [title, value] of pairs) {
    const pair = make("div");
    const described = make("dd");
    described.append(value instanceof Node ? value : make("span", value));
    pair.append(make("dt", title), described);
    list.append(pair);
  }
  return list;
}

// A section has parts that are replaced by each answer, and lists of windows that stay as the reader opened them.
function sectionOf(query) {
  if (!sections.has(query.query)) {
    const root = make("section", undefined, "query");
    const parts = { root, head: make("div"), stages: make("div"), lists: make("div"), sources: make("div"), open: new Map() };
    root.append(parts.head, parts.stages, parts.lists, parts.sources);
    sections.set(query.query, parts);
    document.getElementById("queries").append(root);
  }
  return sections.get(query.query);
}

function show(query) {
  const parts = sectionOf(query);
  const title = make("h2", query.query);
  title.append(make("span", query.state, `state ${query.state}`));
  parts.head.replaceChildren(title, facts(query));
  if (query.error) parts.head.append(make("p", query.error, "error"));
  const stages = query.stages;
  parts.stages.replaceChildren(...(stages.length ? [make("h3", "Stages"), table(STAGES(query), stages)] : []));
  if (stages.length && !parts.open.size) parts.lists.append(make("h3", "What open windows wait for"));
  for (const stage of stages) showWindows(query, stage, parts);
  const sources = query.sources;
  parts.sources.replaceChildren(...(sources.length ? [make("h3", "Sources"), table(SOURCES, sources)] : []));
}

function showWindows(query, stage, parts) {
  if (!parts.open.has(stage.number)) {
    const list = { root: make("details"), title: make("summary"), why: make("p", "", "why"), rows: make("div") };
    list.root.append(list.title, list.why, list.rows);
    list.root.open = location.hash === "#windows";
    list.root.addEventListener("toggle", () => list.root.open && list.read());
    parts.open.set(stage.number, list);
    parts.lists.append(list.root);
  }
  const list = parts.open.get(stage.number);
  list.title.textContent = `${stage.stage}: ${count(stage.open_windows)} open`;
  list.why.textContent = stage.why;
  list.read = () => readWindows(query, stage, list);
  if (list.root.open) list.read();
}

async function readWindows(query, stage, list) {
  if (!query.windows) {
    list.rows.replaceChildren(make("p", "The windows themselves are not shown: serve(..., windows=...) has no reader of this query."));
    return;
  }
  try {
    const found = await answer(`windows.json?${new URLSearchParams({ query: query.query, stage: stage.number })}`);
    const names = found.rows.length ? Object.keys(found.rows[0]) : [];
    const shown = make("p", `${count(found.total)} in the checkpoint; the first ${count(found.rows.length)} that are due:`);
    list.rows.replaceChildren(shown, table(names.map((name) => [name, (row) => row[name]]), found.rows));
  } catch (error) {
    list.rows.replaceChildren(make("p", error.message, "error"));
  }
}

async function answer(path) {
  const response = await fetch(path, { cache: "no-store" });
  const value = await response.json();
  if (!response.ok) throw new Error(value.error);
  return value;
}

async function poll() {
  const clock = document.getElementById("clock");
  try {
    const status = await answer("status.json");
    clock.textContent = status.queries.length ? `As of ${status.time} UTC.` : `No query has started by ${status.time} UTC.`;
    clock.className = "";
    status.queries.forEach(show);
  } catch (error) {
    if (clock.className !== "lost") clock.textContent += ` No answer since then: ${error.message}.`;
    clock.className = "lost";
  }
  setTimeout(poll, EVERY);
}

poll();
