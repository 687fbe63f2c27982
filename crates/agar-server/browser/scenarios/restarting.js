// The server goes down under the page and comes back: the page goes on, and misses nothing.

import { agar, check, same, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const page = await visit(browser, server);
  await page.getByLabel("What do you want to try?").fill("Say something");
  await page.getByLabel("Commands").fill("echo first");
  await page.getByRole("button", { name: "Try This Safely" }).click();
  await page.locator(".result.success").waitFor();
  const alias = await page.locator(".meta code").textContent();
  await server.end("SIGKILL");
  await page.locator("#said", { hasText: "connection was lost" }).waitFor();
  // What happens meanwhile is told afterwards, whoever did it.
  const ran = await agar("exec", alias, "--", "sh", "-c", "echo meanwhile");
  same(ran.code, 0, ran.text);
  await server.again();
  await page.locator(".log", { hasText: "meanwhile" }).waitFor();
  await page.locator("#said:empty").waitFor({ state: "attached" });
  same((await page.locator(".log .printed").allTextContents()).join(""), "first\nmeanwhile\n", "everything, once");
  // The cookie still counts, and the page can do things.
  await page.getByLabel("Run a command in the sandbox").fill("echo third > third.txt; cat third.txt");
  await page.keyboard.press("Enter");
  await page.locator(".log", { hasText: "third" }).waitFor();
  await page.locator(".overlay", { hasText: "third.txt" }).waitFor();
  // Asked to end while something runs, it ends the run and says so.
  await page.getByLabel("Run a command in the sandbox").fill("echo long; sleep 600");
  await page.keyboard.press("Enter");
  await page.locator(".log", { hasText: "long" }).waitFor();
  await server.end();
  await server.again();
  await page.locator(".run").last().locator(".foot .bad").waitFor();
  await page.locator(".badge", { hasText: "Running" }).waitFor({ state: "detached" });
  check(await page.getByRole("button", { name: "Discard" }).isVisible(), "there is a way on");
  // A view that was asked for while nobody answered comes up when somebody does.
  await server.end();
  await page.getByRole("link", { name: "← Sandboxes" }).click();
  await page.locator(".trouble", { hasText: "does not answer" }).waitFor();
  await server.again();
  await page.getByLabel("What do you want to try?").waitFor();
  // Also one whose script was never loaded.
  await server.end();
  await page.getByRole("link", { name: "Memory" }).click();
  await page.locator(".trouble", { hasText: "does not answer" }).waitFor();
  await server.again();
  await page.locator("main h2", { hasText: "Patterns" }).waitFor();
}
