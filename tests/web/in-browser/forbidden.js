// Actions forbidden by the strict policy: policy.test.mjs runs each and checks the reported violation.

import "./package-page.js";

globalThis.forbidden = {
  // biome-ignore lint/security/noGlobalEval: the policy forbids it
  "evaluating text": () => globalThis.eval("1"),
  "a function made of text": () => new Function("return 1")(),
  "a script's address as a string": () => {
    document.createElement("script").src = "/dist/index.js";
  },
  "a worker's address as a string": () => new Worker("/dist/index.js", { type: "module" }),
  "another policy of trusted types": () => globalThis.trustedTypes.createPolicy("other", {}),
  "a worker made of text": () => new Worker(URL.createObjectURL(new Blob(["1"]))),
  "a request to elsewhere": () => fetch("http://127.0.0.2:9/").catch(() => undefined),
};
