"use strict";
const vm = require("vm");
const [source, input, lives] = process.argv.slice(1);
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", () => {
    const begun = process.hrtime.bigint();
    for (let life = 0; life < Number(lives); life += 1) {
      const context = vm.createContext({});
      vm.runInContext(source, context);
      if (!vm.runInContext("evaluate", context)(input).startsWith("1.7")) process.exit(1);
    }
    console.log(String(process.hrtime.bigint() - begun));
  });
