// Addresses of scripts and content of views, for pages that require trusted types: one policy, for what is part of
// this page.

const trustedTypes: any = (globalThis as any).trustedTypes;

const policy = trustedTypes?.createPolicy("zeropoint", {
  createScriptURL: (url: string) => {
    const { origin } = new URL(url, document.baseURI);
    if (origin !== location.origin) throw new TypeError(`${url} is not part of this page`);
    return url;
  },
  createHTML: (html: string) => html,
});

/** @returns the address, marked as trusted where the browser asks for that */
export function scriptUrl(url: string): string {
  return policy ? policy.createScriptURL(url) : url;
}

/**
 * @param html  of a file of this page
 * @returns the same, marked as trusted where the browser asks for that
 */
export function trustedHtml(html: string): string {
  return policy ? policy.createHTML(html) : html;
}
