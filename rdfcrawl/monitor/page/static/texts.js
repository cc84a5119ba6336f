// Format values as in `rdfcrawl/monitor/page/texts.py`.

const NONE = "-";
const withCommas = (value, digits) =>
  value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });

function number(value) {
  if (value == null) return NONE;
  return withCommas(value, Number.isInteger(value) ? 0 : 2);
}

function rate(value) {
  if (value == null) return NONE;
  return withCommas(value, value < 100 ? 1 : 0);
}

function bytes(value) {
  if (value == null) return NONE;
  if (value < 1000) return `${withCommas(value, 0)} B`;
  for (const unit of ["kB", "MB", "GB"]) {
    value /= 1000;
    if (value < 1000) return `${withCommas(value, 1)} ${unit}`;
  }
  return `${withCommas(value / 1000, 1)} TB`;
}

function duration(secs) {
  if (secs == null) return NONE;
  if (secs < 60) return `${withCommas(secs, secs < 10 ? 1 : 0)} s`;
  const units = [["min", 60, "s", 1], ["h", 3600, "min", 60], ["d", 86400, "h", 3600]];
  const [unit, size, smaller, part] =
    units.find(([name, of]) => secs < of * (name === "h" ? 24 : 60)) ?? units[2];
  const rest = Math.floor((secs % size) / part);
  return `${withCommas(Math.floor(secs / size), 0)} ${unit} ${rest} ${smaller}`;
}

/** Return the time of day of a Unix time, in UTC. */
export const clock = (ms) => new Date(ms).toISOString().slice(11, 19);

/** Return a number with its noun. */
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Return how long one point of a line is. */
export function width(secs) {
  return secs < 60 ? `${withCommas(secs, 0)} s` : `${withCommas(secs / 60, 0)} min`;
}

export const texts = { number, rate, bytes, duration };

/** Return in a sentence what a line shows; what is not known counts for nothing. */
export function summary(all, as) {
  const values = all.filter((each) => each != null);
  if (!values.length) return "No data yet.";
  const text = texts[as];
  const most = values.reduce((a, b) => Math.max(a, b));
  const least = values.reduce((a, b) => Math.min(a, b));
  return `Last ${text(values.at(-1))}; between ${text(least)} and ${text(most)}.`;
}
