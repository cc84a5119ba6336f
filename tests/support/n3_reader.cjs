// Reads each file with N3.js, and writes it as N-Quads: file, media type, target.
const fs = require("node:fs");
const N3 = require("n3");

function said(term) {
  if (term.termType === "NamedNode") return `<${term.value}>`;
  if (term.termType === "BlankNode") return `_:${term.value}`;
  if (term.termType === "Quad")
    return `<<( ${said(term.subject)} ${said(term.predicate)} ${said(term.object)} )>>`;
  const text = JSON.stringify(term.value).replace("\x7f", "\\u007f");
  if (!term.language) return `${text}^^<${term.datatype.value}>`;
  return `${text}@${term.language}${term.direction ? "--" + term.direction : ""}`;
}

const words = process.argv.slice(2);
for (let n = 0; n < words.length; n += 3) {
  const parser = new N3.Parser({ format: words[n + 1] });
  const lines = parser.parse(fs.readFileSync(words[n], "utf8")).map((quad) => {
    const graph = quad.graph.termType === "DefaultGraph" ? "" : said(quad.graph);
    return `${said(quad.subject)} ${said(quad.predicate)} ${said(quad.object)} ${graph} .\n`;
  });
  fs.writeFileSync(words[n + 2], lines.join(""));
}
