// Addresses of scripts and content of views, for pages that require trusted types: one policy, for what is part of
// this page.

/** @type {any} */
const trustedTypes = /** @type {any} */ (globalThis).trustedTypes;

const policy = trustedTypes?.createPolicy("zeropoint", {
  createScriptURL: (/** @type {string} */ url) => {
    const { origin } = new URL(url, document.baseURI);
    if (origin !== location.origin) throw new TypeError(`${url} is not part of this page`);
    return url;
  },
  createHTML: (/** @type {string} */ html) => html,
});

/**
 * @param {string} url
 * @returns {string} the address, marked as trusted where the browser asks for that
 */
export function scriptUrl(url) {
  return policy ? policy.createScriptURL(url) : url;
}

/**
 * @param {string} html  of a file of this page
 * @returns {string} the same, marked as trusted where the browser asks for that
 */
export function trustedHtml(html) {
  return policy ? policy.createHTML(html) : html;
}
