// Wrong answers as learners write them, each with the mistake that must be named.

/** For each exercise: the mistake, and an expression for the function that makes it. @type {Record<string, Record<string, string>>} */
export const WRONG = {
  steps: {
    multiplies: "(x, s, z) => x.mul(s).add(z)",
    sign: "(x, s, z) => x.div(s).sub(z)",
    noZeroPoint: "(x, s, z) => x.div(s)",
    addsFirst: "(x, s, z) => x.add(z).div(s)",
    noScale: "(x, s, z) => x.add(z)",
    rounds: "(x, s, z) => x.div(s).add(z).round()",
  },
  codes: {
    truncate: `(x, s, z, d = torch.int8) =>
      x.div(s).add(z).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)`,
    halfAway: `(x, s, z, d = torch.int8) => {
      const t = x.div(s).add(z);
      const away = torch.tensor(t.flatten().tolist().map((v) => Math.sign(v) * Math.round(Math.abs(v))));
      return away.reshape(...t.shape).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d);
    }`,
    halfUp: `(x, s, z, d = torch.int8) =>
      torch.floor(x.div(s).add(z).add(0.5)).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)`,
    floor: `(x, s, z, d = torch.int8) =>
      torch.floor(x.div(s).add(z)).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)`,
    roundsFirst: `(x, s, z, d = torch.int8) =>
      x.div(s).round().add(z).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)`,
    noClamp: "(x, s, z, d = torch.int8) => torch.round(x.div(s).add(z)).to(d)",
    clampsFirst: `(x, s, z, d = torch.int8) =>
      x.div(s).clamp(torch.iinfo(d).min, torch.iinfo(d).max).add(z).round().to(d)`,
    ignoresDtype:
      "(x, s, z, d = torch.int8) => torch.round(x.div(s).add(z)).clamp(-128, 127).to(d)",
    narrow: `(x, s, z, d = torch.int8) =>
      torch.round(x.div(s).add(z)).clamp(torch.iinfo(d).min + 1, torch.iinfo(d).max).to(d)`,
    sign: `(x, s, z, d = torch.int8) =>
      torch.round(x.div(s).sub(z)).clamp(torch.iinfo(d).min, torch.iinfo(d).max).to(d)`,
    noCast: `(x, s, z, d = torch.int8) =>
      torch.round(x.div(s).add(z)).clamp(torch.iinfo(d).min, torch.iinfo(d).max)`,
  },
  values: {
    wraps: "(q, s, z) => q.sub(z).mul(s)",
    sign: "(q, s, z) => q.float().add(z).mul(s)",
    noZeroPoint: "(q, s, z) => q.float().mul(s)",
    zeroPointLast: "(q, s, z) => q.float().mul(s).sub(z)",
    divides: "(q, s, z) => q.float().sub(z).div(s)",
    rounds: "(q, s, z) => torch.round(q.float().sub(z).mul(s))",
  },
  range: {
    sign: "(s, z, d) => [s * (torch.iinfo(d).min + z), s * (torch.iinfo(d).max + z)]",
    noZeroPoint: "(s, z, d) => [s * torch.iinfo(d).min, s * torch.iinfo(d).max]",
    ignoresDtype: "(s, z, d) => [s * (-128 - z), s * (127 - z)]",
    swapped: "(s, z, d) => [s * (torch.iinfo(d).max - z), s * (torch.iinfo(d).min - z)]",
    zeroPointLast: "(s, z, d) => [s * torch.iinfo(d).min - z, s * torch.iinfo(d).max - z]",
    narrow: "(s, z, d) => [s * (torch.iinfo(d).min + 1 - z), s * (torch.iinfo(d).max - z)]",
  },
  saturated: {
    countsEnds: `(x, s, z, d = torch.int8) => {
      const q = torch.round(x.div(s).add(z));
      return q.le(torch.iinfo(d).min).sum().item() + q.ge(torch.iinfo(d).max).sum().item();
    }`,
    beforeRounding: `(x, s, z, d = torch.int8) => {
      const q = x.div(s).add(z);
      return q.lt(torch.iinfo(d).min).sum().item() + q.gt(torch.iinfo(d).max).sum().item();
    }`,
    onlyUpper:
      "(x, s, z, d = torch.int8) => torch.round(x.div(s).add(z)).gt(torch.iinfo(d).max).sum().item()",
    ignoresDtype: `(x, s, z) => {
      const q = torch.round(x.div(s).add(z));
      return q.lt(-128).sum().item() + q.gt(127).sum().item();
    }`,
    share: `(x, s, z, d = torch.int8) => {
      const q = torch.round(x.div(s).add(z));
      return (q.lt(torch.iinfo(d).min).sum().item() + q.gt(torch.iinfo(d).max).sum().item()) / q.numel();
    }`,
  },
  "symmetric-scale": {
    noAbs: "(x, d = torch.int8) => x.max().item() / torch.iinfo(d).max",
    mean: "(x, d = torch.int8) => x.abs().mean().item() / torch.iinfo(d).max",
    ignoresDtype: "(x, d = torch.int8) => x.abs().max().item() / 127",
    halfSteps:
      "(x, d = torch.int8) => x.abs().max().item() / ((torch.iinfo(d).max - torch.iinfo(d).min) / 2)",
    oneMore: "(x, d = torch.int8) => x.abs().max().item() / (torch.iinfo(d).max + 1)",
    range: `(x, d = torch.int8) =>
      (x.max().item() - x.min().item()) / (torch.iinfo(d).max - torch.iinfo(d).min)`,
    inverse: "(x, d = torch.int8) => torch.iinfo(d).max / x.abs().max().item()",
  },
  symmetric: {
    truncate: `(x, d = torch.int8) => {
      const s = x.abs().max().item() / torch.iinfo(d).max;
      return [x.div(s).to(d), s];
    }`,
    noAbs: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.max().item() / max;
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
    swapped: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().max().item() / max;
      return [s, torch.round(x.div(s)).clamp(min, max).to(d)];
    }`,
    onlyCodes: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      return torch.round(x.div(x.abs().max().item() / max)).clamp(min, max).to(d);
    }`,
    halfSteps: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().max().item() / ((max - min) / 2);
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
  },
  error: {
    sum: '(a, b, t = "mse") => (t === "mse" ? a.sub(b).square() : a.sub(b).abs()).sum().item()',
    noSquare: '(a, b, t = "mse") => (t === "mse" ? a.sub(b) : a.sub(b).abs()).mean().item()',
    noAbs: '(a, b, t = "mse") => (t === "mse" ? a.sub(b).square() : a.sub(b)).mean().item()',
    root: '(a, b, t = "mse") => t === "mse" ? Math.sqrt(a.sub(b).square().mean().item()) : a.sub(b).abs().mean().item()',
    ignoresType: "(a, b) => a.sub(b).square().mean().item()",
    tensor: '(a, b, t = "mse") => (t === "mse" ? a.sub(b).square() : a.sub(b).abs()).mean()',
  },
  "per-channel": {
    wrongAxis: `(x, dim, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().amax(dim).div(max).reshape(...(dim === 0 ? [1, -1] : [-1, 1]));
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
    firstAxis: `(x, dim, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().amax(1).div(max).reshape(-1, 1);
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
    noAbs: `(x, dim, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.amax(1 - dim).div(max).reshape(...(dim === 0 ? [-1, 1] : [1, -1]));
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
    flatScale: `(x, dim, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().amax(1 - dim).div(max);
      return [torch.round(x.div(s.reshape(...(dim === 0 ? [-1, 1] : [1, -1])))).clamp(min, max).to(d), s];
    }`,
    ignoresDtype: `(x, dim, d = torch.int8) => {
      const s = x.abs().amax(1 - dim).div(127).reshape(...(dim === 0 ? [-1, 1] : [1, -1]));
      return [torch.round(x.div(s)).clamp(-128, 127).to(d), s];
    }`,
  },
  "channel-errors": {
    wrongAxis: "(a, b, dim) => a.sub(b).square().mean(dim)",
    firstAxis: "(a, b) => a.sub(b).square().mean(1)",
    sum: "(a, b, dim) => a.sub(b).square().sum(1 - dim)",
    noSquare: "(a, b, dim) => a.sub(b).mean(1 - dim)",
    absolute: "(a, b, dim) => a.sub(b).abs().mean(1 - dim)",
    whole: "(a, b) => a.sub(b).square().mean()",
  },
  "channel-scales": {
    noAbs: `(x, dim, d = torch.int8) => {
      const s = torch.zeros(x.shape[dim]);
      for (let i = 0; i < x.shape[dim]; i++) s.set(i, x.select(dim, i).max().item() / torch.iinfo(d).max);
      return s;
    }`,
    mean: `(x, dim, d = torch.int8) => {
      const s = torch.zeros(x.shape[dim]);
      for (let i = 0; i < x.shape[dim]; i++) s.set(i, x.select(dim, i).abs().mean().item() / torch.iinfo(d).max);
      return s;
    }`,
    firstAxis: `(x, dim, d = torch.int8) => {
      const s = torch.zeros(x.shape[0]);
      for (let i = 0; i < x.shape[0]; i++) s.set(i, x.select(0, i).abs().max().item() / torch.iinfo(d).max);
      return s;
    }`,
    oneScale: `(x, dim, d = torch.int8) => {
      const s = torch.zeros(x.shape[dim]);
      for (let i = 0; i < x.shape[dim]; i++) s.set(i, x.abs().max().item() / torch.iinfo(d).max);
      return s;
    }`,
  },
  column: {
    always0: `(s, dim, n) => s.reshape(...[-1, 1, 1, 1].slice(0, n))`,
    alwaysLast: `(s, dim, n) => s.reshape(...[1, 1, 1, 1, -1].slice(-n))`,
    alwaysMatrix: "(s, dim) => (dim === 0 ? s.reshape(-1, 1) : s.reshape(1, -1))",
    unchanged: "(s) => s",
  },
  "channel-codes": {
    noReshape: "(x, s) => torch.round(x.div(s)).clamp(-128, 127).to(torch.int8)",
    view: `(x, s, dim) => {
      const shape = new Array(x.dim()).fill(1);
      shape[dim] = -1;
      const flat = x.view(x.numel()).reshape(...x.shape);
      return torch.round(flat.div(s.view(...shape))).clamp(-128, 127).to(torch.int8);
    }`,
    noClamp: `(x, s, dim) => {
      const shape = new Array(x.dim()).fill(1);
      shape[dim] = -1;
      return torch.round(x.div(s.view(...shape))).to(torch.int8);
    }`,
    narrow: `(x, s, dim) => {
      const shape = new Array(x.dim()).fill(1);
      shape[dim] = -1;
      return torch.round(x.div(s.view(...shape))).clamp(-127, 127).to(torch.int8);
    }`,
  },
  "channel-values": {
    noReshape: "(q, s) => q.float().mul(s)",
    firstAxis: `(q, s, dim) => q.float().mul(s.reshape(...[-1, 1, 1].slice(0, q.dim())))`,
    divides: `(q, s, dim) => {
      const shape = new Array(q.dim()).fill(1);
      shape[dim] = -1;
      return q.float().div(s.view(...shape));
    }`,
  },
  gain: {
    inverse: `(x) => {
      const e = (s) => torch.round(x.div(s)).mul(s).sub(x).square().mean().item();
      return e(x.abs().amax(1).div(127).reshape(-1, 1)) / e(x.abs().max().div(127));
    }`,
    absolute: `(x) => {
      const e = (s) => torch.round(x.div(s)).mul(s).sub(x).abs().mean().item();
      return e(x.abs().max().div(127)) / e(x.abs().amax(1).div(127).reshape(-1, 1));
    }`,
    columns: `(x) => {
      const e = (s) => torch.round(x.div(s)).mul(s).sub(x).square().mean().item();
      return e(x.abs().max().div(127)) / e(x.abs().amax(0).div(127));
    }`,
  },
  "min-max": {
    forgets: "(state, x) => [x.min().item(), x.max().item()]",
    keeps: "(state) => state",
    swapped: "([low, high], x) => [Math.max(high, x.max().item()), Math.min(low, x.min().item())]",
    narrows: "([low, high], x) => [Math.max(low, x.min().item()), Math.min(high, x.max().item())]",
    averages: "([low, high], x) => [(low + x.min().item()) / 2, (high + x.max().item()) / 2]",
    zero: "([low, high], x) => [Math.min(low, x.min().item(), 0), Math.max(high, x.max().item(), 0)]",
  },
  qparams: {
    noZero:
      "(min, max) => [(max - min) / 255, Math.min(255, Math.max(0, round(-min / ((max - min) / 255))))]",
    steps256: `(min, max) => {
      const [low, high] = [Math.min(min, 0), Math.max(max, 0)];
      const s = (high - low) / 256;
      return [s, Math.min(255, round(-low / s))];
    }`,
    floatZeroPoint: `(min, max) => {
      const [low, high] = [Math.min(min, 0), Math.max(max, 0)];
      const s = (high - low) / 255;
      return [s, -low / s + 0];
    }`,
    truncate: `(min, max) => {
      const [low, high] = [Math.min(min, 0), Math.max(max, 0)];
      const s = (high - low) / 255;
      return [s, Math.trunc(-low / s) + 0];
    }`,
    halfAway: `(min, max) => {
      const [low, high] = [Math.min(min, 0), Math.max(max, 0)];
      const s = (high - low) / 255;
      return [s, Math.round(-low / s) + 0];
    }`,
    swapped: `(min, max) => {
      const [low, high] = [Math.min(min, 0), Math.max(max, 0)];
      const s = (high - low) / 255;
      return [round(-low / s), s];
    }`,
  },
  "symmetric-qint8": {
    by127: "(min, max) => Math.max(-min, max) / 127",
    by128: "(min, max) => Math.max(-min, max) / 128",
    by255: "(min, max) => Math.max(-min, max) / 255",
    onlyMax: "(min, max) => Math.max(max, 0) / 127.5",
    range: "(min, max) => (Math.max(max, 0) - Math.min(min, 0)) / 255",
  },
  "moving-average": {
    reversed:
      "(old, x, c) => { const b = [x.min().item(), x.max().item()]; return old ? old.map((v, i) => b[i] + c * (v - b[i])) : b; }",
    fixed:
      "(old, x) => { const b = [x.min().item(), x.max().item()]; return old ? old.map((v, i) => v + 0.01 * (b[i] - v)) : b; }",
    extremes:
      "(old, x) => { const b = [x.min().item(), x.max().item()]; return old ? [Math.min(old[0], b[0]), Math.max(old[1], b[1])] : b; }",
    adds: "(old, x, c) => { const b = [x.min().item(), x.max().item()]; return old ? old.map((v, i) => v + c * b[i]) : b; }",
    firstAveraged:
      "(old, x, c) => { const b = [x.min().item(), x.max().item()]; return (old ?? [0, 0]).map((v, i) => v + c * (b[i] - v)); }",
  },
  "torch-codes": {
    addsFirst: "(x, s, z) => torch.round(x.div(s).add(z)).clamp(0, 255).to(torch.uint8)",
    noClamp: "(x, s, z) => torch.round(x.div(s)).add(z).to(torch.uint8)",
    signed: "(x, s, z) => torch.round(x.div(s)).add(z).clamp(-128, 127).to(torch.uint8)",
    noZeroPoint: "(x, s) => torch.round(x.div(s)).clamp(0, 255).to(torch.uint8)",
    noCast: "(x, s, z) => torch.round(x.div(s)).add(z).clamp(0, 255)",
  },
  "zero-point": {
    ignoresDtype: `(x, d = torch.int8) => {
      const s = (x.max().item() - x.min().item()) / 255;
      return [s, Math.min(127, Math.max(-128, round(-128 - x.min().item() / s)))];
    }`,
    floatZeroPoint: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = (x.max().item() - x.min().item()) / (max - min);
      return [s, Math.min(max, Math.max(min, min - x.min().item() / s))];
    }`,
    noClamp: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = (x.max().item() - x.min().item()) / (max - min);
      return [s, round(min - x.min().item() / s)];
    }`,
    sign: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = (x.max().item() - x.min().item()) / (max - min);
      return [s, Math.min(max, Math.max(min, round(min + x.min().item() / s)))];
    }`,
    steps256: `(x, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = (x.max().item() - x.min().item()) / (max - min + 1);
      return [s, Math.min(max, Math.max(min, round(min - x.min().item() / s)))];
    }`,
  },
  "per-group": {
    columns: `(x, size, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const groups = x.t().reshape(-1, size);
      const s = groups.abs().amax(1).div(max).reshape(-1, 1);
      const q = torch.round(groups.div(s)).clamp(min, max).to(d);
      return [q.reshape(x.shape[1], x.shape[0]).t(), s];
    }`,
    rows: `(x, size, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const s = x.abs().amax(1).div(max).reshape(-1, 1);
      return [torch.round(x.div(s)).clamp(min, max).to(d), s];
    }`,
    noRestore: `(x, size, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const groups = x.reshape(-1, size);
      const s = groups.abs().amax(1).div(max).reshape(-1, 1);
      return [torch.round(groups.div(s)).clamp(min, max).to(d), s];
    }`,
    flatScale: `(x, size, d = torch.int8) => {
      const { min, max } = torch.iinfo(d);
      const groups = x.reshape(-1, size);
      const s = groups.abs().amax(1).div(max).reshape(-1, 1);
      return [torch.round(groups.div(s)).clamp(min, max).to(d).reshape(...x.shape), s.flatten()];
    }`,
  },
  "group-values": {
    noRestore: "(q, s, size) => q.float().reshape(-1, size).mul(s)",
    divides: "(q, s, size) => q.float().reshape(-1, size).div(s).reshape(...q.shape)",
    oneScale: "(q, s, size) => q.float().mul(s.select(0, 0))",
  },
  layer: {
    addsZeroPoint: "(x, q, s, z) => torch.nn.functional.linear(x, q.float().mul(s).add(z))",
    noZeroPoint: "(x, q, s) => torch.nn.functional.linear(x, q.float().mul(s))",
    sign: "(x, q, s, z) => torch.nn.functional.linear(x, q.float().add(z).mul(s))",
    wraps: "(x, q, s, z) => torch.nn.functional.linear(x, q.sub(z).mul(s))",
    noScale: "(x, q, s, z) => torch.nn.functional.linear(x, q.float().sub(z))",
  },
  "bits-per-weight": {
    noScales: "(bits) => bits",
    wholeScale: "(bits, size, scale) => bits + scale",
    perGroup: "(bits, size, scale) => bits * size + scale",
    inverse: "(bits, size, scale) => bits + size / scale",
    bytes: "(bits, size, scale) => (bits + scale / size) / 8",
  },
  bytes: {
    noScales: "([r, c], bits) => Math.ceil((r * c * bits) / 8)",
    bits: "([r, c], bits, size) => r * c * bits + 4 * r * Math.ceil(c / size)",
    wholeBytes: "([r, c], bits, size) => r * c + 4 * r * Math.ceil(c / size)",
    floor: "([r, c], bits, size) => Math.floor((r * c * bits) / 8) + 4 * r * Math.ceil(c / size)",
    fraction: "([r, c], bits, size) => (r * c * bits) / 8 + 4 * r * Math.ceil(c / size)",
    fullGroups:
      "([r, c], bits, size) => Math.ceil((r * c * bits) / 8) + 4 * r * Math.floor(c / size)",
  },
  sqnr: {
    inverse: "(a, b) => 10 * Math.log10(a.sub(b).square().sum().item() / a.square().sum().item())",
    twenty: "(a, b) => 20 * Math.log10(a.square().sum().item() / a.sub(b).square().sum().item())",
    ln: "(a, b) => 10 * Math.log(a.square().sum().item() / a.sub(b).square().sum().item())",
    noLog: "(a, b) => a.square().sum().item() / a.sub(b).square().sum().item()",
    restored: "(a, b) => 10 * Math.log10(b.square().sum().item() / a.sub(b).square().sum().item())",
    absolute: "(a, b) => 10 * Math.log10(a.abs().sum().item() / a.sub(b).abs().sum().item())",
  },
  accuracy: {
    wrongAxis:
      "(s, labels) => { const a = s.argmax(0).tolist(); return labels.filter((l, i) => a[i] === l).length / labels.length; }",
    count:
      "(s, labels) => { const a = s.argmax(1).tolist(); return labels.filter((l, i) => a[i] === l).length; }",
    percent:
      "(s, labels) => { const a = s.argmax(1).tolist(); return (100 * labels.filter((l, i) => a[i] === l).length) / labels.length; }",
    smallest:
      "(s, labels) => { const a = s.argmin(1).tolist(); return labels.filter((l, i) => a[i] === l).length / labels.length; }",
    magnitude:
      "(s, labels) => { const a = s.abs().argmax(1).tolist(); return labels.filter((l, i) => a[i] === l).length / labels.length; }",
  },
  "group-size": {
    largest:
      "(bits, scale, limit) => [256, 128, 64, 32, 16].find((g) => bits + scale / g <= limit)",
    strict: "(bits, scale, limit) => [16, 32, 64, 128, 256].find((g) => bits + scale / g < limit)",
    noScales: "(bits, scale, limit) => [16, 32, 64, 128, 256].find(() => bits <= limit)",
    fixedScale:
      "(bits, scale, limit) => [16, 32, 64, 128, 256].find((g) => bits + 32 / g <= limit)",
    index:
      "(bits, scale, limit) => [16, 32, 64, 128, 256].findIndex((g) => bits + scale / g <= limit)",
  },
  budget: {
    fewest:
      "(layers, budget) => { const n = layers.reduce((t, [r, c]) => t + r * c, 0); return [2, 3, 4, 8].find((b) => (n * b) / 8 <= budget); }",
    strict:
      "(layers, budget) => { const n = layers.reduce((t, [r, c]) => t + r * c, 0); return [8, 4, 3, 2].find((b) => (n * b) / 8 < budget); }",
    bits: "(layers, budget) => { const n = layers.reduce((t, [r, c]) => t + r * c, 0); return [8, 4, 3, 2].find((b) => n * b <= budget); }",
    firstLayer: "([[r, c]], budget) => [8, 4, 3, 2].find((b) => (r * c * b) / 8 <= budget)",
    noThree:
      "(layers, budget) => { const n = layers.reduce((t, [r, c]) => t + r * c, 0); return [8, 4, 2].find((b) => (n * b) / 8 <= budget); }",
  },
  candidates: {
    strict:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] + e[i] > (l[k - 1] ?? -Infinity)); }",
    noUpper:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] >= (l[k - 1] ?? -Infinity)); }",
    lowerEnd:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] - e[i] >= (l[k - 1] ?? -Infinity)); }",
    scoreThreshold:
      "(s, e, k) => { const l = s.toSorted((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] + e[i] >= (l[k - 1] ?? -Infinity)); }",
    upperThreshold:
      "(s, e, k) => { const l = s.map((x, i) => x + e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] + e[i] >= (l[k - 1] ?? -Infinity)); }",
    oneMore:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] + e[i] >= (l[k] ?? -Infinity)); }",
    count:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.filter((x, i) => x + e[i] >= (l[k - 1] ?? -Infinity)).length; }",
    values:
      "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.filter((x, i) => x + e[i] >= (l[k - 1] ?? -Infinity)); }",
    none: "(s, e, k) => { const l = s.map((x, i) => x - e[i]).sort((a, b) => b - a); return s.map((_, i) => i).filter((i) => s[i] + e[i] >= l[k - 1]); }",
    best: "(s, e, k) => { const p = s.map((_, i) => i); return p.sort((a, b) => s[b] - s[a]).slice(0, k).sort((a, b) => a - b); }",
  },
  fp4: {
    noSubnormals: "(c) => (c >= 8 ? -1 : 1) * 2 ** (((c >> 1) & 3) - 1) * (1 + (c & 1) / 2)",
    noSign:
      "(c) => { const e = (c >> 1) & 3, m = c & 1; return e === 0 ? m / 2 : 2 ** (e - 1) * (1 + m / 2); }",
    complement:
      "(c) => { const n = c >= 8 ? 16 - c : c, e = (n >> 1) & 3, m = n & 1; return (c >= 8 ? -1 : 1) * (e === 0 ? m / 2 : 2 ** (e - 1) * (1 + m / 2)); }",
    noBias:
      "(c) => { const e = (c >> 1) & 3, m = c & 1; return (c >= 8 ? -1 : 1) * (e === 0 ? m / 2 : 2 ** e * (1 + m / 2)); }",
    fixedMantissa:
      "(c) => { const e = (c >> 1) & 3, m = c & 1; return (c >= 8 ? -1 : 1) * (e === 0 ? m / 2 : 2 ** (e - 1) + m / 2); }",
    wholeMantissa:
      "(c) => { const e = (c >> 1) & 3, m = c & 1; return (c >= 8 ? -1 : 1) * (e === 0 ? m : 2 ** (e - 1) * (1 + m)); }",
    integer: "(c) => (c >= 8 ? 8 - c : c)",
  },
  "q4-scale": {
    magnitude: "(v) => Math.max(...v.map(Math.abs)) / -8",
    positive: "(v) => v.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / 8",
    seven: "(v) => v.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / 7",
    minusSeven: "(v) => v.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / -7",
    fifteen: "(v) => (Math.max(...v) - Math.min(...v)) / 15",
    maximum: "(v) => Math.max(...v) / -8",
    minimum: "(v) => Math.min(...v) / -8",
    last: "(v) => v.reduce((a, b) => (Math.abs(b) >= Math.abs(a) ? b : a)) / -8",
    oneForZeros: "(v) => v.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / -8 || 1",
  },
  "q4-values": {
    neighbours: "(d, b) => b.flatMap((x) => [x & 15, x >> 4]).map((q) => d * (q - 8))",
    highFirst:
      "(d, b) => [...b.map((x) => x >> 4), ...b.map((x) => x & 15)].map((q) => d * (q - 8))",
    swappedNeighbours: "(d, b) => b.flatMap((x) => [x >> 4, x & 15]).map((q) => d * (q - 8))",
    noOffset: "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x >> 4)].map((q) => d * q)",
    seven: "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x >> 4)].map((q) => d * (q - 7))",
    complement:
      "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x >> 4)].map((q) => d * ((q << 28) >> 28))",
    outside: "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x >> 4)].map((q) => d * q - 8)",
    noMask: "(d, b) => [...b, ...b.map((x) => x >> 4)].map((q) => d * (q - 8))",
    noShift:
      "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x & 240)].map((q) => d * (q - 8))",
    noScale: "(d, b) => [...b.map((x) => x & 15), ...b.map((x) => x >> 4)].map((q) => q - 8)",
    lowOnly: "(d, b) => b.map((x) => d * ((x & 15) - 8))",
  },
};
