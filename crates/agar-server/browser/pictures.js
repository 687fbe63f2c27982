// Makes a picture of every view in light and dark, wide and narrow: `node pictures.js DIRECTORY`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Browser, Server, visit } from "./harness.js";
import { everything, go, views } from "./life.js";

const directory = process.argv[2];
mkdirSync(directory, { recursive: true });
const server = await Server.start();
const browser = await Browser.start();
try {
  const made = await everything(server);
  let link = server.link;
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 900], [390, 844]]) {
      const page = await visit(browser, { link }, { viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
      const cookies = await page.context().cookies();
      for (const view of views(made)) {
        const [name] = view;
        await go(page, server, view);
        if (name === "dashboard") await page.locator(".spark polyline").first().waitFor();
        const path = join(directory, `${name}-${colorScheme}-${width}.png`);
        await page.screenshot({ path, fullPage: true });
        console.log(path);
      }
      await page.goto(`${server.origin}/#/`);
      await page.locator(".box", { hasText: "migrate the orders" }).getByRole("button", { name: "Lineage" }).first().click();
      await page.locator(".tree").waitFor();
      const path = join(directory, `lineage-${colorScheme}-${width}.png`);
      await page.screenshot({ path });
      console.log(path);
      await page.context().close();
      link = await another(cookies);
    }
  }
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join("\n"));
} finally {
  await browser.end();
  await server.end();
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
