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
