// One line over time, in the colours of the page, as wide as its figure.

const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
const short = new Intl.NumberFormat("en-US", { notation: "compact" });
const utc = (parts) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...parts });
const hours = { hour: "2-digit", minute: "2-digit" };
const clock = utc({ ...hours, second: "2-digit" });
const minutes = utc(hours);
const days = utc({ day: "numeric", month: "short" });

/** Return the texts of an axis of times, as exact as their distance wants. */
function timeTexts(splits) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 60;
  const format = step < 60 ? clock : step < 86_400 ? minutes : days;
  return splits.map((secs) => format.format(secs * 1000));
}

/** Return the ends of the axis; a single time stands in its middle. */
function ends(times) {
  const first = times.at(0) ?? Date.now() / 1000;
  const last = times.at(-1) ?? first;
  return first === last ? [first - 300, last + 300] : [first, last];
}

export class LineChart {
  #figure;
  #text;
  #plot = null;
  #columns = [[], []];

  constructor(figure, text) {
    this.#figure = figure;
    this.#text = text;
    dark.addEventListener("change", () => this.#draw());
    new ResizeObserver(() => this.#resize()).observe(this.#place);
  }

  /** Show values at their times (Unix time, in seconds). */
  show(times, values) {
    this.#columns = [times, values];
    if (this.#plot) this.#plot.setData(this.#columns);
    else this.#draw();
  }

  get #place() {
    return this.#figure.querySelector(".plot");
  }

  get #size() {
    return { width: this.#place.clientWidth, height: this.#place.clientHeight };
  }

  #resize() {
    const { width, height } = this.#size;
    if (this.#plot && (width !== this.#plot.width || height !== this.#plot.height)) {
      this.#plot.setSize({ width, height });
    }
  }

  #tell(plot) {
    const i = plot.cursor.idx;
    const [times, values] = this.#columns;
    this.#figure.querySelector(".at").textContent =
      i == null || times[i] == null
        ? ""
        : `${clock.format(times[i] * 1000)} UTC: ${this.#text(values[i])}`;
  }

  #draw() {
    this.#plot?.destroy();
    const axis = { stroke: colour("--soft"), font: "11px system-ui, sans-serif" };
    const grid = { stroke: colour("--line"), width: 1 };
    this.#plot = new uPlot(
      {
        ...this.#size,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, y: false },
        tzDate: (secs) => uPlot.tzDate(new Date(secs * 1000), "Etc/UTC"),
        scales: { x: { range: () => ends(this.#columns[0]) }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
        axes: [
          {
            ...axis, grid, ticks: grid, size: 30, space: 70,
            values: (_, splits) => timeTexts(splits),
          },
          {
            ...axis, grid, ticks: grid, size: 46,
            values: (_, splits) => splits.map((each) => short.format(each)),
          },
        ],
        series: [
          {},
          { stroke: colour("--s0"), width: 1.5, points: { size: 4 }, spanGaps: true },
        ],
        hooks: { setCursor: [(plot) => this.#tell(plot)] },
      },
      this.#columns,
      this.#place,
    );
  }
}
