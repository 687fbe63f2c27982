// What was tried, newest first, found by words and by how it ended.

import { ask } from "/assets/api.js";
import { complain, h, tell } from "/assets/dom.js";
import { typed } from "/assets/output.js";
import { wished } from "/assets/wishes.js";
import { age, badge, by, count, prose, size, took } from "/assets/words.js";

const PAGE = 30;
const statuses = [["", "All"], ["success", "Worked"], ["partial", "In part"], ["failure", "Failed"], ["running", "Running"]];

/**
 * @param {HTMLElement} place
 * @param {string[]} words
 */
export async function show(place, words) {
  if (words[0]) return one(place, words[0]);
  const list = h("ul", { className: "rows" });
  const end = h("div", { className: "line pages" });
  const search = h("input", { type: "search", id: "find-experiment", placeholder: "npm update, borrow checker, claude…" });
  const chips = h("div", { className: "chips", role: "group", "aria-label": "Show" });
  let [status, asked, turn, typing] = ["", "", 0, 0];

  /** @param {number | null} before */
  const load = async (before) => {
    const mine = ++turn;
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (asked) query.set("words", asked);
    if (status) query.set("status", status);
    if (before !== null) query.set("before", String(before));
    const told = await ask(`/v1/experiments?${query}`);
    if (mine !== turn) return;
    const drawn = told.experiments.map(line);
    if (before === null) list.replaceChildren(...drawn);
    else list.append(...drawn);
    if (list.children.length === 0) list.replaceChildren(empty());
    end.replaceChildren(...(told.next === null ? [] : [h("button", { onclick: () => {
      load(told.next).then(() => drawn.at(-1)?.nextElementSibling?.querySelector("a")?.focus()).catch((error) => complain(error));
    } }, "Older experiments")]));
    if (asked || status) tell(`${told.next === null ? count(list.querySelectorAll(".experiment").length, "experiment") : `${PAGE} or more experiments`} found.`);
  };
  const begin = () => { load(null).catch((error) => complain(error)); };
  const empty = () => asked || status
    ? h("li", { className: "empty" }, h("p", {}, "No experiment fits."), h("p", { className: "quiet" }, "Every word must occur in what was proposed, by whom, or what came of it."))
    : h("li", { className: "empty" }, h("p", {}, "Nothing was tried yet."), h("p", { className: "quiet" }, "Each ", h("code", {}, "agar try"), " and each suggestion that is tried becomes an experiment."));
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => { asked = search.value.trim(); begin(); }, 250);
  });
  chips.append(...statuses.map(([word, name]) => h("button", { className: "chip", "aria-pressed": String(word === status), onclick: (/** @type {any} */ event) => {
    status = word;
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip === event.currentTarget));
    begin();
  } }, name)));
  place.replaceChildren(
    h("div", { className: "line spread head" }, h("h2", {}, "Experiments"),
      h("div", { className: "find" }, h("label", { htmlFor: "find-experiment", className: "said-only" }, "Find experiments"), search)),
    chips, list, end);
  await load(null);
  return () => clearTimeout(typing);
}

/** The page's word for an outcome. @param {string} status */
const status = (status) => badge(status === "failure" ? "failed" : status);

/** @param {any} it */
function line(it) {
  return h("li", { className: "experiment" },
    h("div", { className: "line spread" }, h("a", { href: `#/experiments/${it.id}`, className: "name" }, it.suggestion || "(no words)"), status(it.status)),
    it.reason ? h("p", { className: "reason" }, it.reason) : null,
    h("p", { className: "quiet" }, [by(it.agent), it.change, age(it.started), it.ended ? took(it.ended - it.started) : ""].filter(Boolean).join(" · ")));
}

/**
 * One experiment: what was said before, what came, what it taught.
 * @param {HTMLElement} place
 * @param {string} name
 */
async function one(place, name) {
  const told = await ask(`/v1/experiments/${encodeURIComponent(name)}`);
  const { summary, suggestion, ending, learned, decision, predicted } = told;
  place.replaceChildren(
    h("p", { className: "back" }, h("a", { href: "#/experiments" }, "← Experiments")),
    h("div", { className: "line spread" }, h("h2", {}, summary.suggestion || "(no words)"), status(summary.status)),
    h("section", { className: "card" }, h("dl", { className: "facts" }, ...facts([
      ["Proposed by", [by(summary.agent), summary.change].filter(Boolean).join(" · ")],
      ["When", `${new Date(summary.started).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })}${summary.ended ? `, for ${took(summary.ended - summary.started)}` : ""}`],
      ["Sandbox", h("a", { href: `#/sandbox/${summary.sandbox}` }, summary.sandbox.slice(0, 8))],
      ["Said before", predicted && !wished("hide-confidence") && predicted[3] > 0 ? `${Math.round(predicted[0] * 100)} % (${Math.round(predicted[1] * 100)}–${Math.round(predicted[2] * 100)})` : null],
      ["Decided", decision ? `${decision.accepted ? "accepted" : "rejected"}${decision.feedback ? `: ${decision.feedback}` : ""}` : null],
      ["Used", summary.cost ? `${took(summary.cost.cpu_millis)} of processor, ${size(summary.cost.memory_bytes)} at most` : null],
      ["Learned", learned ? h("span", {}, ...prose(learned.headline)) : null],
    ]))),
    ...listed("Commands", suggestion.commands.map(typed), "pre"),
    ...listed("Why it failed", ending?.failure_reasons ?? [], "ul"),
    ...listed("What worked", ending?.partial?.whatWorked ?? [], "ul"),
    ...listed("What did not", ending?.partial?.whatFailed ?? [], "ul"),
    ...listed("Checks", (ending?.checks ?? []).map(check), "ul"),
    ...listed("Files changed", ending?.changed ?? [], "ul"),
    ...listed("What it showed", learned?.insights ?? [], "ul"));
}

/** @param {any} it */
function check({ name, verdict, passed, failed, newly_failing }) {
  return [`${name}: ${verdict}`, passed + failed > 0 ? `${passed} passed, ${failed} failed` : "",
    newly_failing.length > 0 ? `newly failing: ${newly_failing.join(", ")}` : ""].filter(Boolean).join(" · ");
}

/** @param {[string, import("/assets/dom.js").Child][]} pairs */
function facts(pairs) {
  return pairs.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
}

/**
 * @param {string} name
 * @param {string[]} items
 * @param {"ul" | "pre"} how
 */
function listed(name, items, how) {
  if (items.length === 0) return [];
  return [h("h2", {}, name), how === "pre" ? h("pre", { tabIndex: 0, role: "region", "aria-label": name }, items.join("\n"))
    : h("ul", { className: "card list" }, ...items.map((item) => h("li", {}, ...prose(item))))];
}
