// One experiment: how it is set up, main beside its sandbox, how it came out, and the decision.

import { ask, stream } from "/assets/api.js";
import { list, recall, steps } from "/assets/checklist.js";
import { partOf, patchView } from "/assets/diff.js";
import { h, tell } from "/assets/dom.js";
import { filePair } from "/assets/files.js";
import { learned, outcome } from "/assets/outcome.js";
import { outputView, typed } from "/assets/output.js";
import { overlay } from "/assets/overlay.js";
import { split } from "/assets/split.js";
import { age, badge, prose, size } from "/assets/words.js";

/** Events after which what the page shows is out of date. */
const TURNS = ["run.started", "run.ended", "experiment.began", "experiment.ended", "experiment.decided", "sandbox.state", "memory.graduated", "promotion.applied", "promotion.undone", "snapshot.restored"];

/** How long a sandbox may be silent between two commands of one experiment. */
const SILENCE_MS = 5000;

/** Where the wish to apply is kept, so that it survives a reload of the tab. */
const WISH = "agar.apply.";

/**
 * Remembers that a sandbox is to be applied when it succeeds and nothing stands in the way.
 * @param {string} id
 */
export function applyWhenDone(id) { sessionStorage.setItem(WISH + id, "yes"); }

/**
 * @param {HTMLElement} place
 * @param {string[]} words The sandbox.
 */
export async function show(place, [name]) {
  const first = await ask(`/v1/sandboxes/${encodeURIComponent(name)}`);
  const view = new Experiment(place, first.sandbox);
  await view.refresh();
  view.follow();
  return () => view.leave();
}

class Experiment {
  /**
   * @param {HTMLElement} place
   * @param {any} sandbox
   */
  constructor(place, sandbox) {
    this.sandbox = sandbox;
    this.id = sandbox.id;
    /** @type {Map<number, any>} */
    this.runs = new Map();
    this.facts = { graduated: 0, promotion: /** @type {string | null} */ (null) };
    this.experimenting = false;
    this.output = outputView();
    this.files = filePair(this.id);
    /** @type {(() => void) | undefined} */
    this.stop = undefined;
    /** Leaves the live terminal. */
    this.hangUp = () => {};
    this.timer = 0;
    this.lost = false;
    this.drawnAs = "";
    this.turn = 0;
    this.last = 0;
    this.result = outcome(this.id, async () => { await this.refresh(); this.follow(); }, () => this.details());
    this.overlay = overlay((path) => this.details(path));
    this.parts = {
      title: h("h2", {}, sandbox.note ?? sandbox.alias),
      state: h("p", { className: "line meta", role: "status" }),
      wish: h("div", {}),
      checklist: h("details", { className: "card checklist", open: true }),
      mainState: h("div", {}), mainMemory: h("div", {}), memory: h("div", {}),
      details: h("section", { className: "card details", "aria-label": "Details", hidden: true, tabIndex: -1 }),
    };
    const parts = this.parts;
    place.replaceChildren(
      h("p", { className: "back" }, h("a", { href: "#/" }, "← Sandboxes")),
      parts.title, parts.state, parts.wish, parts.checklist, this.result.element,
      split(`#${this.id.slice(-4)}`, [
        { word: "Terminal", main: parts.mainState, sandbox: this.terminal() },
        { word: "Files", main: this.files.main, sandbox: this.files.sandbox, shown: () => { this.files.refresh(); } },
        { word: "Memory", main: parts.mainMemory, sandbox: parts.memory, shown: () => { this.memory().catch(told); } },
      ]),
      parts.details, this.overlay.element);
  }

  /** What was printed, and a place to type one more command. */
  terminal() {
    const line = h("input", { id: "command", className: "code", autocomplete: "off", spellcheck: false, placeholder: "a command to run in the sandbox" });
    this.line = line;
    const form = h("form", {
      className: "line command",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        const command = line.value.trim();
        if (!command) return;
        line.value = "";
        await ask(`/api/sandbox/${this.id}/execute`, { command }).catch(told);
      },
    }, h("label", { htmlFor: "command", className: "said-only" }, "Run a command in the sandbox"), line, h("button", {}, "Run"));
    this.form = form;
    return h("div", { className: "terminal" }, this.output.element, form, this.live());
  }

  /** The terminal that `agar attach` shows, loaded when somebody wants it. */
  live() {
    const screen = h("div", { className: "live-screen" });
    const live = h("details", {
      className: "live",
      ontoggle: async () => {
        this.hangUp();
        if (!live.open) return;
        const { mount } = await import("/assets/terminal.js");
        this.hangUp();
        if (live.open) this.hangUp = mount(screen, this.id);
      },
    }, h("summary", {}, "Live terminal"), screen);
    return live;
  }

  /** Asks how things are, and shows it. */
  async refresh() {
    const turn = ++this.turn;
    const [status, inspected] = await Promise.all([
      ask(`/api/sandbox/${this.id}/status`), ask(`/v1/sandboxes/${this.id}`),
    ]);
    if (turn !== this.turn) return;
    this.sandbox = inspected.sandbox;
    this.status = status;
    this.inspected = inspected;
    this.understand(inspected);
    await this.draw();
  }

  /** What the record says. @param {any} inspected */
  understand(inspected) {
    this.runs = new Map(inspected.runs.map((/** @type {any} */ run) => [run.number, { argv: run.argv, end: run.end, ms: run.usage.wall_ms }]));
    this.facts = { graduated: 0, promotion: null };
    this.experimenting = false;
    let at = 0;
    for (const { kind, data, at: when } of inspected.events) {
      at = when;
      if (kind === "experiment.began") this.experimenting = true;
      else if (kind === "experiment.ended") this.experimenting = false;
      else if (kind === "memory.graduated") this.facts.graduated += data.patterns;
      else if (kind === "promotion.applied") this.facts.promotion = data.promotion;
      else if (kind === "promotion.undone") this.facts.promotion = null;
    }
    const open = [...this.runs.values()].some((run) => !run.end);
    // An experiment that was cut short has no end: the next command must come soon, or nobody is there.
    const silent = Date.now() - at > SILENCE_MS;
    if (this.experimenting && !open && silent) this.experimenting = false;
    else if (this.experimenting && !open) this.later(SILENCE_MS);
  }

  get over() { return ["promoted", "discarded", "collected"].includes(this.status.state); }
  get running() { return [...this.runs.values()].some((run) => !run.end) || this.experimenting; }

  /** Shows how things are. */
  async draw() {
    const { status, sandbox } = this;
    const word = this.over ? status.state : this.running ? "running" : status.runs === 0 && status.status === "running" ? "waiting" : status.status === "running" ? "finished" : status.status;
    document.title = `${sandbox.alias} · agar`;
    this.parts.state.replaceChildren(badge(word),
      h("span", {}, `Sandbox #${this.id.slice(-4)}`), h("code", {}, sandbox.alias),
      h("span", { className: "quiet" }, `${sandbox.agent ? `by ${sandbox.agent} · ` : ""}${age(sandbox.created_at)}`));
    this.setUp(word);
    this.form.hidden = this.over;
    if (this.over) return this.drawDecided();
    if (this.running) this.result.waits("The commands run in the sandbox. You can leave this page: nothing is lost.");
    else if (word === "waiting") this.result.waits("The sandbox waits for commands. Type one below, or discard it.");
    else this.result.ended(status, [...this.runs.values()].reduce((ms, run) => ms + (run.ms ?? 0), 0));
    await this.changes();
    this.wish(word);
  }

  async drawDecided() {
    this.overlay.hide();
    this.mainIs("Main has what was decided.", []);
    const memory = await ask(`/api/memory/sandbox/${this.id}`).catch(() => ({ experiments: [] }));
    this.result.decided(this.status, memory, this.facts);
    sessionStorage.removeItem(WISH + this.id);
    this.parts.wish.replaceChildren();
  }

  /** The set-up, open while there is something to see. @param {string} word */
  setUp(word) {
    const known = recall(this.id);
    const all = steps(known, this.sandbox, this.runs);
    const sum = (known?.steps ?? []).reduce((ms, step) => ms + step.ms, 0);
    const box = this.parts.checklist;
    const busy = all.some((step) => step.state !== "done");
    box.replaceChildren(
      h("summary", {}, h("span", { "aria-hidden": "true" }, "⚡ "), busy ? "Setting up the sandbox" : `Sandbox set up${sum > 0 ? ` in ${Math.round(sum)} ms` : ""}`),
      list(all), ...this.sandbox.warnings.map((/** @type {string} */ warning) => h("p", { className: "warn" }, `⚠️ ${warning}`)));
    if (this.drawnAs !== word) box.open = word === "running" || word === "waiting";
    this.drawnAs = word;
  }

  /** What the sandbox changed so far, and what main did meanwhile. */
  async changes() {
    const diff = await ask(`/v1/sandboxes/${this.id}/diff?patch=true`);
    this.diff = diff;
    this.overlay.show(diff.changes);
    if (this.running) {
      this.mainIs("Main is not touched while this runs.", []);
      return;
    }
    const plan = await ask(`/v1/sandboxes/${this.id}/promote`, { dry_run: true });
    const moved = plan.files.filter((/** @type {any} */ file) => ["merged", "conflict"].includes(file.merge));
    const clash = moved.some((/** @type {any} */ file) => file.merge === "conflict");
    this.mainIs(moved.length === 0 ? "Main is untouched, and what the sandbox changed would merge cleanly."
      : clash ? "You changed the same lines meanwhile: applying asks you which to keep."
        : "You changed the same files meanwhile, in other places: applying keeps both.",
    moved.map((/** @type {any} */ file) => `${file.path}${file.reason ? `: ${file.reason}` : ""}`));
  }

  /** @param {string} words @param {string[]} moved */
  mainIs(words, moved) {
    this.parts.mainState.replaceChildren(
      h("p", {}, h("code", {}, this.sandbox.project_path)),
      h("p", { className: moved.length === 0 ? "good" : "warn" }, `${moved.length === 0 ? "✓" : "●"} ${words}`),
      h("ul", { className: "plain" }, ...moved.map((line) => h("li", {}, line))),
      h("p", { className: "quiet" }, "This side is only looked at. There is no shell to your machine in this page."));
  }

  /** What memory holds, here and for main. */
  async memory() {
    const suggestion = this.sandbox.note ?? this.sandbox.alias;
    const [own, known] = await Promise.all([
      ask(`/api/memory/sandbox/${this.id}`), ask("/api/confidence/calculate", { suggestion }),
    ]);
    this.parts.memory.replaceChildren(
      h("h4", {}, "What this sandbox learned"), learned(own, this.facts.graduated),
      own.patterns.length > 0 ? h("h4", {}, "Patterns seen") : null,
      h("ul", { className: "plain" }, ...own.patterns.map((/** @type {any} */ it) => h("li", {}, "📝 ", ...prose(it.description), h("span", { className: "quiet" }, ` ${it.patternType}`)))));
    this.parts.mainMemory.replaceChildren(
      h("h4", {}, "What the project knows about this"),
      h("p", {}, known.known ? known.headline : "No evidence yet: nothing like it was tried here."),
      h("ul", { className: "plain" },
        ...known.lessons.map((/** @type {any} */ it) => h("li", {}, "📚 ", ...prose(it.sentence))),
        ...known.similar_experiments.map((/** @type {any} */ it) => h("li", {},
          `${it.status === "success" ? "✅ worked" : it.status === "failure" ? "❌ failed" : `⚠️ ${it.status}`}: ${it.suggestion}`,
          h("span", { className: "quiet" }, ` ${age(it.at)}`)))));
  }

  /** Everything there is to know; the changes of one path where one is named. @param {string} [path] */
  details(path) {
    const box = this.parts.details;
    const { sandbox, inspected, diff } = this;
    const patch = path && diff ? partOf(diff.patch ?? "", path) : diff?.patch ?? "";
    const limits = sandbox.limits;
    box.replaceChildren(
      h("div", { className: "line spread" }, h("h3", {}, path ? `Changes of ${path}` : "Details"), h("button", { onclick: () => { box.hidden = true; } }, "Close")),
      patch ? patchView(patch, "Changes") : h("p", { className: "quiet" }, path ? "There is no text to compare." : "No changes in the project."),
      path ? null : h("h4", {}, "Runs"),
      path ? null : h("ul", { className: "plain" }, ...inspected.runs.map((/** @type {any} */ run) => h("li", {}, h("code", {}, typed(run.argv)), h("span", { className: "quiet" }, ` ${run.end ? run.end.how === "exited" ? `exit ${run.end.code}` : run.end.how : "running"} · ${run.usage.wall_ms} ms`)))),
      path ? null : h("h4", {}, "Limits"),
      path ? null : h("p", { className: "quiet" }, [
        limits.cpu_percent ? `${limits.cpu_percent} % CPU` : "", limits.memory_bytes ? `${size(limits.memory_bytes)} memory` : "",
        limits.timeout_ms ? `${limits.timeout_ms / 1000} s a command` : "", limits.disk_bytes ? `${size(limits.disk_bytes)} disk` : "",
        `network ${sandbox.network.mode}`].filter(Boolean).join(" · ")));
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
    box.focus();
  }

  /** Applies where that was wished for and nothing stands in the way. @param {string} word */
  wish(word) {
    const wished = sessionStorage.getItem(WISH + this.id) === "yes";
    const forget = () => { sessionStorage.removeItem(WISH + this.id); this.parts.wish.replaceChildren(); };
    if (!wished) return;
    if (word === "success") {
      forget();
      this.result.apply();
    } else if (word === "running") {
      this.parts.wish.replaceChildren(h("p", { className: "card line" },
        h("span", {}, "⚡ Applied to main as soon as it succeeds and no conflict or check stands in the way."), h("button", { onclick: forget }, "Let me decide")));
    } else {
      forget();
      this.parts.wish.replaceChildren(h("p", { className: "card", role: "status" }, "It did not succeed, so nothing was applied. Main is untouched."));
    }
  }

  /** Listens to what happens. */
  follow() {
    if (this.stop) return;
    this.stop = stream(`/api/sandbox/${this.id}/stream${this.last ? `?after=${this.last}` : ""}`, (data) => this.heard(data), (connected) => {
      if (connected) {
        if (this.lost) tell("");
        this.lost = false;
        this.later();
      } else if (this.over) {
        // A stream ends with its sandbox.
        this.leave();
      } else {
        this.lost = true;
        tell("The connection was lost; it comes back by itself.");
      }
    });
  }

  leave() { this.hangUp(); this.stop?.(); this.stop = undefined; clearTimeout(this.timer); }

  /** @param {any} data */
  heard(data) {
    if (data.type === "output") { this.output.print(data.run, data.text); return; }
    const facts = data.data;
    this.last = data.number;
    switch (data.kind) {
      case "run.started": this.output.started(facts.run, facts.argv); break;
      case "run.ended": this.output.ended(facts.run, facts.end, facts.usage); break;
    }
    if (TURNS.includes(data.kind)) this.later();
  }

  /** Looks again soon, once for many events. */
  later(ms = 60) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.refresh().catch(told); }, ms);
  }
}

/** @param {any} error */
function told(error) { tell(`${error.message} ${error.hint ?? ""}`.trim()); }
