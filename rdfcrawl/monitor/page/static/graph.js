// The picture of hosts: the server has computed the layout.
"use strict";

const COLOURS = {
  host: "--s0", domain: "--s2", vocabulary: "--s2", suffix: "--s1", rest: "--soft",
};
const KINDS = {
  host: "host", domain: "registered domain", suffix: "top-level domain", rest: "others",
  vocabulary: "vocabulary", linked: "not crawled", elsewhere: "not crawled",
};
const OUTSIDE = ["linked", "elsewhere"];
const SIDES = {
  below: { "text-valign": "bottom" }, above: { "text-valign": "top" },
  right: { "text-halign": "right" }, left: { "text-halign": "left" }, over: {},
};
const LEAST_OVER = 12; // pixels of the radius of a circle that its name may cross
const LEAST_INSIDE = 9.5; // pixels of letters within a circle
const MOST_INSIDE = 18;
const OUTER = 11; // pixels of letters below or above a circle
const WIDTH = 0.6; // of a letter, by its height
const HEIGHT = 1.2; // of a line, likewise
const DRAWING_MS = 1_500;
const EMPTY_MS = 10_000;
const RENEWED_MS = 30_000;
const frame = document.getElementById("graph");
const note = document.getElementById("chosen");
const count = new Intl.NumberFormat("en");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Two lines if the host has several labels, or the vocabulary a path.
function lines({ name, kind }) {
  const [first, ...rest] = name.split(".");
  const address = /^([\d.]+)(:\d+)?$/.exec(name);
  const space = kind === "vocabulary" && /^[a-z]+:\/\/([^/]+)(\/.*?)[/#]*$/.exec(name);
  let parts = first && rest.length > 1 ? [first, rest.join(".")] : [name];
  if (address) parts = address.slice(1).filter(Boolean);
  if (space) parts = space.slice(1);
  return parts.map((part) => (part.length > 22 ? `${part.slice(0, 21)}\u2026` : part));
}

function elements({ nodes, links }) {
  const most = Math.max(1, ...links.map((each) => each.n));
  return [
    ...nodes.map((node, n) => ({
      data: {
        ...node, id: `n${n}`, size: 2 * node.radius, letters: 1, outline: 0, label: "",
        lines: lines(node),
      },
      position: { x: node.x, y: node.y },
    })),
    ...links.map((link) => ({
      data: {
        id: `l${link.source}-${link.target}`, source: `n${link.source}`,
        target: `n${link.target}`,
        width: 0.6 + 7 * (Math.log1p(link.n) / Math.log1p(most)) ** 2,
        opacity: 0.15 + 0.35 * (Math.log1p(link.n) / Math.log1p(most)) ** 2,
      },
    })),
  ];
}

function style() {
  return [
    {
      selector: "node",
      style: {
        width: "data(size)", height: "data(size)", label: "data(label)",
        "font-size": "data(letters)",
        "text-wrap": "wrap", "text-valign": "center", "text-halign": "center",
        color: colour("--page"), "background-color": colour("--s0"),
        "border-width": 1, "border-color": colour("--panel"),
        "font-family": "system-ui, sans-serif", "font-weight": 600,
      },
    },
    ...Object.entries(COLOURS).map(([kind, name]) => ({
      selector: `node[kind = "${kind}"]`,
      style: { "background-color": colour(name) },
    })),
    ...OUTSIDE.map((kind) => ({
      selector: `node[kind = "${kind}"]`,
      style: {
        "background-color": colour("--panel"), color: colour("--text"),
        "border-width": 2, "border-style": "dashed", "border-color": colour("--soft"),
      },
    })),
    ...Object.entries(SIDES).map(([side, align]) => ({
      selector: `node.${side}`,
      style: {
        ...align, color: colour("--text"), "font-weight": 400,
        "text-outline-color": colour("--panel"), "text-outline-opacity": 0.8,
        "text-outline-width": "data(outline)",
      },
    })),
    {
      selector: "edge",
      style: {
        width: "data(width)", "line-color": colour("--soft"), opacity: "data(opacity)",
        "curve-style": "haystack",
      },
    },
    { selector: ".far", style: { opacity: 0.12 } },
    { selector: "edge.near", style: { opacity: 0.9, "line-color": colour("--text") } },
  ];
}

const counted = (n, noun) => `${count.format(n)} ${noun}${n === 1 ? "" : "s"}`;

function say(node) {
  const { name, kind, n_hosts: hosts, n_documents: documents, n_links: links } = node;
  const group = hosts > 1 ? `, ${counted(hosts, "host")}` : "";
  const had = OUTSIDE.includes(kind) ? "" : ` ${counted(documents, "document")},`;
  note.textContent =
    `${name} (${KINDS[kind]}${group}):${had}` +
    ` ${counted(links, "link")} from and to the others here.`;
}

const touch = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function boxOf({ radius }, { x, y }, zoom) {
  const size = radius * zoom;
  return {
    left: zoom * x - size, right: zoom * x + size,
    top: zoom * y - size, bottom: zoom * y + size,
  };
}

/** Return how a circle may have its name: within it, else at a side, else across. */
function places({ lines: parts, radius }, circle, zoom) {
  const longest = Math.max(...parts.map((part) => part.length), 4);
  const inside = Math.min(MOST_INSIDE, (1.6 * radius * zoom) / (WIDTH * longest));
  if (inside >= LEAST_INSIDE) return [{ place: "inside", letters: inside }];
  const width = OUTER * WIDTH * longest;
  const height = OUTER * HEIGHT * parts.length;
  const { left, right, top, bottom } = circle;
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  const row = { left: x - width / 2, right: x + width / 2 };
  const column = { top: y - height / 2, bottom: y + height / 2 };
  const boxes = {
    below: { ...row, top: bottom, bottom: bottom + height },
    above: { ...row, top: top - height, bottom: top },
    right: { ...column, left: right, right: right + width },
    left: { ...column, left: left - width, right: left },
  };
  if (radius * zoom >= LEAST_OVER) boxes.over = { ...row, ...column };
  return Object.entries(boxes).map(([place, box]) => ({ place, letters: OUTER, box }));
}

/** Name all circles whose names have room, the largest first; zooming makes room. */
function showNames(graph) {
  const zoom = graph.zoom();
  const nodes = graph.nodes().sort((a, b) => b.data("radius") - a.data("radius"));
  const circles = nodes.map((node) => boxOf(node.data(), node.position(), zoom));
  const names = [];
  graph.batch(() => {
    nodes.forEach((node, i) => {
      const isFree = ({ place, box }) =>
        !box ||
        (!names.some((each) => touch(each, box)) &&
          (place === "over" || !circles.some((each, j) => j !== i && touch(each, box))));
      const found = places(node.data(), circles[i], zoom).find(isFree);
      node.removeClass(Object.keys(SIDES).join(" "));
      node.data("label", found ? node.data("lines").join("\n") : "");
      if (!found) return;
      node.data("letters", found.letters / zoom);
      if (!found.box) return;
      names.push(found.box);
      node.data("outline", 2 / zoom);
      node.addClass(found.place);
    });
  });
}

async function read(format) {
  const wanted = new URL(location.href);
  wanted.searchParams.set("format", format);
  const answer = await fetch(wanted);
  return format === "json" ? (await answer.json()).picture : answer.text();
}

/** Show the table of a later picture; the server has escaped all of it. */
async function renewTable() {
  const page = new DOMParser().parseFromString(await read("html"), "text/html");
  for (const id of ["about", "as-table"]) {
    const later = page.getElementById(id);
    if (later) document.getElementById(id).replaceWith(later);
  }
}

function show(graph, picture) {
  graph.elements().remove();
  graph.add(elements(picture));
  showNames(graph);
  frame.dataset.nodes = String(graph.nodes().length);
}

async function draw() {
  let picture = await read("json");
  const here = new URL(location.href);
  const graph = cytoscape({
    container: frame,
    elements: elements(picture),
    style: style(),
    layout: { name: "preset", fit: true, padding: 30 },
    autoungrabify: true,
    boxSelectionEnabled: false,
    minZoom: 0.02,
    maxZoom: 12,
    pixelRatio: "auto",
  });
  let isNaming = false;
  graph.on("zoom resize", () => {
    if (isNaming) return;
    isNaming = true;
    requestAnimationFrame(() => {
      isNaming = false;
      showNames(graph);
    });
  });
  showNames(graph);
  graph.on("mouseover tapstart", "node", ({ target }) => {
    say(target.data());
    const near = target.closedNeighborhood();
    graph.batch(() => {
      graph.elements().not(near).addClass("far");
      near.edges().addClass("near");
    });
  });
  graph.on("mouseout tapend", "node", () => {
    graph.elements().removeClass("far near");
  });
  graph.on("tap", "node", ({ target }) => {
    const { kind, name } = target.data();
    if (kind === "rest" || kind === "elsewhere") return;
    const next = new URL(here.pathname, here);
    next.searchParams.set(kind, name);
    for (const word of ["nodes", "outside"]) {
      const value = here.searchParams.get(word);
      if (value) next.searchParams.set(word, value);
    }
    if (next.href !== here.href) location.assign(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    graph.style(style());
  });
  frame.dataset.nodes = String(graph.nodes().length);
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const later = await read("json");
      if (!later.nodes.length || JSON.stringify(later) === JSON.stringify(picture)) return;
      picture = later;
      show(graph, picture);
      await renewTable();
    } catch {
      // The page may be restarting.
    }
  }, RENEWED_MS);
}

/** Wait for the first picture. */
function wait() {
  const pause = document.getElementById("drawing") ? DRAWING_MS : EMPTY_MS;
  setTimeout(async () => {
    try {
      const { nodes, is_drawing: isDrawing } = await read("json");
      if (nodes.length || (!isDrawing && pause === DRAWING_MS)) {
        location.reload();
        return;
      }
    } catch {
      // The page may be restarting.
    }
    wait();
  }, pause);
}

if (frame) draw();
else wait();
