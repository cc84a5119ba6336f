// Poll until the report is finished.
"use strict";

const LOOK_MS = 1500;

async function look() {
  const url = new URL(location.href);
  url.searchParams.set("format", "json");
  try {
    const answer = await fetch(url);
    const { making } = await answer.json();
    if (making === null) {
      location.reload();
      return;
    }
  } catch {
    // The page may be restarting.
  }
  setTimeout(look, LOOK_MS);
}

setTimeout(look, LOOK_MS);
