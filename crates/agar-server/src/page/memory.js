// What do we believe, and how strongly: patterns and lessons, how they came, how good the
// predictions were, and the way to make agar forget.

import { ask } from "/assets/api.js";
import { interval, lines, piles, reliability } from "/assets/charts.js";
import { question } from "/assets/dialog.js";
import { complain, h, tell } from "/assets/dom.js";
import { wished } from "/assets/wishes.js";
import { age, count, prose } from "/assets/words.js";

const DAYS = 30;
const SHOWN = 12;

/**
 * @param {HTMLElement} place
 * @param {string[]} _words
 */
export async function show(place, _words) {
  const east = -new Date().getTimezoneOffset();
  const [patterns, lessons, stats, history, calibration] = await Promise.all([
    ask("/v1/memory/patterns?all=true"), ask("/v1/memory/lessons?all=true"), ask("/v1/memory/stats"),
    ask(`/v1/memory/history?days=${DAYS}&east=${east}`), ask("/v1/memory/calibration"),
  ]);
  const again = () => show(place, _words).catch((error) => complain(error));
  const today = history.days.at(-1).from;
  place.replaceChildren(
    h("h2", {}, "Memory"),
    stats.experiments === 0 ? beginning() : tiles(stats, history.days, calibration),
    // Empty charts teach nothing.
    ...(stats.experiments === 0 ? [] : [
      h("h2", {}, "Learned today"),
      learned(patterns.patterns, lessons.lessons, history.days.at(-1), today),
      h("div", { className: "pair" },
        h("section", { className: "card" }, tried(history.days)),
        h("section", { className: "card" }, grown(patterns.patterns, lessons.lessons, history.days))),
    ]),
    h("h2", {}, sign("🎓"), "Patterns"),
    h("p", { className: "quiet lead" }, "What held in several experiments and graduated into the project's memory."),
    findings(patterns.patterns, { empty: "None has earned it yet. A pattern must hold in several experiments before it graduates; go on trying.", draw: (it) => pattern(it, again) }),
    h("h2", {}, sign("📚"), "Lessons"),
    h("p", { className: "quiet lead" }, "What failures teach. They warn before a similar attempt, and retire when attempts begin to work."),
    findings(lessons.lessons, { empty: "Nothing has failed yet.", draw: (it) => lesson(it, again) }),
    ...(wished("hide-confidence") ? [] : [h("h2", {}, "How good the predictions were"), h("section", { className: "card" }, ...judged(calibration))]),
    h("h2", {}, "Forget"),
    forgetting(again));
}

/** @param {string} it */
function sign(it) { return h("span", { "aria-hidden": "true" }, `${it} `); }

function beginning() {
  return h("section", { className: "card empty" },
    h("p", {}, "Nothing is remembered yet."),
    h("p", { className: "quiet" }, "Every command that is tried in a sandbox is an experiment: agar keeps what was proposed, what came of it and why. Try something from ",
      h("a", { href: "#/" }, "the first page"), " or with ", h("code", {}, "agar try -- COMMAND"), "."));
}

/**
 * @param {any} stats
 * @param {any[]} days
 * @param {any} calibration
 */
function tiles(stats, days, calibration) {
  const ended = days.reduce((sum, day) => sum + day.success + day.partial + day.failure, 0);
  const worked = days.reduce((sum, day) => sum + day.success, 0);
  const all = [
    ["experiments", stats.experiments.toLocaleString("en"), `${ended.toLocaleString("en")} in ${DAYS} days`],
    ["worked", ended === 0 ? "–" : `${Math.round(100 * worked / ended)} %`, `of those of ${DAYS} days`],
    ["patterns", String(stats.patterns), "graduated"],
    ["lessons", String(stats.lessons), "from failures"],
  ];
  if (!wished("hide-confidence")) {
    all.push(["Brier score", calibration.predictions === 0 ? "–" : calibration.brier.toFixed(2),
      calibration.predictions === 0 ? "no predictions yet" : `over ${calibration.predictions.toLocaleString("en")}; 0 is perfect, 0.25 a coin`]);
  }
  return h("dl", { className: "tiles" }, ...all.map(([name, value, says]) =>
    h("div", { className: "tile card" }, h("dt", {}, name), h("dd", { className: "value" }, value), h("dd", { className: "quiet" }, says))));
}

/**
 * @param {any[]} patterns
 * @param {any[]} lessons
 * @param {any} day
 * @param {number} from
 */
function learned(patterns, lessons, day, from) {
  const lines = [
    ...patterns.filter((it) => it.first >= from).map((it) => ["🎓", "New pattern", it.sentence]),
    ...lessons.filter((it) => it.first >= from).map((it) => ["📚", "New lesson", it.sentence]),
    ...lessons.filter((it) => it.first < from && it.last >= from).map((it) => ["📚", "Seen again", it.sentence]),
    ...patterns.filter((it) => it.first < from && it.last >= from).map((it) => ["📝", "Held again", it.sentence]),
  ];
  const tried = day.success + day.partial + day.failure;
  const sum = `${count(tried, "experiment")} ended: ${day.success} worked, ${day.partial} in part, ${day.failure} failed.`;
  return h("section", { className: "card", "aria-label": "Learned today" },
    h("p", { className: "quiet" }, tried === 0 ? "Nothing was tried today yet." : sum),
    lines.length === 0 ? null : h("ul", { className: "plain learned" }, ...lines.slice(0, SHOWN).map(([mark, word, sentence]) =>
      h("li", {}, h("span", { className: "tag" }, sign(mark), word), h("span", {}, ...prose(sentence))))),
    lines.length > SHOWN ? h("p", { className: "quiet" }, `and ${lines.length - SHOWN} more below`) : null);
}

/** @param {number} ms */
function date(ms) { return new Date(ms).toLocaleDateString("en", { month: "short", day: "numeric" }); }

/** @param {any[]} days */
function tried(days) {
  const sum = (/** @type {string} */ key) => days.reduce((all, day) => all + day[key], 0);
  return piles({
    name: "Experiments a day", of: "day",
    says: `${DAYS} days: ${sum("success")} worked, ${sum("partial")} worked in part, ${sum("failure")} failed.`,
    steps: days.map((day) => date(day.from)),
    series: [
      { name: "worked", tone: "good", values: days.map((day) => day.success) },
      { name: "in part", tone: "warn", values: days.map((day) => day.partial) },
      { name: "failed", tone: "bad", values: days.map((day) => day.failure) },
    ],
  });
}

/**
 * @param {any[]} patterns
 * @param {any[]} lessons
 * @param {any[]} days
 */
function grown(patterns, lessons, days) {
  const ends = days.map((_, at) => days[at + 1]?.from ?? Infinity);
  const known = (/** @type {any[]} */ all) => ends.map((end) => all.filter((it) => it.first < end).length);
  return lines({
    name: "Patterns and lessons", of: "day", low: 0,
    says: `${count(patterns.length, "pattern")} and ${count(lessons.length, "lesson")} by now, by the day they were first seen.`,
    steps: days.map((day) => date(day.from)),
    series: [
      { name: "patterns", tone: "accent", values: known(patterns) },
      { name: "lessons", tone: "blue", dash: true, values: known(lessons) },
    ],
  });
}

/**
 * The first of a list, the hidden ones and the rest on demand.
 * @param {any[]} all
 * @param {{ empty: string, draw: (it: any) => HTMLElement }} how
 */
function findings(all, { empty, draw }) {
  const hidden = (/** @type {any} */ it) => it.expired || it.state === "retired";
  const shown = all.filter((it) => !hidden(it));
  const list = h("ul", { className: "rows" }, ...shown.slice(0, SHOWN).map(draw));
  const rest = [...shown.slice(SHOWN), ...all.filter(hidden)];
  const said = all.length - shown.length > 0 ? ` (${all.length - shown.length} hidden: expired or retired)` : "";
  const more = rest.length === 0 ? null : h("button", { onclick: () => {
    const first = draw(rest[0]);
    list.append(first, ...rest.slice(1).map(draw));
    first.tabIndex = -1;
    first.focus();
    more.remove();
  } }, `Show ${rest.length} more${said}`);
  return h("div", {}, shown.length === 0 ? h("p", { className: "empty card quiet" }, empty) : list, shown.length === 0 && more ? list : null, more);
}

/** @param {number} share */
const percent = (share) => `${Math.round(share * 100)} %`;

/**
 * @param {any} it
 * @param {string} tone
 * @param {string} of
 */
function strength(it, tone, of) {
  if (wished("hide-confidence")) return null;
  const name = `${of} ${percent(it.confidence)}, between ${percent(it.lower_bound)} and ${percent(it.upper_bound)}`;
  return h("span", { className: "strength", title: name }, interval({ low: it.lower_bound, value: it.confidence, high: it.upper_bound, tone, name }),
    h("span", { className: "number", "aria-hidden": "true" }, percent(it.confidence)),
    h("span", { className: "range quiet", "aria-hidden": "true" }, `(${Math.round(it.lower_bound * 100)}–${Math.round(it.upper_bound * 100)})`));
}

/**
 * @param {any} it
 * @param {() => void} again
 */
function pattern(it, again) {
  const tone = it.confidence > 0.8 ? "good" : it.confidence > 0.5 ? "warn" : "bad";
  return h("li", { className: "finding" },
    h("div", { className: "says" }, h("p", {}, ...prose(it.sentence)),
      h("p", { className: "quiet" }, `${it.worked} worked, ${it.failed} failed · last seen ${age(it.last)}${it.expired ? " · expired" : ""}`)),
    strength(it, tone, "works"), where(it, again));
}

/**
 * @param {any} it
 * @param {() => void} again
 */
function lesson(it, again) {
  const tones = /** @type {Record<string, string>} */ ({ confirmed: "bad", quarantined: "warn", contradicted: "quiet", retired: "quiet" });
  return h("li", { className: "finding" },
    h("div", { className: "says" }, h("p", {}, ...prose(it.sentence)),
      h("p", { className: "quiet" }, h("span", { className: `tag ${tones[it.state] ?? ""}` }, it.state), ` ${it.why} · last seen ${age(it.last)}${it.expired ? " · expired" : ""}`)),
    strength(it, tones[it.state] === "bad" ? "bad" : "quiet", "strikes again"), where(it, again));
}

/**
 * Where a finding comes from, and the way to forget it.
 * @param {any} it
 * @param {() => void} again
 */
function where(it, again) {
  const from = h("div", {});
  return h("details", { className: "where", ontoggle: async (/** @type {any} */ event) => {
    if (!event.target.open || from.firstChild) return;
    try {
      const told = (await ask(`/v1/memory/findings/${encodeURIComponent(it.id)}`)).finding;
      from.replaceChildren(
        h("ul", { className: "plain" }, ...(told?.experiments ?? []).map((/** @type {any} */ seen) => h("li", {},
          h("span", { className: seen.worked ? "good" : "bad" }, seen.worked ? "worked" : "failed"), " ",
          h("a", { href: `#/experiments/${seen.id}` }, seen.suggestion), h("span", { className: "quiet" }, ` ${age(seen.at)}`)))),
        h("button", { className: "danger small", onclick: () => forget({ what: "name", of: it.id }, it.sentence, again) }, "Forget this"));
    } catch (error) { from.textContent = /** @type {Error} */ (error).message; }
  } }, h("summary", {}, h("span", {}, "Where from"), h("span", { className: "said-only" }, `: ${it.sentence}`)), from);
}

/** @param {any} calibration */
function judged(calibration) {
  if (calibration.predictions === 0) {
    return [h("p", { className: "quiet" }, "No prediction has been put to the test yet. Before each experiment agar says how likely it is to work, and afterwards whether that was right.")];
  }
  const better = calibration.brier < calibration.brier_of_rate;
  return [h("div", { className: "judged" },
    reliability({
      name: "Reliability", cells: calibration.cells,
      says: `${count(calibration.predictions, "prediction")}. Points on the dashed line came true as often as was said.`,
    }),
    h("dl", { className: "facts" },
      h("dt", {}, "Brier score"), h("dd", {}, `${calibration.brier.toFixed(3)}, ${better ? "better" : "no better"} than always saying the average (${calibration.brier_of_rate.toFixed(3)})`),
      h("dt", {}, "Mean distance"), h("dd", {}, `${percent(calibration.calibration_error)} between what was said and what came`),
      ...(calibration.discrimination === null ? [] : [h("dt", {}, "Telling apart"), h("dd", {}, `of one that worked and one that failed, the one that worked was rated higher ${percent(calibration.discrimination)} of the time`)]),
      h("dt", {}, "Without evidence"), h("dd", {}, calibration.without_evidence === 0 ? "none" : `${count(calibration.without_evidence, "time")} agar said so instead of a number`)))];
}

/** @param {() => void} again */
function forgetting(again) {
  const text = h("input", { id: "forget-text", placeholder: "a customer's name", autocomplete: "off" });
  return h("form", { className: "card", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const words = text.value.trim();
    if (words) forget({ what: "text", of: words }, words, again);
    else text.focus();
  } },
  h("label", { htmlFor: "forget-text" }, "Forget everything that holds these words"), text,
  h("p", { className: "quiet" }, "Experiments, notes, logs and sandboxes with these words go for good, and what they taught with them."),
  h("button", { className: "danger" }, "Forget"));
}

/**
 * @param {{ what: string, of: string }} what
 * @param {string} words
 * @param {() => void} again
 */
async function forget(what, words, again) {
  const done = await question({
    title: "Forget for good?",
    says: [h("p", {}, words), h("p", { className: "quiet" }, "This cannot be undone. Sandboxes and logs with the same words go too; the project's own files stay.")],
    yes: "Forget", danger: true,
    go: async () => {
      const told = await ask("/v1/memory/forget", what);
      tell(`Forgotten: ${count(told.experiments.length, "experiment")}, ${count(told.notes, "note")}.`);
    },
  });
  if (done) again();
}
