// What a sandbox changed: what would be applied first, a new directory as one row, and what is ignored or
// outside the project apart. And how it stands, in words that are true.

import { check, same, visit, write } from "../harness.js";

const WORK = [
  "mkdir -p fresh/deep && for i in $(seq 20); do echo $i > fresh/deep/$i.txt; done",
  "echo more >> notes.txt; for i in $(seq 30); do echo $i > cache/$i; done; echo out > ~/outside.txt",
].join("; ");

export default async function ({ server, browser }) {
  write("cache/old", "old\n");
  write("agar.toml", "bulk = ['cache']\n");
  const { sandbox: { id } } = await server.ask("/v1/sandboxes", { note: "much at once" });
  await server.ask(`/v1/sandboxes/${id}/exec`, { command: WORK });
  const page = await visit(browser, server);
  // Its walls stand and nothing runs: that is not running.
  const row = page.locator(".box", { hasText: "much at once" });
  await row.locator(".badge", { hasText: "Idle" }).waitFor();
  await row.locator(".usage", { hasText: "nothing runs now" }).waitFor();
  server.ask(`/v1/sandboxes/${id}/exec`, { command: "until [ -e stop.txt ]; do sleep 0.1; done; rm stop.txt" }).catch(() => {});
  await row.locator(".badge", { hasText: "Running" }).waitFor();
  await server.ask(`/v1/sandboxes/${id}/files?path=stop.txt`, {}, "PUT");
  await row.locator(".badge", { hasText: "Idle" }).waitFor();

  await page.goto(`${server.origin}/#/sandbox/${id}`);
  const overlay = page.getByRole("region", { name: "Changes detected" });
  await overlay.getByText("21 files").waitFor();
  await page.locator(".meta .badge", { hasText: "Idle" }).waitFor();
  const rows = async () => (await overlay.locator(".body > ul > li button").allTextContents()).map((it) => it.split(" ").pop());
  same(await rows(), ["notes.txt"], "what is listed at once");
  for (const [words, within] of [["+ fresh/ 20 new files", "fresh/deep/20.txt"], ["Ignored: 1 directory, not applied", "cache/ 30 files"], [/Outside the project: \d+ paths?, not applied/, "outside.txt"]]) {
    const fold = overlay.locator("details", { hasText: words });
    check(!await fold.getByText(within).first().isVisible(), `${words} is folded`);
    await fold.locator("summary").click();
    await fold.getByText(within).first().waitFor();
  }
  await overlay.getByRole("button", { name: "notes.txt" }).click();
  await page.locator(".details .add", { hasText: "more" }).waitFor();
  // Escape closes it, and the keyboard is where it was.
  await page.keyboard.press("Escape");
  await page.locator(".details").waitFor({ state: "hidden" });
  check((await page.evaluate(() => document.activeElement?.textContent)).includes("notes.txt"), "the focus comes back");

  // A fork that nothing has run in yet is not finished.
  await server.ask(`/v1/sandboxes/${id}/fork`, { count: 1, note: "one more" });
  await page.goto(`${server.origin}/#/`);
  await page.locator(".box", { hasText: "one more" }).locator(".badge", { hasText: "Not run yet" }).waitFor();
}
