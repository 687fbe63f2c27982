// What is running: the sandboxes of the project page by page, what they use, and what can be done
// with them. A page of the list is made from records alone; what has to be looked up in each
// sandbox comes afterwards and is filled in.

import { ask } from "/assets/api.js";
import { sparkline } from "/assets/charts.js";
import { complain, h } from "/assets/dom.js";
import { inbox } from "/assets/inbox.js";
import { discard, family, fork, snapshot } from "/assets/travel.js";
import { wished } from "/assets/wishes.js";
import { age, badge, by, count, size, standing, took } from "/assets/words.js";

const PAGE = 25;
const LOOK_AGAIN_MS = 4000;
const SAMPLE_MS = 2000;

const filters = [
  { name: "All", states: "" },
  { name: "Alive", states: "creating,running" },
  { name: "Paused", states: "paused" },
  { name: "Finished", states: "finished" },
  { name: "Applied", states: "promoted" },
  { name: "In the trash", states: "discarded" },
];

/** @param {HTMLElement} place */
export async function show(place) {
  const board = new Board();
  const waiting = h("div", { className: "waiting" });
  place.replaceChildren(waiting, board.element);
  try {
    await Promise.all([board.load(), inbox().then((it) => waiting.replaceChildren(it))]);
  } catch (error) {
    board.leave();
    throw error;
  }
  return () => board.leave();
}

/** The list, and everything around it. */
class Board {
  constructor() {
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Set<string>} */
    this.chosen = new Set();
    /** @type {string[]} Where the pages before this one began. */
    this.trail = [];
    this.after = "";
    this.next = "";
    this.states = "";
    this.words = "";
    this.turn = 0;
    this.sampled = 0;
    this.gone = false;
    // What is drawn already: only what changed is drawn again.
    this.chipsSaid = "";
    this.bulkSaid = "";
    this.pagesSaid = "";
    this.list = h("ul", { className: "boxes" });
    this.chips = h("div", { className: "chips", role: "group", "aria-label": "Show" });
    this.bulk = h("div", { className: "bulk line" });
    this.pages = h("div", { className: "line pages" });
    this.search = h("input", { type: "search", id: "find-sandbox", placeholder: "name, note or command", oninput: () => this.look() });
    this.element = h("section", { "aria-label": "Sandboxes" },
      h("div", { className: "line spread head" }, h("h2", {}, "Sandboxes"),
        h("div", { className: "find" }, h("label", { htmlFor: "find-sandbox", className: "said-only" }, "Find a sandbox"), this.search)),
      this.chips, this.bulk, this.list, this.pages);
    this.seen = () => { if (!document.hidden) this.again(); };
    document.addEventListener("visibilitychange", this.seen);
    this.timers = [setInterval(() => this.again(), LOOK_AGAIN_MS), setInterval(() => this.sample(), SAMPLE_MS)];
    this.typing = 0;
  }

  leave() {
    this.gone = true;
    document.removeEventListener("visibilitychange", this.seen);
    this.timers.forEach(clearInterval);
    clearTimeout(this.typing);
  }

  /** Looks for the words, once nobody types. */
  look() {
    clearTimeout(this.typing);
    this.typing = window.setTimeout(() => {
      this.words = this.search.value.trim();
      this.begin();
    }, 200);
  }

  /** Shows the first page of what is asked for now. */
  begin() {
    this.trail = [];
    this.after = "";
    this.load().catch((error) => complain(error));
  }

  /** @param {string} look */
  address(look) {
    const query = new URLSearchParams({ order: "newest", look, limit: String(PAGE) });
    if (this.states) query.set("state", this.states);
    if (this.words) query.set("words", this.words);
    if (this.after) query.set("after", this.after);
    return `/v1/sandboxes?${query}`;
  }

  /** Loads the page from records, then looks into its sandboxes. */
  async load() {
    const turn = ++this.turn;
    const told = await ask(this.address("record"));
    if (turn !== this.turn || this.gone) return;
    this.draw(told);
    ask(this.address("changes")).then((closer) => {
      if (turn !== this.turn || this.gone) return;
      for (const it of closer.sandboxes) this.rows.get(it.id)?.changes(it.changed_files);
    }).catch(() => {});
    this.sampled = 0;
    this.sample();
  }

  /** Looks again, unless somebody wants it to stand still or is elsewhere. */
  again() {
    if (document.hidden || wished("stand-still") || this.gone) return;
    const turn = this.turn;
    ask(this.address("record")).then((told) => {
      if (turn === this.turn && !this.gone) this.draw(told);
    }).catch(() => {});
  }

  /** Asks what runs uses. */
  sample() {
    const alive = [...this.rows.values()].some((row) => row.alive);
    if (!alive || document.hidden || this.gone || (wished("stand-still") && this.sampled > 0)) return;
    ask(`/v1/usage?after=${this.sampled}`).then((told) => {
      this.sampled = told.at;
      for (const it of told.sandboxes) this.rows.get(it.id)?.use(it.samples);
    }).catch(() => {});
  }

  /** @param {any} told */
  draw(told) {
    this.next = told.next ?? "";
    const rows = told.sandboxes.map((/** @type {any} */ it) => {
      const row = this.rows.get(it.id) ?? new Row(it, this);
      row.update(it);
      return row;
    });
    this.rows = new Map(rows.map((/** @type {Row} */ row) => [row.id, row]));
    for (const id of this.chosen) if (!this.rows.has(id)) this.chosen.delete(id);
    // Only what moved is moved: whoever is in a row stays there.
    rows.forEach((/** @type {Row} */ row, /** @type {number} */ at) => {
      if (this.list.children[at] !== row.element) this.list.insertBefore(row.element, this.list.children[at] ?? null);
    });
    while (this.list.children.length > rows.length) this.list.lastChild?.remove();
    if (rows.length === 0) this.list.replaceChildren(this.empty());
    this.drawChips(told.counts);
    this.drawBulk();
    this.drawPages(rows.length, told.counts);
  }

  empty() {
    if (this.words || this.states) {
      return h("li", { className: "empty" }, h("p", {}, "No sandbox fits."),
        h("button", { onclick: () => { this.search.value = ""; this.words = ""; this.states = ""; this.begin(); } }, "Show all"));
    }
    return h("li", { className: "empty" },
      h("p", {}, "No sandboxes yet."),
      h("p", { className: "quiet" }, "Try something above, or type ", h("code", {}, "agar try -- npm update"),
        " in the project: it runs in a copy, and you decide what to keep."));
  }

  /** @param {Record<string, number>} counts */
  total(counts, states = this.states) {
    const wanted = states ? states.split(",") : ["creating", "running", "paused", "finished", "promoted"];
    return wanted.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  }

  /** @param {Record<string, number>} counts */
  drawChips(counts) {
    const text = JSON.stringify([counts, this.states]);
    if (text === this.chipsSaid) return;
    this.chipsSaid = text;
    const focused = this.chips.contains(document.activeElement) ? document.activeElement?.textContent?.split(" ")[0] : null;
    this.chips.replaceChildren(...filters
      .filter(({ states }) => states === "" || states === this.states || this.total(counts, states) > 0)
      .map(({ name, states }) => h("button", { className: "chip", "aria-pressed": String(states === this.states),
        onclick: () => { this.states = states; this.begin(); } },
      `${name} `, h("span", { className: "number" }, this.total(counts, states).toLocaleString("en")))));
    if (focused) [...this.chips.children].find((it) => it.textContent?.startsWith(focused))?.focus();
  }

  drawBulk() {
    const rows = [...this.rows.values()].filter((row) => row.open);
    const some = this.chosen.size;
    const text = `${rows.length} ${some}`;
    if (text === this.bulkSaid) return;
    this.bulkSaid = text;
    if (rows.length === 0) { this.bulk.replaceChildren(); return; }
    if (!this.allBox) {
      this.allBox = h("input", { type: "checkbox", id: "all-boxes", onchange: () => {
        for (const row of this.rows.values()) if (row.open) row.choose(this.allBox.checked);
        this.drawBulk();
      } });
      this.dropAll = h("button", { className: "danger small", onclick: () => this.drop([...this.chosen]) });
      this.bulkLabel = h("label", { htmlFor: "all-boxes" });
    }
    this.allBox.checked = some > 0 && some === rows.length;
    this.allBox.indeterminate = some > 0 && some < rows.length;
    this.bulkLabel.textContent = some === 0 ? "Select all on this page" : `${some} selected`;
    this.dropAll.textContent = `Discard ${some === 1 ? "it" : `all ${some}`}`;
    this.dropAll.hidden = some === 0;
    if (this.bulk.children.length === 0) this.bulk.append(this.allBox, this.bulkLabel, this.dropAll);
  }

  /** @param {string[]} ids */
  async drop(ids) {
    const boxes = ids.flatMap((id) => this.rows.get(id)?.sandbox ?? []);
    if (boxes.length === 0) return;
    if (!await discard(boxes)) return;
    this.chosen.clear();
    await this.load().catch((error) => complain(error));
    this.search.focus();
  }

  /**
   * @param {number} shown
   * @param {Record<string, number>} counts
   */
  drawPages(shown, counts) {
    const first = this.trail.length * PAGE + 1;
    const all = this.total(counts);
    const text = `${first} ${shown} ${all} ${this.next}`;
    if (text === this.pagesSaid) return;
    this.pagesSaid = text;
    if (!this.next && this.trail.length === 0) { this.pages.replaceChildren(); return; }
    const where = this.words ? `${first}–${first + shown - 1}` : `${first}–${first + shown - 1} of ${all.toLocaleString("en")}`;
    this.pages.replaceChildren(
      h("button", { disabled: this.trail.length === 0, onclick: () => this.turnTo(this.trail.pop() ?? "") }, "← Newer"),
      h("span", { className: "quiet", "aria-live": "polite" }, where),
      h("button", { disabled: !this.next, onclick: () => { this.trail.push(this.after); this.turnTo(this.next); } }, "Older →"));
  }

  /** @param {string} after */
  turnTo(after) {
    this.after = after;
    this.chosen.clear();
    this.load().then(() => this.element.scrollIntoView()).catch((error) => complain(error));
  }
}

/** One sandbox of the list. */
class Row {
  /**
   * @param {any} sandbox
   * @param {Board} board
   */
  constructor(sandbox, board) {
    this.sandbox = sandbox;
    this.id = sandbox.id;
    this.board = board;
    /** @type {{ at: number, cpu_percent: number, memory_bytes: number }[]} */
    this.samples = [];
    /** @type {number | null} */
    this.changed = null;
    /** @type {string | null} */
    this.usedText = null;
    this.word = "";
    this.box = h("input", { type: "checkbox", "aria-label": `Select ${sandbox.alias}`, onchange: () => {
      this.choose(this.box.checked);
      board.drawBulk();
    } });
    this.name = h("a", { href: `#/sandbox/${sandbox.id}`, className: "name" }, sandbox.alias);
    this.state = h("span", { className: "state" });
    this.about = h("p", { className: "about quiet" });
    this.usage = h("div", { className: "usage" });
    this.facts = h("p", { className: "facts-line" });
    this.origin = h("span", { className: "quiet" });
    this.lineage = h("button", { className: "link small", onclick: () => family(this.sandbox).catch((error) => complain(error)) }, "Lineage");
    this.actions = h("div", { className: "line actions" },
      h("button", { className: "small", "aria-label": `Fork ${sandbox.alias}`, onclick: () => this.then(fork) }, "Fork"),
      h("button", { className: "small", "aria-label": `Snapshot of ${sandbox.alias}`, onclick: () => this.then(snapshot) }, "Snapshot"),
      h("button", { className: "small", "aria-label": `Discard ${sandbox.alias}`, onclick: () => board.drop([this.id]) }, "Discard"));
    this.element = h("li", { className: "card box" },
      this.box, h("div", { className: "who" }, h("div", { className: "line" }, this.name, this.state), this.about),
      this.usage, h("div", { className: "what" }, this.facts, h("p", { className: "facts-line" }, this.origin, " · ", this.lineage)), this.actions);
  }

  get alive() { return ["creating", "running", "paused"].includes(this.sandbox.state); }
  get open() { return !["promoted", "discarded", "collected"].includes(this.sandbox.state); }

  /** @param {boolean} on */
  choose(on) {
    this.box.checked = on;
    if (on) this.board.chosen.add(this.id);
    else this.board.chosen.delete(this.id);
  }

  /** @param {(sandbox: any) => Promise<boolean>} act */
  async then(act) {
    try {
      if (await act(this.sandbox)) await this.board.load();
    } catch (error) { complain(error); }
  }

  /** @param {any} sandbox */
  update(sandbox) {
    this.sandbox = sandbox;
    this.stand();
    this.box.disabled = !this.open;
    this.actions.hidden = !this.open;
    text(this.about, sandbox.note ?? sandbox.last_run?.command ?? "no command yet");
    this.fill();
    if (!this.alive || this.samples.length === 0) this.past();
  }

  /** Says how it stands, in the word that is true now. */
  stand() {
    const word = standing(this.sandbox, this.busy);
    if (word === this.word) return;
    this.word = word;
    this.state.replaceChildren(badge(word));
  }

  /** Whether something was seen to run in it a moment ago. */
  get busy() { return (this.samples.at(-1)?.memory_bytes ?? 0) > 0; }

  /** @param {number | null} changed */
  changes(changed) {
    this.changed = changed;
    this.fill();
  }

  fill() {
    const { sandbox } = this;
    text(this.facts, [
      this.changed === null ? "" : this.changed === 0 ? "nothing changed" : `${count(this.changed, "file")} changed`,
      count(sandbox.runs, "command"),
    ].filter(Boolean).join(" · "));
    text(this.origin, [
      age(sandbox.created_at),
      sandbox.lineage ? `fork${sandbox.lineage.depth > 1 ? `, ${sandbox.lineage.depth} deep` : ""}` : "",
      by(sandbox.agent),
    ].filter(Boolean).join(" · "));
  }

  /** What its last command used, where nothing runs. */
  past() {
    const usage = this.sandbox.last_run?.usage;
    const used = this.alive ? "" : !usage ? "nothing ran yet" : [
      `${took(usage.user_ms + usage.system_ms)} of processor`,
      usage.memory_peak_bytes > 0 ? `${size(usage.memory_peak_bytes)} at most` : "",
    ].filter(Boolean).join(", ");
    if (this.usedText === used) return;
    this.usedText = used;
    this.usage.replaceChildren(h("span", { className: "quiet" }, used));
  }

  /** @param {{ at: number, cpu_percent: number, memory_bytes: number }[]} samples */
  use(samples) {
    if (!this.alive || samples.length === 0) return;
    this.samples = [...this.samples, ...samples].slice(-60);
    this.stand();
    this.usedText = null;
    const last = this.samples[this.samples.length - 1];
    if (this.samples.every((it) => it.memory_bytes === 0)) {
      this.usage.replaceChildren(h("span", { className: "quiet" }, this.sandbox.state === "paused" ? "stands still" : "nothing runs now"));
      return;
    }
    const cpu = `processor ${last.cpu_percent} %`;
    const memory = `memory ${size(last.memory_bytes)}`;
    this.usage.replaceChildren(
      h("span", { className: "meter" }, sparkline({ values: this.samples.map((it) => it.cpu_percent), high: Math.max(100, ...this.samples.map((it) => it.cpu_percent)), name: `Processor use lately, now ${last.cpu_percent} percent` }), h("span", {}, cpu)),
      h("span", { className: "meter" }, sparkline({ values: this.samples.map((it) => it.memory_bytes), tone: "blue", name: `Memory lately, now ${size(last.memory_bytes)}` }), h("span", {}, memory)));
  }
}

/**
 * Sets a text if it is another one, so that a screen reader and a selection are left alone.
 * @param {HTMLElement} element
 * @param {string} words
 */
function text(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
