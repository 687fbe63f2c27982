// The set-up of a sandbox, step by step with times, as the seed draws it.

import { h } from "/assets/dom.js";
import { took } from "/assets/words.js";

/** @typedef {{ word: string, ms?: number | null, state: "waits" | "works" | "done" | "failed", more?: string }} Step */

/** @type {Record<string, [string, string]>} */
const marks = { waits: ["○", "waits"], works: ["◐", "under way"], done: ["✓", "done"], failed: ["✗", "failed"] };

/** @type {Record<string, string>} What the server calls a step, and what a person does. */
const words = {
  generation: "Project frozen as a generation", sandbox: "Isolated session created",
  session: "Isolated session created", record: "Suggestion recorded", memory: "Memory consulted",
};

/**
 * The list.
 * @param {Step[]} steps
 */
export function list(steps) {
  return h("ol", { className: "steps" }, ...steps.map((step) => {
    const [sign, word] = marks[step.state];
    return h("li", { className: `step ${step.state}` },
      h("span", { className: "sign", "aria-hidden": "true" }, sign),
      h("span", { className: "said-only" }, `${word}: `),
      h("span", {}, step.word, step.more ? h("span", { className: "quiet" }, ` ${step.more}`) : null),
      h("span", { className: "time quiet" }, step.ms === undefined || step.ms === null ? "" : took(step.ms)));
  }));
}

/** What is shown until the sandbox is there. */
export function pending() {
  return h("div", { className: "checklist", role: "status" },
    h("h3", {}, h("span", { "aria-hidden": "true" }, "⚡ "), "Creating sandbox…"),
    list([
      { word: words.generation, state: "works" }, { word: words.session, state: "waits" },
      { word: words.memory, state: "waits" }, { word: "Dependencies", state: "waits" },
    ]));
}

/**
 * Keeps the times of a set-up for when the page is loaded again.
 * @param {any} made What the server answered.
 */
export function remember(made) {
  sessionStorage.setItem(`agar.setup.${made.id}`, JSON.stringify({ steps: made.checklist, setup: made.setup }));
}

/**
 * The times of a set-up, where this tab saw it.
 * @param {string} id
 * @returns {{ steps: { step: string, ms: number }[], setup: string[] } | null}
 */
export function recall(id) {
  return JSON.parse(sessionStorage.getItem(`agar.setup.${id}`) ?? "null");
}

/**
 * The steps of a sandbox that is there.
 * @param {any} known What was remembered, or nothing.
 * @param {any} sandbox
 * @param {string[]} wanted Commands of the set-up.
 * @param {Map<number, any>} runs
 * @returns {Step[]}
 */
export function steps(known, sandbox, wanted, runs) {
  const base = sandbox.base.kind === "frozen" ? "Project frozen as a generation" : "Project watched as a live base";
  const walls = `${sandbox.tier} walls, network ${sandbox.network.mode}`;
  const ms = (/** @type {string} */ name) => known?.steps.find((/** @type {any} */ it) => it.step === name)?.ms;
  /** @type {Step[]} */
  const made = [
    { word: base, state: "done", ms: ms("generation") },
    { word: words.session, state: "done", ms: ms("session") ?? ms("sandbox"), more: walls },
    { word: words.memory, state: "done", ms: ms("memory") },
  ];
  if (wanted.length === 0) {
    made.push({ word: "Dependencies", state: "done", more: "nothing to install" });
  }
  for (const line of wanted) {
    const run = [...runs.values()].find((it) => it.argv.at(-1) === line);
    const state = !run ? "waits" : !run.end ? "works" : run.end.code === 0 ? "done" : "failed";
    made.push({ word: "Dependencies", state, ms: run?.ms, more: line });
  }
  return made;
}
