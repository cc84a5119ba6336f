// The picture of hosts: the server has computed the layout.
"use strict";

const COLOURS = { host: "--s0", domain: "--s2", suffix: "--s1", rest: "--soft" };
const KINDS = {
  host: "host", domain: "registered domain", suffix: "top-level domain", rest: "others",
  linked: "not crawled", elsewhere: "not crawled",
};
const OUTSIDE = ["linked", "elsewhere"];
const frame = document.getElementById("graph");
const note = document.getElementById("chosen");
const count = new Intl.NumberFormat("en");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Two lines if the host has several labels.
function lines(name) {
  const [first, ...rest] = name.split(".");
  const address = /^([\d.]+)(:\d+)?$/.exec(name);
  let parts = first && rest.length > 1 ? [first, rest.join(".")] : [name];
  if (address) parts = address.slice(1).filter(Boolean);
  return parts.map((part) => (part.length > 20 ? `${part.slice(0, 19)}\u2026` : part));
}

// As large as fits in the circle, so labels do not overlap.
function letters({ name, radius }) {
  const longest = Math.max(...lines(name).map((line) => line.length), 4);
  return Math.min(18, (1.6 * radius) / (0.6 * longest));
}

function elements({ nodes, links }) {
  const most = Math.max(1, ...links.map((each) => each.n));
  return [
    ...nodes.map((node, n) => ({
      data: {
        ...node, id: `n${n}`, label: lines(node.name).join("\n"), size: 2 * node.radius,
        letters: letters(node),
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
        "font-size": "data(letters)", "min-zoomed-font-size": 7,
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
    { // too small for its label, mostly at the rim, where there is room
      selector: OUTSIDE.map((kind) => `node[kind = "${kind}"][letters < 10]`).join(", "),
      style: { "text-valign": "bottom", "text-margin-y": 2, "font-size": 11 },
    },
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

async function draw() {
  const here = new URL(location.href);
  const wanted = new URL(here);
  wanted.searchParams.set("format", "json");
  const { picture } = await (await fetch(wanted)).json();
  if (picture.is_drawing) {
    setTimeout(draw, 1500);
    return;
  }
  const graph = cytoscape({
    container: frame,
    elements: elements(picture),
    style: style(),
    layout: { name: "preset", fit: true, padding: 20 },
    autoungrabify: true,
    boxSelectionEnabled: false,
    minZoom: 0.02,
    maxZoom: 12,
    pixelRatio: "auto",
  });
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
}

if (frame) draw();
if (document.getElementById("drawing")) setTimeout(() => location.reload(), 1500);
