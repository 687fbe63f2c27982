// What the settings want run first is part of the set-up, and seen to be.

import { check, visit, write } from "../harness.js";

const WAIT = "echo installing; until [ -e go.txt ]; do sleep 0.1; done; echo installed > deps.txt";

export default async function ({ server, browser }) {
  write("agar.toml", `setup = [${JSON.stringify(WAIT)}]\n`);
  const page = await visit(browser, server);
  await page.getByLabel("What do you want to try?").fill("Use what was installed");
  await page.getByLabel("Commands").fill("cat deps.txt");
  await page.getByRole("button", { name: "Try This Safely" }).click();
  const step = page.locator(".step", { hasText: "Dependencies" });
  await page.locator(".step.works", { hasText: "Dependencies" }).waitFor();
  check((await step.textContent()).includes("until [ -e go.txt ]"), "the step says what it runs");
  await page.locator(".log", { hasText: "installing" }).waitFor();
  const id = page.url().split("/").pop();
  // Another tab, which did not see the beginning, says the same.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.locator(".step.works", { hasText: "Dependencies" }).waitFor();
  await server.ask(`/v1/sandboxes/${id}/files?path=go.txt`, {}, "PUT");
  await page.locator(".result.success").waitFor();
  await page.locator(".log", { hasText: "installed" }).waitFor();
  await page.locator(".step.done", { hasText: "until [ -e go.txt ]" }).waitFor({ state: "attached" });

  // A set-up that fails is a failure with its name.
  write("agar.toml", "setup = [\"exit 3\"]\n");
  await page.goto(`${server.origin}/#/`);
  await page.getByLabel("What do you want to try?").fill("Never gets there");
  await page.getByLabel("Commands").fill("touch never.txt");
  await page.getByRole("button", { name: "Try This Safely" }).click();
  await page.locator(".result.failed", { hasText: "exit 3" }).waitFor();
  await page.locator(".step.failed", { hasText: "Dependencies" }).waitFor({ state: "attached" });
  // A server that was killed and came back says the same.
  await server.end("SIGKILL");
  await server.again();
  await page.reload();
  await page.locator(".result.failed", { hasText: "exit 3" }).waitFor();
  // Something else that is asked of it is a beginning: what failed is not said again.
  await page.getByLabel("Run a command in the sandbox").fill("echo fine > fine.txt");
  await page.keyboard.press("Enter");
  await page.locator(".result.success").waitFor();
}
