// What do we believe, and how strongly.

import { ask } from "/assets/api.js";
import { h } from "/assets/dom.js";

/** @param {HTMLElement} place */
export async function show(place) {
  const [lessons, stats] = await Promise.all([ask("/api/memory/lessons"), ask("/v1/memory/stats")]);
  const list = (items, empty, line) => items.length === 0
    ? h("p", { className: "quiet" }, empty)
    : h("ul", { className: "cards" }, ...items.map((item) => h("li", { className: "card" }, ...line(item))));
  place.replaceChildren(
    h("p", { className: "quiet" }, `${stats.experiments} experiments remembered here · ${lessons.hidden} findings hidden: expired or retired`),
    h("h2", {}, "🎓 Patterns"),
    list(lessons.patterns, "None has earned it yet: a pattern must hold in several experiments.", (it) => [
      h("div", {}, it.sentence), h("div", { className: "quiet" }, `${Math.round(it.confidence * 100)} % · ${it.worked} worked, ${it.failed} failed`)]),
    h("h2", {}, "📚 Lessons"),
    list(lessons.lessons, "Nothing has failed yet.", (it) => [
      h("div", {}, it.sentence), h("div", { className: "quiet" }, `${it.state} · failed ${it.failed}, worked ${it.worked}`)]),
  );
}
