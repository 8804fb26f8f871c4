// Right answers by other means than those of the notebooks: helpers, loops, lists, recursion, other methods of tensors.

/** For each exercise: expressions for the function. @type {Record<string, string[]>} */
export const OTHERWISE = {
  steps: [
    "(tensor, scale, zero_point) => torch.add(torch.div(tensor, scale), zero_point)",
    "function scale_and_shift(tensor, scale, zero_point) { const out = torch.zeros_like(tensor); const flat = out.view(-1), x = tensor.reshape(-1); for (let i = 0; i < x.numel(); i++) flat[i] = x[i].item() / scale + zero_point; return out; }",
    "(t, s, z) => t.clone().div_(s).add_(z)",
  ],
  codes: [
    "function linear_q_with_scale_and_zero_point(t, s, z, dtype = torch.int8) { const info = torch.iinfo(dtype); const walk = (x) => Array.isArray(x) ? x.map(walk) : Math.max(info.min, Math.min(info.max, round(x / s + z))); return torch.tensor(walk(t.tolist()), { dtype }); }",
    "(t, s, z, d = torch.int8) => t.div(s).add(z).round_().clamp_(torch.iinfo(d).min, torch.iinfo(d).max).to(d)",
    "(t, s, z, d = torch.int8) => torch.clip(torch.round(torch.add(torch.div(t, s), z)), torch.iinfo(d).min, torch.iinfo(d).max).to({ dtype: d })",
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const r = t.div(s).add(z).round(); return torch.where(r.lt(min), min, torch.where(r.gt(max), max, r)).to(d); }",
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const r = t.div(s).add(z).round(); r.set(r.gt(max), max); r.set(r.lt(min), min); return r.to(d); }",
    "(t, s, z, d = torch.int8) => t.div(s).add(z).round().clamp_min(torch.iinfo(d).min).clamp_max(torch.iinfo(d).max).to(d)",
  ],
  values: [
    "(q, s, z) => torch.mul(torch.sub(q.to(torch.float32), z), s)",
    "(q, s, z) => q.int().sub(z).float().mul(s)",
    "(q, s, z) => { const list = q.flatten().tolist().map((c) => (c - z) * s); return torch.tensor(list, { dtype: torch.float32 }).reshape([...q.shape]); }",
    "(q, s, z) => q.double().sub(z).mul(s).float()",
  ],
  range: [
    "(s, z, d) => { const { min, max } = torch.iinfo(d); return [min, max].map((c) => s * (c - z)); }",
    "(s, z, d) => { const i = torch.iinfo(d); return [(i.min - z) * s, (i.max - z) * s]; }",
  ],
  saturated: [
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); return t.flatten().tolist().filter((x) => { const c = round(x / s + z); return c < min || c > max; }).length; }",
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const c = t.div(s).add(z).round(); return c.ne(c.clamp(min, max)).sum().item(); }",
    "(t, s, z, d = torch.int8) => { const { min, max } = torch.iinfo(d); const c = t.div(s).add(z).round(); return torch.logical_or(c.lt(min), c.gt(max)).count_nonzero().item(); }",
  ],
  "symmetric-scale": [
    "(t, d = torch.int8) => Math.max(...t.flatten().tolist().map(Math.abs)) / torch.iinfo(d).max",
    "(t, d = torch.int8) => Math.max(-t.min().item(), t.max().item()) / torch.iinfo(d).max",
    "(t, d = torch.int8) => t.norm(Infinity).item() / torch.iinfo(d).max",
    "(t, d = torch.int8) => t.abs().max().div(torch.iinfo(d).max).item()",
  ],
  symmetric: [
    "(t, d = torch.int8) => { const { max, min } = torch.iinfo(d); const s = t.abs().amax().item() / max; return [t.div(s).round().clamp(min, max).to(d), s]; }",
    "(t, d = torch.int8) => { const s = t.abs().max().item() / torch.iinfo(d).max; return [torch.round(t.div(s)).to(d), s]; }",
  ],
  error: [
    '(a, b, kind = "mse") => torch.nn.functional[kind === "mse" ? "mse_loss" : "l1_loss"](a, b).item()',
    '(a, b, kind = "mse") => { const d = a.sub(b); const terms = kind === "mse" ? d.mul(d) : d.abs(); return terms.sum().item() / terms.numel(); }',
    '(a, b, kind = "mse") => { let total = 0; const [x, y] = [a.flatten().tolist(), b.flatten().tolist()]; for (let i = 0; i < x.length; i++) total += kind === "mse" ? (x[i] - y[i]) ** 2 : Math.abs(x[i] - y[i]); return total / x.length; }',
  ],
  "per-channel": [
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().amax(1 - dim, true).div(max); return [t.div(s).round().clamp(min, max).to(d), s]; }",
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const s = t.abs().max({ dim: 1 - dim, keepdim: true }).values.div(max); return [t.div(s).round().clamp(min, max).to(d), s]; }",
    "(t, dim, d = torch.int8) => { const { min, max } = torch.iinfo(d); const rows = dim === 0 ? t : t.T; const s = torch.stack([...rows].map((row) => row.abs().max().div(max))).reshape(-1, 1); const q = rows.div(s).round().clamp(min, max).to(d); return dim === 0 ? [q, s] : [q.T, s.T]; }",
  ],
  "channel-errors": [
    "(a, b, dim) => torch.stack([...Array(a.shape[dim]).keys()].map((i) => a.select(dim, i).sub(b.select(dim, i)).square().mean()))",
    "(a, b, dim) => torch.mean(torch.pow(torch.sub(a, b), 2), { dim: 1 - dim })",
    "(a, b, dim) => torch.nn.functional.mse_loss(a, b, { reduction: 'none' }).mean(dim === 0 ? 1 : 0)",
  ],
  "channel-scales": [
    "(t, dim, d = torch.int8) => torch.tensor(t.unbind(dim).map((c) => c.abs().max().item() / torch.iinfo(d).max), { dtype: torch.float32 })",
    "(t, dim, d = torch.int8) => t.abs().movedim(dim, 0).reshape(t.shape[dim], -1).amax(1).div(torch.iinfo(d).max)",
    "(t, dim, d = torch.int8) => { const others = [...t.shape.keys()].filter((a) => a !== dim); return t.abs().amax(others).div(torch.iinfo(d).max); }",
  ],
  column: [
    "(scale, dim, ndim) => { const shape = []; for (let a = 0; a < ndim; a++) shape.push(a === dim ? scale.numel() : 1); return scale.reshape(shape); }",
    "(scale, dim, ndim) => { let out = scale; for (let a = 0; a < ndim; a++) if (a !== dim) out = out.unsqueeze(a); return out; }",
  ],
  "channel-codes": [
    "(t, scale, dim) => { const shape = t.shape.map((_, a) => (a === dim ? -1 : 1)); return t.div(scale.view(shape)).round().clamp(-128, 127).to(torch.int8); }",
    "(t, scale, dim) => torch.stack(t.unbind(dim).map((c, i) => c.div(scale[i]).round().clamp(-128, 127).to(torch.int8)), dim)",
  ],
  "channel-values": [
    "(q, scale, dim) => { const shape = q.shape.map((_, a) => (a === dim ? -1 : 1)); return q.float().mul(scale.view(shape)); }",
    "(q, scale, dim) => q.movedim(dim, -1).float().mul(scale).movedim(-1, dim)",
  ],
  gain: [
    "(t) => { const mse = (s) => t.div(s).round().mul(s).sub(t).square().mean().item(); return mse(t.abs().max().div(127)) / mse(t.abs().amax(1, true).div(127)); }",
  ],
  "min-max": [
    "([lo, hi], x) => [Math.min(lo, x.min().item()), Math.max(hi, x.max().item())]",
    "(state, x) => { const all = [...state, ...x.flatten().tolist()]; return [Math.min(...all), Math.max(...all)]; }",
    "(state, x) => { const { min, max } = x.aminmax(); return [Math.min(state[0], min.item()), Math.max(state[1], max.item())]; }",
  ],
  qparams: [
    "(min, max) => { const [low, high] = [Math.min(0, min), Math.max(0, max)]; const scale = (high - low) / 255; return [scale, round(-low / scale)]; }",
    "(min, max) => { if (min > 0) min = 0; if (max < 0) max = 0; const scale = (max - min) / 255; return [scale, 0 - round(min / scale)]; }",
  ],
  "symmetric-qint8": [
    "(min, max) => Math.max(Math.abs(min), Math.abs(max)) / 127.5",
    "(a, b) => 2 * Math.max(-a, b) / 255",
  ],
  "moving-average": [
    "(state, x, c) => { const b = [x.min().item(), x.max().item()]; return state ? state.map((old, i) => old * (1 - c) + c * b[i]) : b; }",
  ],
  "torch-codes": [
    "(x, s, z) => x.div(s).round().add(z).clamp(0, 255).byte()",
    "(x, s, z) => torch.quantize_per_tensor(x, s, z, torch.quint8).int_repr()",
    "(x, s, z) => x.div(s).round().add(z).clip({ min: 0, max: 255 }).to(torch.uint8)",
  ],
  "zero-point": [
    "(t, d = torch.int8) => { const { min, max } = torch.iinfo(d); const [lo, hi] = [t.min().item(), t.max().item()]; const s = (hi - lo) / (max - min); let z = round(min - lo / s); if (z < min) z = min; else if (z > max) z = max; return [s, z]; }",
  ],
  "per-group": [
    "(t, g, d = torch.int8) => { const { min, max } = torch.iinfo(d); const rows = t.contiguous().view(-1, g); const s = rows.abs().amax(1, true).div(max); return [rows.div(s).round().clamp(min, max).to(d).view_as(t), s]; }",
    "(t, g, d = torch.int8) => { const { min, max } = torch.iinfo(d); const parts = t.flatten().split(g); const s = torch.stack(parts.map((p) => p.abs().max().div(max))); const q = torch.cat(parts.map((p, i) => p.div(s[i]).round().clamp(min, max).to(d))); return [q.reshape(t.shape), s.unsqueeze(1)]; }",
  ],
  "group-values": [
    "(q, s, g) => q.float().mul(s.repeat_interleave(g).reshape(q.shape))",
    "(q, s, g) => q.reshape([-1, g]).mul(s).reshape_as(q)",
  ],
  layer: [
    "(x, q, s, z) => x.matmul(q.float().sub(z).mul(s).t())",
    "(x, q, s, z) => torch.einsum('ij,kj->ik', x, q.float().sub(z).mul(s))",
    "(x, q, s, z) => torch.nn.functional.linear(x, q.float().sub(z)).mul(s)",
  ],
  "bits-per-weight": ["(b, g, sb) => (b * g + sb) / g"],
  bytes: [
    "([rows, columns], bits, g) => Math.ceil(rows * columns * bits / 8) + rows * Math.ceil(columns / g) * 4",
    "(shape, bits, g) => { let groups = 0; for (let r = 0; r < shape[0]; r++) for (let c = 0; c < shape[1]; c += g) groups++; return Math.floor((shape[0] * shape[1] * bits + 7) / 8) + 4 * groups; }",
  ],
  sqnr: [
    "(a, b) => 20 * Math.log10(a.norm().item() / a.sub(b).norm().item())",
    "(a, b) => 10 * (Math.log10(a.square().mean().item()) - Math.log10(b.sub(a).square().mean().item()))",
  ],
  accuracy: [
    "(scores, labels) => scores.argmax(1).eq(torch.tensor(labels)).float().mean().item()",
    "(scores, labels) => { let right = 0; scores.tolist().forEach((row, i) => { if (row.indexOf(Math.max(...row)) === labels[i]) right++; }); return right / labels.length; }",
    "(scores, labels) => scores.topk(1, 1).indices.flatten().tolist().filter((p, i) => p === labels[i]).length / labels.length",
  ],
  "group-size": [
    "(b, sb, limit) => { for (const g of [16, 32, 64, 128, 256]) if (b + sb / g <= limit) return g; }",
    "function smallest_group_size(b, sb, limit, g = 16) { if (g > 256) return undefined; return b + sb / g <= limit ? g : smallest_group_size(b, sb, limit, 2 * g); }",
  ],
  budget: [
    "(layers, budget) => [8, 4, 3, 2].find((b) => layers.reduce((n, [r, c]) => n + r * c, 0) * b <= 8 * budget)",
    "(layers, budget) => { let n = 0; for (const [r, c] of layers) n += r * c; for (const b of [8, 4, 3, 2]) { if (n * b / 8 <= budget) return b; } return undefined; }",
  ],
  candidates: [
    "(scores, errors, k) => { const lows = scores.map((s, i) => s - errors[i]).sort((a, b) => b - a); const least = lows[k - 1] ?? -Infinity; return [...scores.keys()].filter((i) => scores[i] + errors[i] >= least); }",
    "(scores, errors, k) => scores.map((_, i) => i).filter((i) => scores.filter((s, j) => s - errors[j] > scores[i] + errors[i]).length < k)",
  ],
};
