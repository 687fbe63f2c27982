// What every scenario needs: the real server on a throw-away project, and a real Chromium.
//
// A scenario runs in the project's directory with a home and a state directory of its own (the test
// that starts it sees to that), and finds the command in AGAR.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { chromium } from "playwright-core";

/** How long anything may take. Reached only by a failure: the machine may be slow and busy. */
export const PATIENCE_MS = 90_000;

/** The project that the page is about. */
export const project = process.cwd();

const arguments_of_chromium = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage",
];

/** Complains unless it holds. */
export function check(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** Complains unless both are the same. */
export function same(found, wanted, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: found ${a}, wanted ${b}`);
}

/** Waits until something holds, and returns what it came to. */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`still waiting for: ${what}`);
    await new Promise((resume) => setTimeout(resume, 50));
  }
}

/** A file of the project. */
export const read = (path) => readFileSync(join(project, path), "utf8");
export const has = (path) => existsSync(join(project, path));
export function write(path, text) {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

/** Runs the command to its end. */
export function agar(...words) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env.AGAR, words, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (bytes) => { text += bytes; });
    child.stderr.on("data", (bytes) => { text += bytes; });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, text }));
  });
}

/** `agar serve`, and a way to ask it as a program would. */
export class Server {
  /** Starts it; `port` 0 takes any. */
  static async start(port = 0) {
    const server = new Server();
    await server.#begin(port);
    return server;
  }

  async #begin(port) {
    const words = ["serve", "--port", String(port), "--json", "--grace", "2"];
    this.child = spawn(process.env.AGAR, words, { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    this.child.stdout.on("data", (bytes) => { said += bytes; });
    await until("the server to listen", () => {
      check(this.child.exitCode === null, "the server runs");
      return said.includes("\n");
    });
    const told = JSON.parse(said.split("\n")[0]);
    this.link = told.link;
    this.origin = `http://${told.address}`;
    this.port = Number(told.address.split(":").pop());
    this.token = readFileSync(told.token_file, "utf8").trim();
  }

  /** Ends it: asked by TERM, or as a power failure would by KILL. */
  async end(signal = "SIGTERM") {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resume) => this.child.once("exit", resume));
    this.child.kill(signal);
    await ended;
  }

  /** Starts it again where it was. */
  async again() { await this.#begin(this.port); }

  /** Asks as a program. */
  async ask(path, body, method = body === undefined ? "GET" : "POST") {
    const answer = await fetch(this.origin + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : {};
  }
}

/** A browser whose pages may not complain. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.complaints = [];
    browser.chromium = await chromium.launch({
      executablePath: process.env.AGAR_CHROMIUM ?? "/usr/bin/chromium",
      // A page that is taken from disk comes from nowhere, and from there a browser lets nobody reach this machine.
      args: process.env.AGAR_PAGE ? [...arguments_of_chromium, "--disable-features=LocalNetworkAccessChecks"] : arguments_of_chromium,
    });
    return browser;
  }

  /** A person's browser: cookies of its own; `options` as Playwright takes them. */
  async person(options = {}) {
    const context = await this.chromium.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    context.on("page", (page) => this.#hear(page));
    if (process.env.AGAR_PAGE) await from_disk(context, process.env.AGAR_PAGE);
    return context;
  }

  #hear(page) {
    page.on("pageerror", (error) => this.complaints.push(`uncaught: ${error.stack ?? error}`));
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) {
        this.complaints.push(`console: ${text}`);
      }
    });
    page.on("dialog", (dialog) => {
      this.complaints.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
  }

  async end() { await this.chromium.close(); }
}

/** Takes the parts of the page from a directory: for whoever works on them, without building. */
async function from_disk(context, directory) {
  const kinds = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html" };
  const give = (name) => async (route) => {
    const path = join(directory, name ?? basename(new URL(route.request().url()).pathname));
    if (!existsSync(path)) return route.fallback();
    const body = readFileSync(path);
    if (name === undefined) return route.fulfill({ body, contentType: kinds[extname(path)] });
    return route.fulfill({ response: await route.fetch(), body });
  };
  await context.route("**/assets/*", give());
  await context.route((url) => url.pathname === "/", give("index.html"));
}

/** A person who followed the link to a server: their browser and its page. */
export async function visit(browser, server, options) {
  const person = await browser.person(options);
  const page = await person.newPage();
  await page.goto(server.link);
  await page.locator("main .view").waitFor();
  return page;
}
