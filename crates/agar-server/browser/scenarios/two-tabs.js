// Two tabs show the same experiment; what one decides the other sees.

import { check, has, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const first = await visit(browser, server);
  await first.getByLabel("What do you want to try?").fill("Make a file");
  await first.getByLabel("Commands").fill("echo one; until [ -e go.txt ]; do sleep 0.1; done; echo two > two.txt");
  await first.getByRole("button", { name: "Try This Safely" }).click();
  await first.locator(".badge", { hasText: "Running" }).waitFor();
  const second = await first.context().newPage();
  await second.goto(first.url());
  await second.locator(".log", { hasText: "one" }).waitFor();
  const id = first.url().split("/").pop();
  await server.ask(`/v1/sandboxes/${id}/files?path=go.txt`, {}, "PUT");
  await Promise.all([first, second].map((page) => page.locator(".result.success").waitFor()));
  await second.getByRole("button", { name: "Apply to Main" }).click();
  await Promise.all([first, second].map((page) => page.locator(".result", { hasText: "Applied to main" }).waitFor()));
  check(has("two.txt"), "applied once");
  // Deciding twice at the same moment is settled by the server: undo in one, seen in the other.
  await first.getByRole("button", { name: "Undo" }).click();
  await first.getByRole("button", { name: "Apply to Main" }).waitFor();
  check(!has("two.txt"), "taken back");
}
