// Reads a dump with N3.js, and writes its statements: FILE FORMAT.
const fs = require("node:fs");
const N3 = require("n3");

const [path, format] = process.argv.slice(2);
const output = format === "N-Quads" ? "N-Quads" : "N-Triples";
fs.createReadStream(path)
  .pipe(new N3.StreamParser({ format }))
  .pipe(new N3.StreamWriter({ format: output }))
  .pipe(process.stdout);
