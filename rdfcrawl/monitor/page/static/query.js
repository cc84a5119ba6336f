// The editor of queries. Without it, the plain text area is used.
"use strict";

const area = document.getElementById("q");
const editor = CodeMirror.fromTextArea(area, {
  mode: "application/sparql-query",
  matchBrackets: true,
  lineWrapping: true,
  indentUnit: 2,
  extraKeys: {
    "Ctrl-Enter": () => area.form.requestSubmit(),
    "Cmd-Enter": () => area.form.requestSubmit(),
    // Tab indents; after Esc, it moves the focus.
    Esc: (it) => it.getInputField().blur(),
  },
});
editor.getInputField().setAttribute("aria-label", "Query");
area.required = false; // it is hidden now, and a browser could not point at it

// Follow the crawl: run the query again when statements were added.
const LOOK_MS = 3_000;
const LEAST_MS = 5_000; // between two runs, and at least three times as long as one took
const MOST_RUNS = 300;
const box = document.getElementById("follow");
const note = document.getElementById("follow-note");

function say(text) {
  note.textContent = text;
  note.hidden = false;
}

async function isStored(known) {
  const { n_bytes: size } = await (await fetch(note.dataset.stored)).json();
  return size === known.size ? false : ((known.size = size), true);
}

async function renew() {
  const url = new URL(location.href);
  url.searchParams.delete("page"); // an answer by pages would be the last one
  const answer = await fetch(url, { headers: { Accept: "text/html" } });
  if (answer.status === 503) return false; // busy
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const later = page.getElementById("answered"); // the server has escaped all of it
  if (later) document.getElementById("answered").replaceWith(later);
  if (!answer.ok) throw new Error("refused");
  return true;
}

async function follow() {
  const known = {};
  let pause = LOOK_MS;
  await isStored(known).catch(() => {});
  for (let runs = 0; box.checked && runs < MOST_RUNS; ) {
    say(runs ? note.textContent : "Follows the crawl: no new statements yet.");
    await new Promise((done) => setTimeout(done, pause));
    pause = LOOK_MS;
    try {
      if (document.hidden || !box.checked || !(await isStored(known))) continue;
    } catch {
      continue; // the page may be restarting
    }
    const begun = performance.now();
    runs += 1;
    try {
      if (!(await renew())) {
        known.size = undefined; // try again
        continue;
      }
    } catch {
      break;
    }
    pause = Math.max(LEAST_MS, 3 * (performance.now() - begun));
    const time = new Date().toISOString().slice(11, 19);
    say(`Follows the crawl: the answer is of ${time} UTC.`);
  }
  box.checked = false;
  say("Does not follow the crawl any more.");
}

document.getElementById("follow-choice").hidden = false;
box.addEventListener("change", () => {
  if (box.checked && note.dataset.query) follow();
});
if (box.checked && note.dataset.query) follow();
