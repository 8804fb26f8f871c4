// A page that starts this file as a worker, which violates the policy: the server must get a report.

if (typeof document === "object") {
  const policy = globalThis.trustedTypes?.createPolicy("zeropoint", {
    createScriptURL: (url) => url,
  });
  const url = import.meta.url;
  new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
} else {
  try {
    // biome-ignore lint/security/noGlobalEval: the policy forbids it
    globalThis.eval("1");
  } catch {
    // Expected.
  }
}
