// A page that starts this file as a worker, in which it breaks the policy: the server must be told.

if (typeof document === "object") {
  const policy = globalThis.trustedTypes?.createPolicy("zeropoint", {
    createScriptURL: (url) => url,
  });
  const url = import.meta.url;
  new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
} else {
  try {
    // biome-ignore lint/security/noGlobalEval: this is what the policy forbids
    globalThis.eval("1");
  } catch {
    // As it should be.
  }
}
