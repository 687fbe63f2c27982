// One experiment: how it is set up, main beside its sandbox, how it came out, and the decision.

import { ask, stream } from "/assets/api.js";
import { list, recall, steps } from "/assets/checklist.js";
import { partOf, patchView } from "/assets/diff.js";
import { complain, fill, h, tell } from "/assets/dom.js";
import { filePair } from "/assets/files.js";
import { learned, outcome } from "/assets/outcome.js";
import { outputView, typed } from "/assets/output.js";
import { overlay } from "/assets/overlay.js";
import { split } from "/assets/split.js";
import { decideLater, isToBeApplied, wished } from "/assets/wishes.js";
import { age, badge, by, prose, size } from "/assets/words.js";

/** Events after which what the page shows is out of date. */
const TURNS = ["run.started", "run.ended", "experiment.began", "experiment.ended", "experiment.decided", "sandbox.state", "memory.graduated", "promotion.applied", "promotion.undone", "snapshot.restored"];

/** @type {Record<string, string>} What is said where there is no result yet. */
const says = {
  creating: "The commands are about to run in the sandbox. You can leave this page: nothing is lost.",
  running: "The commands run in the sandbox. You can leave this page: nothing is lost.",
  waiting: "The sandbox waits for commands. Type one below, or discard it.",
  paused: "Everything in the sandbox stands still. `agar resume` lets it go on.",
  interrupted: "It was cut short before its commands ran. Type a command below, or discard it and try again.",
};

/** How long a connection may be lost before anybody is told. */
const LOST_MS = 1000;

/** How long a sandbox may be silent between two commands of one experiment. */
const SILENCE_MS = 5000;

/** How long the commands of a sandbox may take to start once it is set up. */
const START_MS = 60_000;

/** How soon to look again where something must come that nobody tells of. */
const SOON_MS = 1000;

/** Where it is kept that the live terminal of a sandbox is open, so that a reload opens it again. */
const LIVE = "agar.live.";

/**
 * @param {HTMLElement} place
 * @param {string[]} words The sandbox.
 */
export async function show(place, [name]) {
  const first = await ask(`/v1/sandboxes/${encodeURIComponent(name)}`);
  const view = new Experiment(place, first.sandbox);
  view.follow();
  // What fails from here on is tried again when the stream is back.
  await view.refresh().catch(complain);
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
    this.begun = false;
    /** @type {string[]} What ran before the experiment. */
    this.early = [];
    this.heardAt = 0;
    this.output = outputView();
    this.files = filePair(this.id);
    /** @type {(() => void) | undefined} */
    this.stop = undefined;
    /** Leaves the live terminal. */
    this.hangUp = () => {};
    this.timer = 0;
    this.lost = false;
    this.drawnAs = "";
    /** @type {any} What it was made for. */
    this.suggestion = null;
    this.turn = 0;
    this.last = "";
    this.result = outcome(this.id, async () => { await this.refresh(); this.files.refresh(); this.follow(); }, () => this.details());
    this.overlay = overlay((path) => this.details(path));
    this.parts = {
      title: h("h2", { tabIndex: -1 }, sandbox.note ?? sandbox.alias),
      state: h("span", { role: "status" }),
      about: h("span", { className: "line" }),
      wish: h("div", {}),
      checklist: h("details", { className: "card checklist", open: true, hidden: true }),
      mainState: h("div", {}, h("p", { className: "quiet" }, "Looking at main…")), mainMemory: h("div", {}), memory: h("div", {}),
      details: h("section", { className: "card details", "aria-label": "Details", hidden: true, tabIndex: -1 }),
    };
    const parts = this.parts;
    this.split = split(`#${this.id.slice(-4)}`, [
      { word: "Terminal", main: parts.mainState, sandbox: this.terminal() },
      { word: "Files", main: this.files.main, sandbox: this.files.sandbox, shown: () => { this.files.refresh(); } },
      { word: "Memory", main: parts.mainMemory, sandbox: parts.memory, shown: () => { this.memory().catch(complain); } },
    ]);
    place.replaceChildren(
      h("p", { className: "back" }, h("a", { href: "#/" }, "← Sandboxes")),
      parts.title, h("p", { className: "line meta" }, parts.state, parts.about), parts.wish, parts.checklist, this.result.element,
      this.split.element, parts.details, this.overlay.element);
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
        await ask(`/api/sandbox/${this.id}/execute`, { command }).catch(complain);
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
        sessionStorage.setItem(LIVE + this.id, live.open ? "open" : "");
        if (!live.open) return;
        const { mount } = await import("/assets/terminal.js");
        this.hangUp();
        if (live.open) this.hangUp = mount(screen, this.id);
      },
    }, h("summary", {}, "Live terminal"), screen);
    live.open = sessionStorage.getItem(LIVE + this.id) === "open";
    this.liveBox = live;
    return live;
  }

  /** Asks how things are, and shows it. */
  async refresh() {
    const turn = ++this.turn;
    // One after the other: what is said about the outcome is never older than what ran.
    const inspected = await ask(`/v1/sandboxes/${this.id}`);
    const status = await ask(`/api/sandbox/${this.id}/status`);
    if (turn !== this.turn) return;
    this.sandbox = inspected.sandbox;
    this.status = status;
    this.inspected = inspected;
    this.understand(inspected);
    await this.recall();
    if (turn !== this.turn) return;
    await this.draw();
  }

  /** What the record says. @param {any} inspected */
  understand(inspected) {
    this.runs = new Map(inspected.runs.map((/** @type {any} */ run) => [run.number, { argv: run.argv, end: run.end, ms: run.usage.wall_ms }]));
    this.facts = { graduated: 0, promotion: null };
    this.experimenting = false;
    this.begun = false;
    this.early = [];
    let at = 0;
    for (const { kind, data, at: when } of inspected.events) {
      at = when;
      if (kind === "experiment.began") this.experimenting = this.begun = true;
      else if (kind === "run.started" && !this.begun) this.early.push(data.argv.at(-1));
      else if (kind === "experiment.ended") this.experimenting = false;
      else if (kind === "memory.graduated") this.facts.graduated += data.patterns;
      else if (kind === "promotion.applied") this.facts.promotion = data.promotion;
      else if (kind === "promotion.undone") this.facts.promotion = null;
    }
    this.heardAt = at;
    const open = [...this.runs.values()].some((run) => !run.end);
    // An experiment that was cut short has no end: the next command must come soon, or nobody is there.
    const silent = Date.now() - at > SILENCE_MS;
    if (this.experimenting && !open && silent) this.experimenting = false;
    else if (this.experimenting && !open) this.later(SILENCE_MS);
  }

  /** Finds the suggestion that the sandbox was made for. */
  async recall() {
    if (this.suggestion) return;
    const told = this.inspected.events.find((/** @type {any} */ it) => it.kind.startsWith("suggestion."));
    if (!told) return;
    this.suggestion = await ask(`/v1/suggestions/${told.data.suggestion}`).catch(() => null);
    if (this.suggestion) this.parts.title.textContent = this.suggestion.text;
  }

  /** Whether its commands are still to come, and nothing is known to stand in their way. */
  get awaited() { return !this.begun && !this.status.error && this.suggestion?.commands.length > 0; }

  /** Whether its commands are about to run. What ended badly before them is told in a moment, or never. */
  get starting() {
    const failed = [...this.runs.values()].some((run) => run.end && !(run.end.how === "exited" && run.end.code === 0));
    return this.awaited && Date.now() - this.heardAt < (failed ? SILENCE_MS : START_MS);
  }

  /** How it stands, in one word. */
  get word() {
    const { status } = this;
    if (this.over || status.state === "paused") return status.state;
    if (this.running) return "running";
    if (this.starting) return "creating";
    if (this.awaited) return "interrupted";
    if (!["running", "finished"].includes(status.status)) return status.status;
    if (status.runs === 0) return "waiting";
    return status.state === "running" ? "idle" : "finished";
  }

  get over() { return ["promoted", "discarded", "collected"].includes(this.status?.state ?? ""); }
  get running() { return [...this.runs.values()].some((run) => !run.end) || this.experimenting; }

  /** Shows how things are. */
  async draw() {
    const { status, sandbox } = this;
    const word = this.word;
    document.title = `${sandbox.alias} · agar`;
    if (this.drawnAs !== word) this.parts.state.replaceChildren(badge(word));
    this.parts.about.replaceChildren(
      h("span", {}, `Sandbox #${this.id.slice(-4)}`), h("code", {}, sandbox.alias),
      h("span", { className: "quiet" }, `${by(sandbox.agent) ? `by ${by(sandbox.agent)} · ` : ""}${age(sandbox.created_at)}`));
    this.setUp(word);
    this.form.hidden = this.liveBox.hidden = this.over;
    if (this.over) {
      this.hangUp();
      await this.drawDecided();
      return;
    }
    this.split.stand("🧪", word === "running" || word === "creating" ? "Experimenting" : "Waiting for you");
    if (says[word]) this.result.waits(says[word]);
    else this.result.ended(status, [...this.runs.values()].reduce((ms, run) => ms + (run.ms ?? 0), 0));
    await this.changes();
    this.wish(word);
    // The end of a set-up that failed is written down after the last event.
    if (word === "creating") this.later(SOON_MS);
  }

  async drawDecided() {
    const applied = this.status.state === "promoted";
    this.overlay.hide();
    this.split.stand(applied ? "✅" : "🗑", applied ? "Applied" : "Discarded");
    this.mainIs(applied ? "Main has the sandbox's changes." : "Main was never touched.", []);
    const memory = await ask(`/api/memory/sandbox/${this.id}`).catch(() => ({ experiments: [] }));
    this.result.decided(this.status, memory, this.facts);
    decideLater(this.id);
    this.parts.wish.replaceChildren();
  }

  /** The set-up, open while there is something to see. @param {string} word */
  setUp(word) {
    const known = recall(this.id);
    // What ran before the experiment began was its set-up; another tab may have seen it listed.
    const wanted = known?.setup ?? (this.suggestion?.commands.length > 0 ? this.early : []);
    const all = steps(known, this.sandbox, wanted, this.runs);
    const sum = (known?.steps ?? []).reduce((ms, step) => ms + step.ms, 0);
    const box = this.parts.checklist;
    const busy = all.some((step) => step.state !== "done");
    box.replaceChildren(
      h("summary", {}, h("span", { "aria-hidden": "true" }, "⚡ "), busy ? "Setting up the sandbox" : `Sandbox set up${sum > 0 ? ` in ${Math.round(sum)} ms` : ""}`),
      list(all), ...this.sandbox.warnings.map((/** @type {string} */ warning) => h("p", { className: "warn" }, `⚠️ ${warning}`)));
    box.hidden = false;
    if (this.drawnAs !== word) box.open = ["creating", "running", "waiting"].includes(word);
    this.drawnAs = word;
  }

  /** What the sandbox changed so far, and what main did meanwhile. */
  async changes() {
    const diff = await ask(`/v1/sandboxes/${this.id}/diff?patch=true`);
    this.diff = diff;
    this.overlay.show(diff.changes);
    if (this.running || this.starting) {
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
    const suggestion = this.suggestion?.text ?? this.sandbox.note ?? this.sandbox.alias;
    const [own, known] = await Promise.all([
      ask(`/api/memory/sandbox/${this.id}`), ask("/api/confidence/calculate", { suggestion }),
    ]);
    fill(this.parts.memory,
      h("h4", {}, "What this sandbox learned"), learned(own, this.facts.graduated),
      own.patterns.length > 0 ? h("h4", {}, "Patterns seen") : null,
      h("ul", { className: "plain" }, ...own.patterns.map((/** @type {any} */ it) => h("li", {}, "📝 ", ...prose(it.description), h("span", { className: "quiet" }, ` ${it.patternType}`)))));
    fill(this.parts.mainMemory,
      h("h4", {}, "What the project knows about this"),
      wished("hide-confidence") ? null : h("p", {}, known.known ? known.headline : "No evidence yet: nothing like it was tried here."),
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
    const opener = /** @type {HTMLElement | null} */ (document.activeElement);
    const close = () => { box.hidden = true; (opener?.isConnected ? opener : this.parts.title).focus(); };
    box.onkeydown = (/** @type {KeyboardEvent} */ event) => { if (event.key === "Escape") close(); };
    fill(box,
      h("div", { className: "line spread" }, h("h3", {}, path ? `Changes of ${path}` : "Details"), h("button", { onclick: close }, "Close")),
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
    const forget = () => { decideLater(this.id); this.parts.wish.replaceChildren(); };
    if (!isToBeApplied(this.id)) return;
    if (word === "success") {
      forget();
      this.result.apply();
    } else if (word !== "failed" && word !== "partial") {
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
    this.stop = stream(`/api/sandbox/${this.id}/stream`, (data) => this.heard(data), (connected) => {
      if (connected) {
        if (this.lost) tell("");
        this.lost = false;
        this.later();
      } else if (this.over) {
        // A stream ends with its sandbox.
        this.leave();
      } else {
        this.lost = true;
        // A stream ends with its sandbox too, and that is known in a moment.
        this.later();
        setTimeout(() => {
          if (this.lost && this.stop && !this.over) tell("The connection was lost; it comes back by itself.", true);
        }, LOST_MS);
      }
    }, this.last);
  }

  /** Listens no more. */
  leave() { this.hangUp(); this.stop?.(); this.stop = undefined; clearTimeout(this.timer); }

  /** @param {any} data */
  heard(data) {
    if (data.type === "output") { this.output.print(data.run, data.text); return; }
    const facts = data.data;
    this.last = String(data.number);
    switch (data.kind) {
      case "run.started": this.output.started(facts.run, facts.argv); break;
      case "run.ended": this.output.ended(facts.run, facts.end, facts.usage); break;
    }
    if (TURNS.includes(data.kind)) this.later();
  }

  /** Looks again soon, once for many events. */
  later(ms = 60) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.refresh().catch((error) => { if (!this.lost) complain(error); }); }, ms);
  }
}
