// Addresses of scripts, for pages that require trusted types: one policy, for the two scripts we start.

/** @type {any} */
const trustedTypes = /** @type {any} */ (globalThis).trustedTypes;

const policy = trustedTypes?.createPolicy("zeropoint", {
  createScriptURL: (/** @type {string} */ url) => {
    const { origin } = new URL(url, document.baseURI);
    if (origin !== location.origin) throw new TypeError(`${url} is not part of this page`);
    return url;
  },
});

/**
 * @param {string} url
 * @returns {string} the address, marked as trusted where the browser asks for that
 */
export function scriptUrl(url) {
  return policy ? policy.createScriptURL(url) : url;
}
