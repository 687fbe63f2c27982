// What a JavaScript genome finds when it begins. Evaluated once, before the snapshot.
//
// Everything that is needed later is kept in constants: a genome may overwrite whatever it can
// reach, and harms nobody but itself.
(function (random, emit, input, fuelLeft) {
  "use strict";
  const lookUp = eval;
  const { String, TypeError, JSON } = globalThis;
  const { stringify } = JSON;
  const shorten = Function.prototype.call.bind(String.prototype.slice);
  let allowed = 0;
  let verbs = [];

  const may = (bit, name) => {
    if (!(allowed & bit)) throw new TypeError(name + " is not allowed by the rules");
  };

  // Text as it is, nothing for nothing, data as JSON.
  const text = (value) => {
    if (typeof value === "string") return value;
    if (value === undefined || value === null) return "";
    if (typeof value !== "object") return String(value);
    return String(stringify(value));
  };

  const words = (thrown) => {
    try {
      return shorten(String(thrown), 0, 4096);
    } catch {
      return "it threw something that has no words";
    }
  };

  const known = [];
  for (const name of ["init", "evaluate", "step", "save", "load", "migrate"]) {
    known.push(`typeof ${name} === "function" ? ${name} : undefined`);
  }
  known.push(`typeof SCHEMA === "number" ? SCHEMA >>> 0 : 0`);
  const wanted = "[" + known.join() + "]";

  const adopt = () => {
    verbs = lookUp(wanted);
    let mask = 0;
    for (let at = 0; at < 6; at += 1) if (verbs[at] !== undefined) mask |= 1 << at;
    return mask;
  };

  const define = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  // The sequence is the cell's own, and there is no time: `Date` stands still.
  define(Math, "random", function random_() {
    may(4, "Math.random");
    return random();
  });
  define(globalThis, "agar", {
    input(index) {
      may(1, "agar.input");
      return input(index >>> 0);
    },
    emit(key, value) {
      may(2, "agar.emit");
      emit(text(key), text(value));
    },
    fuelLeft() {
      may(8, "agar.fuelLeft");
      return fuelLeft();
    },
  });
  const quiet = () => {};
  define(globalThis, "console", { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet });

  return (verb, data, schema) => {
    switch (verb) {
      case 0:
        return text(data);
      case 1:
        return words(data);
      case 2:
        allowed = data;
        return undefined;
      case 3:
        return adopt();
      case 4:
        return verbs[6];
      default: {
        const act = verbs[verb - 5];
        return act(data, schema);
      }
    }
  };
});
