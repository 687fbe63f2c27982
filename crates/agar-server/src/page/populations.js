// Populations that breed: how fit they are from generation to generation, and who came from whom.

import { ask } from "/assets/api.js";
import { descent, lines } from "/assets/charts.js";
import { complain, h } from "/assets/dom.js";
import { wished } from "/assets/wishes.js";
import { age, count } from "/assets/words.js";

const LOOK_AGAIN_MS = 3000;

/** @type {Record<string, [string, string]>} Sign and tone of a state. */
const signs = { running: ["🔄", "busy"], interrupted: ["⏸", "warn"], solved: ["✅", "good"], ended: ["■", "quiet"] };

/** @param {string} state */
function standing(state) {
  const [sign, tone] = signs[state] ?? ["", "quiet"];
  return h("span", { className: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, sign), ` ${state}`);
}

/** @param {number | null} value */
const score = (value) => value === null ? "no score" : Number(value.toPrecision(4)).toString();

/**
 * @param {HTMLElement} place
 * @param {string[]} words
 */
export async function show(place, words) {
  if (words[0]) return one(place, words[0]);
  const told = await ask("/v1/populations");
  place.replaceChildren(h("h2", {}, "Populations"),
    told.searches.length === 0 ? empty() : h("ul", { className: "cards" }, ...told.searches.map(card)));
  return undefined;
}

function empty() {
  return h("section", { className: "card empty" }, h("p", {}, "Nothing breeds here yet."),
    h("p", { className: "quiet" }, "A population is a crowd of small programs that agar tries, scores and breeds, each in a cell of its own. Begin one with ",
      h("code", {}, "agar evolve run"), "; ", h("code", {}, "agar evolve run --help"), " shows the tasks."));
}

/** @param {any} it */
function card(it) {
  return h("li", { className: "card" },
    h("div", { className: "line spread" }, h("a", { href: `#/populations/${encodeURIComponent(it.name)}`, className: "name" }, it.name), standing(it.state)),
    h("progress", { max: Math.max(1, it.generations), value: it.generation, "aria-label": `Generation ${it.generation} of ${it.generations}` }),
    h("p", { className: "quiet" }, `${it.task} · generation ${it.generation} of ${it.generations} · ${it.population} alive at once · ${it.born.toLocaleString("en")} born · ${age(it.changed_at)}`));
}

/**
 * One population.
 * @param {HTMLElement} place
 * @param {string} name
 */
async function one(place, name) {
  const at = `/v1/populations/${encodeURIComponent(name)}`;
  let timer = 0;
  let [left, seen] = [false, -1];
  const draw = async () => {
    const [plot, best, family] = await Promise.all([
      ask(`${at}/fitness`), ask(`${at}/best?count=5`).catch(() => ({ best: [] })), ask(`${at}/lineage?depth=6`).catch(() => null),
    ]);
    if (left) return;
    if (plot.search.generation !== seen) {
      seen = plot.search.generation;
      place.replaceChildren(...drawn(plot, best, family));
    }
    if (plot.search.state === "running" && !wished("stand-still")) timer = window.setTimeout(() => draw().catch((error) => complain(error)), LOOK_AGAIN_MS);
  };
  await draw();
  return () => { left = true; clearTimeout(timer); };
}

/**
 * @param {any} plot
 * @param {any} best
 * @param {any} family
 */
function drawn({ search, generations }, best, family) {
  const pick = (/** @type {string} */ key) => generations.map((/** @type {any} */ it) => it[key]);
  const last = generations.at(-1);
  return [
    h("p", { className: "back" }, h("a", { href: "#/populations" }, "← Populations")),
    h("div", { className: "line spread" }, h("h2", {}, search.name), standing(search.state)),
    h("p", { className: "quiet" }, `${search.task} · seed ${search.seed} · generation ${search.generation} of ${search.generations} · ${search.born.toLocaleString("en")} born, ${search.trials.toLocaleString("en")} tried`),
    generations.length === 0 ? h("p", { className: "card empty quiet" }, "No generation is complete yet.")
      : h("section", { className: "card" }, lines({
        name: "Fitness over generations", of: "generation", say: (value) => Number(value.toPrecision(3)).toString(),
        says: `Best ${score(last.best)}, median ${score(last.median)} after ${count(generations.length, "generation")}.`,
        low: floor(generations), high: ceiling(generations),
        steps: generations.map((/** @type {any} */ it) => String(it.generation)),
        series: [{ name: "best", tone: "accent", values: pick("best") }, { name: "median", tone: "blue", dash: true, values: pick("median") }],
        bands: [{ name: "the middle half", tone: "blue", low: pick("lower"), high: pick("upper") }],
      })),
    family === null ? null : h("section", { className: "card" }, descent({
      name: "Lineage of the best", people: family.individuals, of: family.of, say: score,
      says: `Six generations of ancestors of #${family.of}: ${family.individuals.length} in all.`,
    })),
    ...champions(best),
  ].filter(Boolean);
}

/** @param {any[]} generations */
const scores = (generations) => generations.flatMap((it) => [it.best, it.lower, it.median]).filter((value) => value !== null);
/** @param {any[]} generations */
function floor(generations) {
  const all = scores(generations);
  if (all.length === 0) return 0;
  const [low, high] = [Math.min(...all), Math.max(...all)];
  // Nothing is as good a place to begin as any, where it is near.
  return low >= 0 && low < high / 4 ? 0 : low;
}
/** @param {any[]} generations */
function ceiling(generations) {
  const all = scores(generations);
  return all.length === 0 ? 1 : Math.max(...all, Math.min(...all) + 1e-6);
}

/** @param {any} told */
function champions(told) {
  const { best } = told;
  if (best.length === 0) return [];
  return [h("h2", {}, "The best ever"), h("ol", { className: "rows best" }, ...best.map((/** @type {any} */ it) => h("li", {},
    h("div", { className: "line spread" }, h("strong", {}, `#${it.id}`), h("span", { className: "number" }, score(it.score))),
    h("p", { className: "formula" }, it.formula),
    h("p", { className: "quiet" }, `born in generation ${it.generation} · ${it.operator} · size ${it.size}`))))];
}
