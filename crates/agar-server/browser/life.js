// A project with a past: experiments of the last month, sandboxes in every state, a population.
// The same each time, for pictures and for checks that want something to look at.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { agar, check, until } from "./harness.js";

const DAY = 86_400_000;

/** Numbers from 0 to 1 that look random and are not. */
export function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What people and agents try in such a project: how often it works, and what it says when not. */
const attempts = [
  { text: "Upgrade every dependency to its newest version", commands: [["npm", "update"]], works: 0.35, change: "dependency",
    error: "error: peer dependency conflict: react-table 8 needs react 18\nerror: could not resolve the tree" },
  { text: "Upgrade the dependencies one by one, testing between", commands: [["npm", "install"], ["npm", "test"]], works: 0.85,
    error: "FAIL src/cart.test.js: total is rounded twice" },
  { text: "Update the patch versions only", commands: [["npm", "update", "--patch"]], works: 0.95, error: "error: registry answered 503" },
  { text: "Migrate the orders table to PostgreSQL", commands: [["./scripts/migrate.sh"]], works: 0.3,
    error: "ERROR: relation \"orders\" does not exist\nmigration 0007 failed" },
  { text: "Cache the product list for a minute", commands: [["npm", "run", "bench"]], works: 0.8, error: "AssertionError: stale price shown" },
  { text: "Replace moment by the platform's own dates", commands: [["npm", "test"]], works: 0.6, error: "TypeError: date.format is not a function" },
  { text: "Turn on strict mode in the type checker", commands: [["npx", "tsc", "--strict"]], works: 0.45, error: "error TS2345: Argument of type 'undefined' is not assignable" },
  { text: "Remove the unused exports", commands: [["npm", "run", "lint"]], works: 0.9, error: "error: 'formatPrice' is not exported" },
];
const agents = ["claude", "codex", "person"];

/** An id that grows with time. */
function id(at, number) {
  const time = at.toString(16).padStart(12, "0");
  const rest = number.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${rest}`;
}

/** Lines of an export with so many experiments of the last days. */
export function* past(count, days = 30, now = Date.now()) {
  const random = chance(7);
  for (let number = 0; number < count; number += 1) {
    const at = Math.round(now - days * DAY * (1 - (number + random() * 0.8) / count));
    const attempt = attempts[Math.floor(random() * attempts.length)];
    // They learn: late attempts work more often than early ones.
    const luck = random() - 0.15 * (number / count);
    const status = luck < attempt.works ? "success" : luck < attempt.works + 0.08 ? "partial" : "failure";
    const failed = status !== "success";
    yield {
      agar: "experiment", id: id(at, number + 1), sandbox: id(at, number + 1_000_000),
      suggestion: { text: attempt.text, agent: agents[Math.floor(random() * agents.length)], commands: attempt.commands },
      started: at,
      ending: {
        id: id(at, number + 1), status, at: at + 2000 + Math.round(random() * 60_000),
        operations: attempt.commands.map((command) => ({ command, exit: failed ? 1 : 0, started: at, millis: 1500 })),
        changed: status === "failure" ? [] : ["package.json", "package-lock.json"],
        output: failed ? attempt.error : "",
        failure_reasons: failed ? [attempt.error.split("\n")[0]] : [],
        partial: status === "partial" ? { whatWorked: ["it builds"], whatFailed: [attempt.error.split("\n")[0]] } : null,
        cost: { wall_millis: 2000 + Math.round(random() * 20_000), cpu_millis: 1500, memory_bytes: 200_000_000 },
      },
      decision: status === "success" ? { accepted: true, at: at + 90_000 } : null,
    };
  }
}

/** Remembers so many experiments. */
export async function remember(count) {
  const file = join(process.env.TMPDIR ?? "/tmp", `past-${count}.jsonl`);
  writeFileSync(file, [...past(count)].map((line) => JSON.stringify(line)).join("\n"));
  const told = await agar("memory", "import", file);
  check(told.code === 0, `a past of ${count} experiments is taken in: ${told.text}`);
}

/** Lets what holds in that past be a pattern. */
export async function graduate(server) {
  const { found } = await server.ask("/v1/memory/search?limit=200&words=npm%20install%20test%20update%20package.json%20lint%20bench");
  const { experiments } = await server.ask("/v1/experiments?limit=100");
  const kinds = ["command", "files", "strategy"];
  const lines = found.filter((it) => it.what === "finding" && kinds.includes(it.kind)).map((it, number) => ({
    agar: "pattern", row: `row-${number}`, sandbox: experiments[number % experiments.length].sandbox, kind: it.kind, description: it.sentence,
    occurrences: 5, success_rate: 0.8, confidence: 0.8, first_seen: new Date(Date.now() - DAY).toISOString(),
    last_seen: new Date().toISOString(), metadata: "{}", pattern: it.id, source: "sandbox_graduation",
  }));
  const file = join(process.env.TMPDIR ?? "/tmp", "patterns.jsonl");
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  const told = await agar("memory", "import", file);
  check(told.code === 0, `patterns are taken in: ${told.text}`);
}

/** Makes a sandbox and runs lines in it. */
export async function sandbox(server, note, ...commands) {
  const { sandbox: { id: name } } = await server.ask("/v1/sandboxes", { note });
  for (const command of commands) await server.ask(`/v1/sandboxes/${name}/exec`, { command });
  return name;
}

/** Everything: for pictures, and for whoever checks every view. */
export async function everything(server) {
  await remember(160);
  await graduate(server);
  await server.ask("/v1/suggestions", { text: "Move the price rounding to one place", commands: ["npm test"], agent: "claude" });
  const first = await sandbox(server, "migrate the orders table", "echo 'create table orders (id int);' > schema.sql", "false || true");
  await server.ask(`/v1/sandboxes/${first}/snapshots`, { name: "before-seven" });
  const { forks } = await server.ask(`/v1/sandboxes/${first}/fork`, { count: 2, note: "another way to migrate" });
  await server.ask(`/v1/sandboxes/${forks[0].id}/exec`, { command: "echo 'create index;' >> schema.sql" });
  await server.ask(`/v1/sandboxes/${forks[0].id}/fork`, { count: 1, note: "the same with an index" });
  const applied = await sandbox(server, "update the notes", "echo more > more.txt");
  await server.ask(`/v1/sandboxes/${applied}/promote`, { stop: true });
  const given = await sandbox(server, "rewrite everything", "echo x > x.txt");
  await server.ask(`/v1/sandboxes/${given}?force=true`, undefined, "DELETE");
  const busy = await sandbox(server, "npm update && npm test");
  const work = "i=0; while :; do i=$((i+1)); [ $((i % 30000)) -eq 0 ] && sleep 0.3; done";
  server.ask(`/v1/sandboxes/${busy}/exec`, { command: work }).catch(() => {});
  await until("something to run", async () => (await server.ask("/v1/usage")).sandboxes.some((it) => it.id === busy));
  const evolved = await agar("evolve", "run", "--target", "x^3 - 2*x + 1", "-g", "12", "--name", "cubic");
  check([0, 1].includes(evolved.code), `a population breeds: ${evolved.text}`);
  return { first, busy, ...await tried(server) };
}

/** Experiments that came out: one well, one not, and one that met an edit made meanwhile. */
async function tried(server) {
  const ended = async (text, ...commands) => {
    const { id: name } = await server.ask("/api/sandbox/create", { suggestion: text, commands });
    await until(`"${text}" to end`, async () => ["success", "failed", "partial"].includes((await server.ask(`/api/sandbox/${name}/status`)).status));
    return name;
  };
  const worked = await ended("Sort the orders once, when they are read", "mkdir -p reports && for i in $(seq 12); do echo $i > reports/$i.txt; done",
    "echo 'sorted once' > orders.txt; sed -i s/second/SECOND/ notes.txt; echo 148 tests passed");
  const failed = await ended("Migrate the orders table to PostgreSQL", "echo half > half.txt; echo 'ERROR: relation \"orders\" does not exist' >&2; exit 1");
  writeFileSync("titles.txt", "orders\ncustomers\n");
  const clash = await ended("Say it in capitals", "sed -i s/orders/ORDERS/ titles.txt");
  writeFileSync("titles.txt", "open orders\ncustomers\n");
  return { worked, failed, clash };
}

/** Every view of the page by a name for files, with its address and what shows that it is there. */
export function views({ first, worked, failed }) {
  return [
    ["dashboard", "#/", [".box", ".inbox .card", ".usage:not(:empty)"]], ["experiments", "#/experiments", [".experiment"]],
    ["memory", "#/memory", ["figure:has-text('Reliability') svg .dot"]], ["populations", "#/populations", ["progress"]],
    ["population", "#/populations/cubic", ["svg .person"]], ["settings", "#/settings", [".wish"]],
    ["sandbox", `#/sandbox/${first}`, [".result .actions", ".overlay:not([hidden])", ".pane .body p.good"]],
    ["success", `#/sandbox/${worked}`, [".result.success", ".overlay:not([hidden])", ".pane .body p.good"]],
    ["failure", `#/sandbox/${failed}`, [".result.failed", ".log .foot .bad", ".pane .body p.good"]],
  ];
}

/** What there is to see only after something was pressed: a name, an address, and the way there from it. */
export function depths({ first, worked, clash }) {
  const press = (/** @type {string} */ name, within = "") => (page) => page.locator(within || "main").getByRole("button", { name }).first().click();
  const tab = (/** @type {string} */ name, wanted) => async (page) => {
    await page.getByRole("tab", { name }).click();
    await page.locator(wanted).first().waitFor();
  };
  const dialog = (go) => async (page) => { await go(page); await page.locator("dialog[open]").waitFor(); };
  return [
    ["fork", "#/", [".box"], dialog(press("Fork", ".box"))],
    ["snapshot", "#/", [".box"], dialog(press("Snapshot", ".box"))],
    ["discard", "#/", [".box"], dialog(press("Discard", ".box"))],
    ["lineage", "#/", [".box"], async (page) => {
      await page.locator(".box:has(.about:text-is('migrate the orders table'))").getByRole("button", { name: "Lineage" }).first().click();
      await page.locator(".tree").waitFor();
    }],
    ["forget", "#/memory", ["#forget-text"], dialog(async (page) => {
      await page.locator("#forget-text").fill("a customer's name");
      await page.locator("form").getByRole("button", { name: "Forget" }).click();
    })],
    ["finding", "#/memory", [".finding .where"], async (page) => {
      await page.locator(".finding summary").first().click();
      await page.getByRole("button", { name: "Forget this" }).first().waitFor();
    }],
    ["experiment", "#/experiments", [".experiment"], async (page) => {
      await page.locator(".experiment", { hasText: "Failed" }).locator(".name").first().click();
      await page.locator("h2", { hasText: "Why it failed" }).waitFor();
    }],
    ["no-experiment", "#/experiments", [".experiment"], async (page) => {
      await page.getByLabel("Find experiments").fill("nothing like it");
      await page.locator(".empty").waitFor();
    }],
    ["files", `#/sandbox/${worked}`, [".result"], tab("Files", ".listing .tag.warn:visible")],
    ["remembered", `#/sandbox/${worked}`, [".result"], tab("Memory", ".pane.safe h4:visible")],
    ["details", `#/sandbox/${worked}`, [".result.success", ".overlay:not([hidden])"], async (page) => {
      await page.getByRole("button", { name: "View Details" }).click();
      await page.locator(".details .patch").waitFor();
    }],
    ["conflict", `#/sandbox/${clash}`, [".result.success"], async (page) => {
      await page.getByRole("button", { name: "Apply to Main" }).click();
      await page.locator(".conflicts").waitFor();
    }],
    ["live", `#/sandbox/${first}`, [".result"], async (page) => {
      // What was open before is open again.
      if (!await page.locator("details.live[open]").count()) await page.locator("summary", { hasText: "Live terminal" }).click();
      await prompted(page);
      await page.locator("summary", { hasText: "Live terminal" }).evaluate((it) => it.scrollIntoView());
    }],
    ["asking", "#/settings/http%3A%2F%2Flocalhost%3A8000", [".asks"], async () => {}],
    ["allowed", "#/settings", [".allow"], async (page) => {
      await page.getByLabel("Address of the page").fill("http://localhost:3000/editor");
      await page.getByRole("button", { name: "Allow" }).click();
      await page.locator(".guests pre").first().waitFor();
    }],
    ["nothing-there", "#/sandbox/no-such-sandbox", [".trouble"], async () => {}],
  ];
}

/** Waits until the live terminal shows something. It draws only what is within the window, so that it is brought there. */
export async function prompted(page) {
  await page.locator("[data-terminal=open]").waitFor();
  await page.locator(".terminal-screen").evaluate((it) => it.scrollIntoView());
  await until("a prompt", async () => (await page.locator(".xterm-rows").innerText()).trim() !== "");
}

/** Goes to a view and waits until it is there. The page asks again and again: it is never quiet. */
export async function go(page, server, [, address, wanted]) {
  await page.goto(`${server.origin}/${address}`);
  for (const selector of wanted) await page.locator(selector).first().waitFor();
}
