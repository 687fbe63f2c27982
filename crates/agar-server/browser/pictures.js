// Makes a picture of everything there is to see, in light and dark, wide and narrow: `node pictures.js DIRECTORY`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Browser, Server, visit } from "./harness.js";
import { depths, everything, go, views } from "./life.js";

const directory = process.argv[2];
mkdirSync(directory, { recursive: true });
const server = await Server.start();
const browser = await Browser.start();
const kinds = ["light", "dark"].flatMap((colorScheme) => [[1280, 900], [390, 844]].map(([width, height]) => ({ colorScheme, width, height })));
let link = server.link;
try {
  // Before anything was ever tried.
  await each(async (page, kind) => {
    for (const name of ["", "experiments", "memory", "populations"]) {
      await go(page, server, [name, `#/${name}`, [".empty"]]);
      await picture(page, `empty-${name || "dashboard"}`, kind);
    }
  });
  const made = await everything(server);
  await each(async (page, kind) => {
    for (const view of views(made)) {
      await go(page, server, view);
      if (view[0] === "dashboard") await page.locator(".spark polyline").first().waitFor();
      await picture(page, view[0], kind);
    }
    for (const [name, address, wanted, deeper] of depths(made)) {
      await page.goto("about:blank");
      await go(page, server, [name, address, wanted]);
      await deeper(page);
      await picture(page, name, kind, !await page.locator("dialog[open]").count());
    }
  });
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join("\n"));
} finally {
  await browser.end();
  await server.end();
}

/** Does something in each kind of window. */
async function each(work) {
  for (const kind of kinds) {
    const { colorScheme, width, height } = kind;
    const page = await visit(browser, { link }, { viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
    const cookies = await page.context().cookies();
    await work(page, kind);
    await page.context().close();
    link = await another(cookies);
  }
}

async function picture(page, name, { colorScheme, width }, fullPage = true) {
  const path = join(directory, `${name}-${colorScheme}-${width}.png`);
  await page.screenshot({ path, fullPage });
  console.log(path);
}

/** A link works once: the next person comes with the cookie of the first. */
async function another(cookies) {
  const person = browser.person.bind(browser);
  browser.person = async (options) => {
    const context = await person(options);
    await context.addCookies(cookies);
    return context;
  };
  return server.origin;
}
