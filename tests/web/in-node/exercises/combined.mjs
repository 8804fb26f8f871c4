// Wrong answers with one mistake, or two, written in other ways than those of wrong.mjs.

/** The exercise, its mistakes, and an expression for the function. @type {[string, string[], string][]} */
export const COMBINED = [
  ["steps", ["returns nothing"], "(t, s, z) => { t.div(s).add(z); }"],
  ["steps", ["changes its argument"], "(t, s, z) => t.div_(s).add_(z)"],
  [
    "codes",
    ["halfUp"],
    "(t, s, z, d = torch.int8) => torch.tensor(t.flatten().tolist().map((x) => Math.round(x / s + z))).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d).reshape([...t.shape])",
  ],
  [
    "codes",
    ["roundsFirst", "noClamp"],
    "(t, s, z, d = torch.int8) => t.div(s).round().to(d).add(z)",
  ],
  [
    "codes",
    ["swappedBounds"],
    "(t, s, z, d = torch.int8) => t.div(s).add(z).round().clamp(torch.iinfo(d).max, torch.iinfo(d).min).to(d)",
  ],
  [
    "codes",
    ["ignoresDtype", "narrow"],
    "(t, s, z, d = torch.int8) => t.div(s).add(z).round().clamp(-127, 127).to(d)",
  ],
  [
    "codes",
    ["sign", "addsFirst"],
    "(t, s, z, d = torch.int8) => t.sub(z).div(s).round().clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)",
  ],
  [
    "codes",
    ["ceil"],
    "(t, s, z, d = torch.int8) => t.div(s).add(z).ceil().clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)",
  ],
  ["values", ["wraps"], "(q, s, z) => q.sub(z).float().mul(s)"],
  ["values", ["sign", "zeroPointLast"], "(q, s, z) => q.float().mul(s).add(z)"],
  ["values", ["reversed"], "(q, s, z) => torch.tensor(z).sub(q.float()).mul(s)"],
  [
    "range",
    ["divides"],
    "(s, z, d) => [(torch.iinfo(d).min - z) / s, (torch.iinfo(d).max - z) / s]",
  ],
  [
    "saturated",
    ["tensor"],
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const c = t.div(s).add(z).round(); return c.lt(min).sum().add(c.gt(max).sum()); }",
  ],
  [
    "saturated",
    ["truncate"],
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const c = t.div(s).add(z).trunc(); return c.lt(min).sum().item() + c.gt(max).sum().item(); }",
  ],
  [
    "saturated",
    ["wraps"],
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const c = t.div(s).add(z).round().to(d); return c.lt(min).sum().item() + c.gt(max).sum().item(); }",
  ],
  ["symmetric-scale", ["ignoresDtype", "oneMore"], "(t, d = torch.int8) => t.abs().max() / 128"],
  [
    "symmetric",
    ["multiplies"],
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().max().item() / max; return [t.mul(s).round().clamp(min, max).to(d), s]; }",
  ],
  [
    "symmetric",
    ["floor"],
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().max().item() / max; return [t.div(s).floor().clamp(min, max).to(d), s]; }",
  ],
  [
    "error",
    ["tensor"],
    '(a, b, k = "mse") => k === "mse" ? a.sub(b).square().mean() : a.sub(b).abs().mean()',
  ],
  ["error", ["noAbs"], '(a, b, k = "mse") => a.sub(b).pow(k === "mse" ? 2 : 1).mean().item()'],
  [
    "error",
    ["squaresLast"],
    '(a, b, k = "mse") => k === "mse" ? a.sub(b).mean().item() ** 2 : Math.abs(a.sub(b).mean().item())',
  ],
  [
    "per-channel",
    ["wrongAxis"],
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().amax(dim, true).div(max); return [t.div(s).round().clamp(min, max).to(d), s]; }",
  ],
  [
    "per-channel",
    ["mean"],
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().mean(1 - dim, true).div(max); return [t.div(s).round().clamp(min, max).to(d), s]; }",
  ],
  [
    "per-channel",
    ["truncate"],
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().amax(1 - dim, true).div(max); return [t.div(s).trunc().clamp(min, max).to(d), s]; }",
  ],
  [
    "per-channel",
    ["halfSteps"],
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().amax(1 - dim, true).div(max + 0.5); return [t.div(s).round().clamp(min, max).to(d), s]; }",
  ],
  [
    "channel-scales",
    ["list"],
    "(t, dim, d = torch.int8) => t.unbind(dim).map((c) => c.abs().max().item() / torch.iinfo(d).max)",
  ],
  [
    "channel-scales",
    ["noAbs"],
    "(t, dim, d = torch.int8) => torch.tensor(t.unbind(dim).map((c) => c.max().item() / torch.iinfo(d).max))",
  ],
  [
    "channel-scales",
    ["mean"],
    "(t, dim, d = torch.int8) => torch.tensor(t.unbind(dim).map((c) => c.abs().mean().item() / torch.iinfo(d).max))",
  ],
  ["column", ["always0", "alwaysMatrix"], "(s, dim, n) => s.view(-1, 1)"],
  [
    "column",
    ["opposite"],
    "(s, dim, n) => { const shape = new Array(n).fill(1); shape[n - 1 - dim] = -1; return s.view(...shape); }",
  ],
  ["column", ["unchanged"], "(s) => s"],
  [
    "channel-codes",
    ["noReshape"],
    "(t, s, dim) => t.div(s).round().clamp(-128, 127).to(torch.int8)",
  ],
  [
    "channel-codes",
    ["noClamp"],
    "(t, s, dim) => t.div(s.view(t.shape.map((_, a) => a === dim ? -1 : 1))).round().to(torch.int8)",
  ],
  [
    "channel-codes",
    ["truncate", "noClamp"],
    "(t, s, dim) => t.div(s.view(t.shape.map((_, a) => a === dim ? -1 : 1))).to(torch.int8)",
  ],
  ["min-max", ["forgets"], "(st, x) => [x.min().item(), x.max().item()]"],
  [
    "min-max",
    ["changes its argument"],
    "(st, x) => { st[0] = Math.min(st[0], x.min().item()); st[1] = Math.max(st[1], x.max().item()); return st; }",
  ],
  [
    "min-max",
    ["narrows"],
    "(st, x) => [Math.max(st[0], x.min().item()), Math.min(st[1], x.max().item())]",
  ],
  [
    "qparams",
    ["noZeroBeyond"],
    "(min, max) => { const s = (max - min) / 255; return [s, round(-min / s)]; }",
  ],
  [
    "qparams",
    ["steps256Beyond"],
    "(min, max) => { const lo = Math.min(0, min), hi = Math.max(0, max); const s = (hi - lo) / 256; return [s, round(-lo / s)]; }",
  ],
  [
    "qparams",
    ["floatZeroPoint"],
    "(min, max) => { const lo = Math.min(0, min), hi = Math.max(0, max); const s = (hi - lo) / 255; return [s, -lo / s]; }",
  ],
  [
    "qparams",
    ["halfAway"],
    "(min, max) => { const lo = Math.min(0, min), hi = Math.max(0, max); const s = (hi - lo) / 255; return [s, Math.round(-lo / s)]; }",
  ],
  [
    "qparams",
    ["signed"],
    "(min, max) => { const lo = Math.min(0, min), hi = Math.max(0, max); const s = (hi - lo) / 255; return [s, -128 + round(-lo / s)]; }",
  ],
  ["symmetric-qint8", ["by127"], "(a, b) => Math.max(-a, b) / 127"],
  ["symmetric-qint8", ["by128"], "(a, b) => Math.max(-a, b) / 128"],
  ["symmetric-qint8", ["plainRange"], "(a, b) => (b - a) / 255"],
  ["symmetric-qint8", ["noAbs"], "(a, b) => Math.max(a, b) / 127.5"],
  [
    "moving-average",
    ["reversed"],
    "(st, x, c) => { const b = [x.min().item(), x.max().item()]; return st ? st.map((o, i) => o * c + (1 - c) * b[i]) : b; }",
  ],
  [
    "moving-average",
    ["noFirst"],
    "(st, x, c) => { const b = [x.min().item(), x.max().item()]; return st.map((o, i) => o + c * (b[i] - o)); }",
  ],
  [
    "moving-average",
    ["extremes"],
    "(st, x, c) => { const b = [x.min().item(), x.max().item()]; return st ? [Math.min(st[0], b[0]), Math.max(st[1], b[1])] : b; }",
  ],
  ["torch-codes", ["addsFirst"], "(x, s, z) => x.div(s).add(z).round().clamp(0, 255).byte()"],
  ["torch-codes", ["noClamp"], "(x, s, z) => x.div(s).round().add(z).byte()"],
  [
    "zero-point",
    ["noClamp"],
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = (t.max().item() - t.min().item()) / (max - min); return [s, round(min - t.min().item() / s)]; }",
  ],
  [
    "zero-point",
    ["floatZeroPoint"],
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = (t.max().item() - t.min().item()) / (max - min); return [s, Math.min(max, Math.max(min, min - t.min().item() / s))]; }",
  ],
  [
    "zero-point",
    ["truncate"],
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = (t.max().item() - t.min().item()) / (max - min); return [s, Math.min(max, Math.max(min, Math.trunc(min - t.min().item() / s)))]; }",
  ],
  [
    "per-group",
    ["transposed"],
    "(t, g, d = torch.int8) => { const { min, max } = torch.iinfo(d); const rows = t.view(g, -1); const s = rows.abs().amax(1, true).div(max); return [rows.div(s).round().clamp(min, max).to(d).reshape(t.shape), s]; }",
  ],
  [
    "per-group",
    ["noRestore"],
    "(t, g, d = torch.int8) => { const { min, max } = torch.iinfo(d); const rows = t.reshape(-1, g); const s = rows.abs().amax(1, true).div(max); return [rows.div(s).round().clamp(min, max).to(d), s]; }",
  ],
  [
    "per-group",
    ["flatScale"],
    "(t, g, d = torch.int8) => { const { min, max } = torch.iinfo(d); const rows = t.reshape(-1, g); const s = rows.abs().amax(1).div(max); return [rows.div(s.unsqueeze(1)).round().clamp(min, max).to(d).reshape(t.shape), s]; }",
  ],
  [
    "layer",
    ["addsZeroPoint"],
    "(x, q, s, z) => torch.nn.functional.linear(x, q.float().mul(s).add(z))",
  ],
  ["layer", ["noZeroPoint"], "(x, q, s, z) => torch.nn.functional.linear(x, q.float()).mul(s)"],
  ["layer", ["noTranspose"], "(x, q, s, z) => x.matmul(q.float().sub(z).mul(s))"],
  ["layer", ["wraps"], "(x, q, s, z) => torch.nn.functional.linear(x, q.sub(z).float().mul(s))"],
  ["bytes", ["fraction"], "([r, c], b, g) => r * c * b / 8 + 4 * r * Math.ceil(c / g)"],
  [
    "bytes",
    ["floatGroups"],
    "([r, c], b, g) => Math.ceil(r * c * b / 8) + 4 * Math.ceil(r * c / g)",
  ],
  [
    "bytes",
    ["fullGroups"],
    "([r, c], b, g) => Math.ceil(r * c * b / 8) + 4 * Math.floor(c / g) * r",
  ],
  [
    "accuracy",
    ["wrongAxis"],
    "(s, l) => s.argmax(0).tolist().filter((a, i) => a === l[i]).length / l.length",
  ],
  ["accuracy", ["count"], "(s, l) => s.argmax(1).tolist().filter((a, i) => a === l[i]).length"],
  [
    "accuracy",
    ["percent"],
    "(s, l) => 100 * s.argmax(1).tolist().filter((a, i) => a === l[i]).length / l.length",
  ],
  ["accuracy", ["smallest"], "(s, l) => s.argmin(1).eq(torch.tensor(l)).float().mean().item()"],
  [
    "sqnr",
    ["noise"],
    "(a, b) => 10 * Math.log10(a.square().sum().item() / b.square().sum().item())",
  ],
  [
    "sqnr",
    ["twenty"],
    "(a, b) => 20 * Math.log10(a.square().sum().item() / a.sub(b).square().sum().item())",
  ],
  [
    "sqnr",
    ["ln"],
    "(a, b) => 10 * Math.log(a.square().sum().item() / a.sub(b).square().sum().item())",
  ],
  [
    "sqnr",
    ["inverse"],
    "(a, b) => 10 * Math.log10(a.sub(b).square().sum().item() / a.square().sum().item())",
  ],
];
