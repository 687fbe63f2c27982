// The live terminal: keys and colours, no complaint of the policy, and the same one after a reload.

import { check, same, until, visit } from "../harness.js";
import { prompted } from "../life.js";

/** What the terminal shows. */
const shown = (page) => page.locator(".xterm-rows").innerText();

async function open(page) {
  await page.locator("summary", { hasText: "Live terminal" }).click();
  await there(page);
}

/** Waits for it, and has the keyboard in it. */
async function there(page) {
  await prompted(page);
  await page.locator(".xterm-helper-textarea").focus();
}

export default async function ({ server, browser }) {
  const made = await server.ask("/v1/sandboxes", {});
  const id = made.sandbox.id;
  const page = await visit(browser, server);
  await page.goto(`${server.origin}/#/sandbox/${id}`);
  await open(page);
  await page.keyboard.type("word=kept; echo gr\u00fc\u00dfe $((6*7))\n");
  await until("what was typed to be done", async () => (await shown(page)).includes("gr\u00fc\u00dfe 42"));
  // Colours that xterm.js writes into style attributes, and its style sheet, are there all the same.
  await page.keyboard.type("printf '\\033[38;2;200;0;0mcolou''red\\033[0m\\n'\n");
  const colour = await until("colours", () => page.evaluate(() => {
    const found = [...document.querySelectorAll(".xterm-rows span")].find((it) => it.textContent.startsWith("coloured"));
    return found ? getComputedStyle(found).color : "";
  }));
  const [red, green, blue] = colour.match(/\d+/g).map(Number);
  check(red > 100 && green < 60 && blue < 60, `it is red: ${colour}`);
  // Ctrl-C reaches what runs.
  await page.keyboard.type("sh -c 'trap \"echo caught; exit\" INT; echo begun; while :; do sleep 0.1; done'\n");
  await until("the command to begin", async () => /^begun$/m.test(await shown(page)));
  await page.keyboard.press("Control+c");
  await until("the command to be interrupted", async () => /^\^?C?caught$/m.test(await shown(page)));
  // A second tab looks at the same terminal.
  const second = await page.context().newPage();
  await second.goto(`${server.origin}/#/sandbox/${id}`);
  await open(second);
  await second.keyboard.type("echo sec''ond\n");
  await until("both to see it", async () => /^second$/m.test(await shown(page)));
  await second.close();
  // The tab key is the shell's; another key leads out, forward and back.
  await page.keyboard.press("F6");
  check(await page.evaluate(() => document.activeElement.className.includes("terminal-leave")), "F6 leads out");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+F6");
  same(await page.evaluate(() => document.activeElement.textContent), "Live terminal", "where Shift+F6 leads");
  // What was open is open after a reload.
  await page.reload();
  await there(page);
  await page.keyboard.type("echo \"again $word\"\n");
  await until("the same shell", async () => (await shown(page)).includes("again kept"));
  // The server goes and comes back under it.
  await server.end();
  await page.locator("[data-terminal=away]").waitFor();
  await server.again();
  await page.locator("[data-terminal=open]").waitFor();
  // A browser says when nobody answers; everything else it may complain about counts.
  browser.complaints = browser.complaints.filter((text) => !/WebSocket.*ERR_CONNECTION_REFUSED/.test(text));
  await page.locator(".xterm-helper-textarea").focus();
  await until("keys to arrive again", async () => {
    await page.keyboard.type("echo b''ack $word\n");
    return (await shown(page)).includes("back kept");
  });
  // Links that a sandbox prints lead nowhere, and what it prints is text.
  await page.keyboard.type("printf '\\033]8;;http://evil.example/\\033\\\\<b>li''nk</b>\\033]8;;\\033\\\\\\n'\n");
  await until("it to be shown", async () => (await shown(page)).includes("<b>link</b>"));
  const { x, y, width, height } = await page.locator(".xterm-rows").getByText("<b>link</b>").last().boundingBox();
  await page.mouse.click(x + width / 2, y + height / 2);
  same(page.context().pages().length, 1, "pages");
  await page.keyboard.type("exit\n");
  await page.locator("[data-terminal=over]").waitFor();
  check(await page.getByText("Press Enter for another one").isVisible(), "what to do now");
  await page.keyboard.press("Enter");
  await page.locator("[data-terminal=open]").waitFor();
  await server.ask(`/v1/sandboxes/${id}?force=true`, undefined, "DELETE");
}
