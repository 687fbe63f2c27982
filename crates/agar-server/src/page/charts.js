// Small charts, drawn as SVG in the width there is. Each has a name and a sentence for those who do
// not see it, and the same numbers as a table for everybody.

import { h } from "/assets/dom.js";

/** @typedef {{ name: string, tone: string, dash?: boolean, values: (number | null)[] }} Series */
/** @typedef {{ head: string[], rows: (string | number)[][] }} Table */

let numbers = 0;

/**
 * An element of a drawing.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(string | Node)} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * A drawing with its name and its sentence.
 * @param {number} width
 * @param {number} height
 * @param {{ name: string, says: string }} told
 */
function canvas(width, height, { name, says }) {
  const id = `chart-${++numbers}`;
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "chart",
    "aria-labelledby": `${id}-name ${id}-says` },
  s("title", { id: `${id}-name` }, name), s("desc", { id: `${id}-says` }, says));
}

/**
 * A chart that is drawn again when its width changes, with its legend and its table.
 * @param {{ name: string, says: string, legend?: { name: string, tone: string, dash?: boolean, area?: boolean }[], table: Table, draw: (width: number) => SVGElement }} chart
 */
export function figure({ name, says, legend = [], table, draw }) {
  const stage = h("div", { className: "stage" });
  let drawn = 0;
  const watch = new ResizeObserver(() => {
    const width = Math.floor(stage.clientWidth);
    if (width < 40 || width === drawn) return;
    drawn = width;
    stage.replaceChildren(draw(width));
  });
  watch.observe(stage);
  return h("figure", { className: "figure" },
    h("figcaption", {}, h("h3", {}, name), h("p", { className: "quiet" }, says)),
    legend.length === 0 ? null : h("ul", { className: "legend" }, ...legend.map(({ name: word, tone, dash, area }) =>
      h("li", { className: `tone-${tone}` }, key({ dash, area }), word))),
    stage,
    h("details", { className: "numbers" }, h("summary", {}, "Show the numbers"), tabled(name, table)));
}

/** @param {{ dash?: boolean, area?: boolean }} how */
function key({ dash, area }) {
  return s("svg", { width: 18, height: 10, class: "key", "aria-hidden": "true" },
    area ? s("rect", { x: 1, y: 1, width: 16, height: 8, rx: 2, class: "swatch" }) : s("line", { x1: 1, x2: 17, y1: 5, y2: 5, class: dash ? "line dash" : "line" }));
}

/**
 * @param {string} name
 * @param {Table} table
 */
function tabled(name, { head, rows }) {
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${name}, as a table` },
    h("table", {},
      h("thead", {}, h("tr", {}, ...head.map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, ...rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, String(first)),
        ...rest.map((cell) => h("td", {}, String(cell))))))));
}

const left = 40;
const right = 10;
const top = 10;
const bottom = 26;

/**
 * Whole steps for an axis, at most five.
 * @param {number} low
 * @param {number} high
 */
export function ticks(low, high) {
  const span = high - low || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((it) => it * power >= rough) ?? 10);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/**
 * Lines over the steps of an axis, and bands between two of them.
 * @param {{
 *   name: string, says: string, steps: string[], series: Series[],
 *   bands?: { name: string, tone: string, low: (number | null)[], high: (number | null)[] }[],
 *   low?: number, high?: number, say?: (value: number) => string, of?: string,
 * }} chart
 */
export function lines({ name, says, steps, series, bands = [], low, high, say = String, of = "" }) {
  const all = [...series.flatMap((it) => it.values), ...bands.flatMap((it) => [...it.low, ...it.high])]
    .filter((value) => value !== null);
  const floor = low ?? Math.min(...all, 0);
  const ceiling = Math.max(high ?? Math.max(...all, floor + 1), floor + 1e-9);
  const draw = (/** @type {number} */ width) => {
    const height = Math.round(Math.min(260, Math.max(170, width * 0.4)));
    const x = (/** @type {number} */ at) => left + (width - left - right) * (steps.length < 2 ? 0.5 : at / (steps.length - 1));
    const y = (/** @type {number} */ value) => height - bottom - (height - top - bottom) * (value - floor) / (ceiling - floor);
    const svg = canvas(width, height, { name, says });
    grid(svg, { width, height, y, marks: ticks(floor, ceiling), say });
    along(svg, { width, height, x, steps });
    for (const band of bands) {
      const known = steps.map((_, at) => at).filter((at) => band.low[at] !== null && band.high[at] !== null);
      if (known.length < 2) continue;
      const there = known.map((at) => `${x(at).toFixed(1)},${y(/** @type {number} */ (band.high[at])).toFixed(1)}`);
      const back = known.reverse().map((at) => `${x(at).toFixed(1)},${y(/** @type {number} */ (band.low[at])).toFixed(1)}`);
      svg.append(s("polygon", { points: [...there, ...back].join(" "), class: `band tone-${band.tone}` }));
    }
    for (const { values, tone, dash, name: word } of series) {
      const points = values.flatMap((value, at) => value === null ? [] : [[x(at), y(value)]]);
      const path = points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
      svg.append(s("polyline", { points: path, class: `line tone-${tone}${dash ? " dash" : ""}` }));
      const last = points.at(-1);
      if (last) svg.append(s("circle", { cx: last[0], cy: last[1], r: 3, class: `dot tone-${tone}` }, s("title", {}, word)));
    }
    return svg;
  };
  const shown = (/** @type {number | null} */ value) => value === null ? "–" : say(value);
  return figure({ name, says, draw,
    legend: [...series, ...bands.map(({ name: word, tone }) => ({ name: word, tone, area: true }))],
    table: {
      head: [of, ...series.map((it) => it.name), ...bands.map((it) => it.name)],
      rows: steps.map((step, at) => [step, ...series.map((it) => shown(it.values[at])),
        ...bands.map((it) => `${shown(it.low[at])} to ${shown(it.high[at])}`)]),
    } });
}

/**
 * Bars that stand on each other, one pile a step.
 * @param {{ name: string, says: string, steps: string[], series: Series[], of?: string }} chart
 */
export function piles({ name, says, steps, series, of = "" }) {
  const sums = steps.map((_, at) => series.reduce((sum, it) => sum + (it.values[at] ?? 0), 0));
  const ceiling = Math.max(...sums, 1);
  const draw = (/** @type {number} */ width) => {
    const height = Math.round(Math.min(220, Math.max(160, width * 0.35)));
    const each = (width - left - right) / steps.length;
    const x = (/** @type {number} */ at) => left + each * (at + 0.5);
    const y = (/** @type {number} */ value) => height - bottom - (height - top - bottom) * value / ceiling;
    const svg = canvas(width, height, { name, says });
    grid(svg, { width, height, y, marks: ticks(0, ceiling).filter(Number.isInteger), say: String });
    along(svg, { width, height, x, steps });
    steps.forEach((step, at) => {
      let below = 0;
      for (const { name: word, tone, values } of series) {
        const value = values[at] ?? 0;
        if (value === 0) continue;
        svg.append(s("rect", { x: x(at) - Math.max(1, each * 0.36), width: Math.max(2, each * 0.72), rx: Math.min(2, each / 8),
          y: y(below + value), height: Math.max(1, y(below) - y(below + value) - 1), class: `bar tone-${tone}` },
        s("title", {}, `${step}: ${value} ${word}`)));
        below += value;
      }
    });
    return svg;
  };
  return figure({ name, says, draw, legend: series.map(({ name: word, tone }) => ({ name: word, tone, area: true })),
    table: { head: [of, ...series.map((it) => it.name)], rows: steps.map((step, at) => [step, ...series.map((it) => it.values[at] ?? 0)]) } });
}

/**
 * @param {SVGElement} svg
 * @param {{ width: number, height: number, y: (value: number) => number, marks: number[], say: (value: number) => string }} grid
 */
function grid(svg, { width, y, marks, say }) {
  for (const mark of marks) {
    svg.append(s("line", { x1: left, x2: width - right, y1: y(mark), y2: y(mark), class: "grid" }),
      s("text", { x: left - 6, y: y(mark) + 4, class: "mark end" }, say(mark)));
  }
}

/**
 * @param {SVGElement} svg
 * @param {{ width: number, height: number, x: (at: number) => number, steps: string[] }} axis
 */
function along(svg, { width, height, x, steps }) {
  const room = Math.max(2, Math.floor((width - left - right) / 64));
  const every = Math.max(1, Math.ceil((steps.length - 1) / (room - 1)));
  steps.forEach((step, at) => {
    if ((steps.length - 1 - at) % every !== 0) return;
    const side = at === steps.length - 1 ? "end" : x(at) < left + 12 ? "start" : "middle";
    svg.append(s("text", { x: side === "end" ? width - right : x(at), y: height - 8, class: `mark ${side}` }, step));
  });
}

/**
 * What was said against what came, with how far chance alone could have moved each.
 * @param {{ name: string, says: string, cells: { said: number, came: number, count: number, from: number, to: number }[] }} chart
 */
export function reliability({ name, says, cells }) {
  const known = cells.filter((cell) => cell.count > 0);
  const most = Math.max(...known.map((cell) => cell.count), 1);
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;
  const draw = (/** @type {number} */ width) => {
    const side = Math.min(width, 340);
    const edge = side - left - right;
    const height = top + edge + bottom + 14;
    const x = (/** @type {number} */ share) => left + edge * share;
    const y = (/** @type {number} */ share) => top + edge * (1 - share);
    const svg = canvas(side, height, { name, says });
    for (const mark of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(s("line", { x1: x(0), x2: x(1), y1: y(mark), y2: y(mark), class: "grid" }),
        s("text", { x: x(0) - 6, y: y(mark) + 4, class: "mark end" }, percent(mark)),
        s("text", { x: x(mark), y: y(0) + 16, class: `mark ${mark === 1 ? "end" : "middle"}` }, percent(mark)));
    }
    svg.append(s("text", { x: x(0.5), y: height - 4, class: "mark middle" }, "what was said"),
      s("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "line dash tone-quiet" }));
    for (const cell of known) {
      const [low, high] = wilson(cell.came * cell.count, cell.count);
      svg.append(s("line", { x1: x(cell.said), x2: x(cell.said), y1: y(low), y2: y(high), class: "whisker tone-accent" }),
        s("circle", { cx: x(cell.said), cy: y(cell.came), r: 3 + 5 * Math.sqrt(cell.count / most), class: "dot tone-accent" },
          s("title", {}, `said ${percent(cell.said)}, came ${percent(cell.came)}, ${cell.count} times`)));
    }
    return svg;
  };
  return figure({ name, says, draw,
    legend: [{ name: "came true, with a 90 % interval", tone: "accent" }, { name: "as said", tone: "quiet", dash: true }],
    table: { head: ["said", "came true", "interval", "predictions"], rows: known.map((cell) => {
      const [low, high] = wilson(cell.came * cell.count, cell.count);
      return [percent(cell.said), percent(cell.came), `${percent(low)} to ${percent(high)}`, cell.count];
    }) } });
}

/**
 * How far a share can be from what was counted, nine times of ten (Wilson).
 * @param {number} hits
 * @param {number} of
 * @returns {[number, number]}
 */
export function wilson(hits, of) {
  const z = 1.645;
  const share = hits / of;
  const middle = (share + z * z / (2 * of)) / (1 + z * z / of);
  const reach = z * Math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of);
  return [Math.max(0, middle - reach), Math.min(1, middle + reach)];
}

/**
 * A share and its interval, in one line.
 * @param {{ low: number, value: number, high: number, tone: string, name: string }} share
 */
export function interval({ low, value, high, tone, name }) {
  const x = (/** @type {number} */ share) => 4 + 112 * Math.min(1, Math.max(0, share));
  return s("svg", { viewBox: "0 0 120 14", width: 120, height: 14, role: "img", class: "interval", "aria-label": name },
    s("line", { x1: 4, x2: 116, y1: 7, y2: 7, class: "track" }),
    s("line", { x1: x(low), x2: x(high), y1: 7, y2: 7, class: `reach tone-${tone}` }),
    s("circle", { cx: x(value), cy: 7, r: 4, class: `dot tone-${tone}` }));
}

/**
 * A course of numbers the size of a word.
 * @param {{ values: number[], high?: number, name: string, tone?: string }} course
 */
export function sparkline({ values, high = Math.max(...values, 1), name, tone = "accent" }) {
  const width = 72;
  const height = 22;
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "spark", "aria-label": name });
  svg.append(s("line", { x1: 0, x2: width, y1: height - 1, y2: height - 1, class: "track" }));
  if (values.length === 0) return svg;
  const shown = values.length === 1 ? [values[0], values[0]] : values;
  const points = shown.map((value, at) =>
    `${(width * at / (shown.length - 1)).toFixed(1)},${(height - 2 - (height - 4) * Math.min(1, value / (high || 1))).toFixed(1)}`);
  svg.append(s("polygon", { points: [`0,${height}`, ...points, `${width},${height}`].join(" "), class: `band tone-${tone}` }),
    s("polyline", { points: points.join(" "), class: `line thin tone-${tone}` }));
  return svg;
}

/**
 * Who came from whom: generations from left to right, parents to the left of their children.
 * @param {{ name: string, says: string, people: { id: number, generation: number, parents: number[], operator: string, score: number | null }[], of: number, say: (value: number | null) => string }} family
 */
export function descent({ name, says, people, of, say }) {
  const generations = [...new Set(people.map((it) => it.generation))].sort((a, b) => a - b);
  const columns = generations.map((generation) => people.filter((it) => it.generation === generation));
  const wide = 112;
  const high = 40;
  const tall = Math.max(...columns.map((column) => column.length), 1) * high + 34;
  const draw = () => {
    const svg = canvas(Math.max(1, columns.length) * wide + 8, tall, { name, says });
    /** @type {Map<number, [number, number]>} */
    const places = new Map();
    columns.forEach((column, at) => {
      const start = (tall - 30 - column.length * high) / 2 + 30;
      svg.append(s("text", { x: 8 + at * wide, y: 14, class: "mark start" }, `generation ${generations[at]}`));
      column.forEach((it, row) => places.set(it.id, [8 + at * wide, start + row * high]));
    });
    for (const it of people) {
      const [x, y] = /** @type {[number, number]} */ (places.get(it.id));
      for (const parent of it.parents) {
        const from = places.get(parent);
        if (!from) continue;
        const [a, b] = [from[0] + wide - 22, from[1] + 15];
        svg.append(s("path", { d: `M${a},${b} C${a + 12},${b} ${x - 12},${y + 15} ${x},${y + 15}`, class: "edge" }));
      }
    }
    for (const it of people) {
      const [x, y] = /** @type {[number, number]} */ (places.get(it.id));
      svg.append(s("rect", { x, y, width: wide - 22, height: 30, rx: 6, class: it.id === of ? "person chosen" : "person" }, s("title", {}, it.operator)),
        s("text", { x: x + 8, y: y + 13, class: "who" }, `#${it.id}`),
        s("text", { x: x + 8, y: y + 25, class: "mark start" }, say(it.score)));
    }
    return svg;
  };
  const shown = figure({ name, says, draw,
    table: { head: ["individual", "generation", "made by", "parents", "fitness"],
      rows: people.map((it) => [`#${it.id}`, it.generation, it.operator, it.parents.map((id) => `#${id}`).join(", ") || "none", say(it.score)]) } });
  const stage = shown.querySelector(".stage");
  stage.classList.add("scroll");
  stage.tabIndex = 0;
  stage.setAttribute("role", "region");
  stage.setAttribute("aria-label", `${name}, drawn; scrolls sideways`);
  return shown;
}
