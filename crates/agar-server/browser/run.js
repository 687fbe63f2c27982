// Runs one scenario: `node run.js NAME`. What fails is said with a picture of every open page.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Browser, Server } from "./harness.js";

const name = process.argv[2];
const { default: scenario } = await import(`./scenarios/${name}.js`);
const server = await Server.start();
const browser = await Browser.start();
let failure = null;
try {
  await scenario({ server, browser });
  if (browser.complaints.length > 0) throw new Error(`the page complained:\n${browser.complaints.join("\n")}`);
} catch (error) {
  failure = error;
  await picture();
}
await browser.end();
await server.end();
if (failure) {
  console.error(`${name}: ${failure.stack ?? failure}`);
  if (browser.complaints.length > 0) console.error(browser.complaints.join("\n"));
}
process.exit(failure ? 1 : 0);

/** Keeps what was seen when it failed. */
async function picture() {
  const directory = process.env.AGAR_PICTURES;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  const pages = browser.chromium.contexts().flatMap((context) => context.pages());
  for (const [index, page] of pages.entries()) {
    const path = join(directory, `${name}-${index}.png`);
    await page.screenshot({ path, fullPage: true, timeout: 10_000 }).then(
      () => console.error(`a picture of it: ${path}`),
      () => {},
    );
  }
}
