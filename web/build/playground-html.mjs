// The playground before its scripts: what it is for.

export const playgroundHtml = () => `<article class="view prose" id="play" data-title="Playground">
<h1>Playground</h1>
<p class="lead">Your numbers, any scheme, every error. Nothing is uploaded; the link keeps the settings and small data.</p>
<noscript><p>The playground computes in this browser and needs scripts.</p></noscript>
<div class="play" hidden></div>
</article>`;
