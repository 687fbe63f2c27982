"use strict";
const fs = require("fs");
const vm = require("vm");
const write = fs.writeSync;
let waiting = Buffer.alloc(0);
let known = {};

function more() {
  const some = Buffer.alloc(65536);
  for (;;) {
    try {
      const count = fs.readSync(0, some);
      if (count === 0) process.exit(0);
      waiting = Buffer.concat([waiting, some.subarray(0, count)]);
      return;
    } catch (error) {
      if (error.code === "EOF") process.exit(0);
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function take(count) {
  while (waiting.length < count) more();
  const taken = waiting.subarray(0, count);
  waiting = waiting.subarray(count);
  return taken;
}

function line() {
  while (waiting.indexOf(10) < 0) more();
  return take(waiting.indexOf(10) + 1).toString().trim().split(" ");
}

function say(bytes) {
  for (let at = 0; at < bytes.length; ) at += write(1, bytes, at);
}

// What the code prints must not be taken for an answer.
const quiet = { log() {}, error() {}, warn() {}, info() {}, debug() {} };

// Bytes and text as they are, nothing for nothing, data as JSON.
function text(value) {
  if (Buffer.isBuffer(value)) return value;
  if (value === undefined || value === null) return "";
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

function answer(verb, data, schema) {
  if (verb === "load") {
    known = vm.createContext({ console: quiet, Buffer, TextEncoder, TextDecoder });
    vm.runInContext(data.toString(), known, { filename: "genome" });
    return [""];
  }
  const call = (name, ...given) => vm.runInContext(name, known)(...given);
  const has = (name) => vm.runInContext("typeof " + name, known) === "function";
  if (verb === "evaluate" || verb === "step") return [call(verb, data.toString())];
  const version = vm.runInContext("typeof SCHEMA === 'number' ? SCHEMA >>> 0 : 0", known);
  if (verb === "save") return [has("save") ? call("save") : "", version];
  if (verb === "state") {
    let state = data.toString();
    if (schema !== version && has("migrate")) {
      state = text(call("migrate", state, schema)).toString();
      schema = version;
    }
    if (has("load")) call("load", state, schema);
    return [""];
  }
  throw new Error("unknown request: " + verb);
}

for (;;) {
  const words = line();
  const data = take(Number(words[1]));
  let said, head;
  try {
    const [result, schema] = answer(words[0], data, Number(words[2] || 0));
    said = Buffer.from(text(result));
    head = schema === undefined ? `ok ${said.length}\n` : `ok ${said.length} ${schema}\n`;
  } catch (error) {
    said = Buffer.from(String(error)).subarray(0, 4096);
    head = `no ${said.length}\n`;
  }
  say(Buffer.concat([Buffer.from(head), said]));
}
