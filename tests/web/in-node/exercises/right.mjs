// Right answers that are written in another way than the solutions of the notebooks.

/** Expressions for the function of each exercise. @type {Record<string, string[]>} */
export const RIGHT = {
  steps: ["(x, s, z) => x.div(s).add(z)", "(x, s, z) => torch.add(torch.div(x, s), z)"],
  codes: [
    `(x, s, z, dtype = torch.int8) => {
      const q = torch.round(torch.add(torch.div(x, s), z));
      const { min, max } = torch.iinfo(dtype);
      return torch.clamp(q, min, max).to(dtype);
    }`,
    `function (tensor, scale, zero_point, dtype) {
      const info = torch.iinfo(dtype ?? torch.int8);
      return tensor.div(scale).add(zero_point).round().clamp(info.min, info.max).to(dtype ?? torch.int8);
    }`,
  ],
  values: [
    "(q, s, z) => q.to(torch.float32).sub(z).mul(s)",
    "(q, s, z) => torch.mul(torch.sub(q.float(), z), s)",
  ],
  range: [
    `(s, z, dtype) => {
      const info = torch.iinfo(dtype);
      return [info.min, info.max].map((code) => s * (code - z));
    }`,
    `(s, z, dtype) => {
      const { min, max } = torch.iinfo(dtype);
      return [s * min - s * z, s * max - s * z];
    }`,
  ],
  saturated: [
    `(x, s, z, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const codes = x.div(s).add(z).round().flatten().tolist();
      return codes.filter((code) => code < min || code > max).length;
    }`,
    `(x, s, z, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const codes = torch.round(x.div(s).add(z));
      return codes.ne(codes.clamp(min, max)).sum().item();
    }`,
  ],
  "symmetric-scale": [
    "(x, dtype = torch.int8) => torch.max(torch.abs(x)).item() / torch.iinfo(dtype).max",
    `(x, dtype = torch.int8) =>
      Math.max(...x.flatten().tolist().map(Math.abs)) / torch.iinfo(dtype).max`,
  ],
  symmetric: [
    `(x, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const scale = Math.max(x.max().item(), -x.min().item()) / max;
      return [x.div(scale).round().clamp(min, max).to(dtype), scale];
    }`,
    `(x, dtype = torch.int8) => {
      const { max } = torch.iinfo(dtype);
      const scale = x.abs().max().item() / max;
      return [torch.clamp(torch.round(x.div(scale)), -max, max).to(dtype), scale];
    }`,
  ],
  error: [
    `(a, b, type = "mse") => {
      const d = b.sub(a);
      return torch.mean(type === "mae" ? d.abs() : d.mul(d)).item();
    }`,
    `(a, b, type = "mse") => {
      const d = a.sub(b).flatten().tolist();
      const terms = d.map((x) => (type === "mse" ? x * x : Math.abs(x)));
      return terms.reduce((sum, x) => sum + x, 0) / terms.length;
    }`,
  ],
  "per-channel": [
    `(x, dim, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const scale = torch.zeros(x.shape[dim]);
      for (let i = 0; i < x.shape[dim]; i++) scale.set(i, x.select(dim, i).abs().max().item() / max);
      const shape = [1, 1];
      shape[dim] = -1;
      const column = scale.view(...shape);
      return [torch.round(x.div(column)).clamp(min, max).to(dtype), column];
    }`,
    `(x, dim, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const largest = x.abs().amax(1 - dim);
      const column = dim === 0 ? largest.unsqueeze(1) : largest.unsqueeze(0);
      const scale = column.div(max);
      return [x.div(scale).round().clamp(min, max).to(dtype), scale];
    }`,
  ],
  "channel-errors": [
    "(a, b, dim) => torch.mean(b.sub(a).square(), 1 - dim)",
    `(a, b, dim) => {
      const rows = Array.from({ length: a.shape[dim] }, (_, i) =>
        a.select(dim, i).sub(b.select(dim, i)).square().mean().item());
      return torch.tensor(rows);
    }`,
  ],
  "channel-scales": [
    `(x, dim, dtype = torch.int8) => {
      const scales = torch.zeros(x.shape[dim]);
      for (let i = 0; i < x.shape[dim]; i++) {
        scales.set(i, x.select(dim, i).abs().max().item() / torch.iinfo(dtype).max);
      }
      return scales;
    }`,
    `(x, dim, dtype = torch.int8) =>
      x.transpose(0, dim).contiguous().reshape(x.shape[dim], -1).abs().amax(1).div(torch.iinfo(dtype).max)`,
  ],
  column: [
    `(scale, dim, ndim) => {
      const shape = Array.from({ length: ndim }, (_, axis) => (axis === dim ? scale.numel() : 1));
      return scale.reshape(...shape);
    }`,
    `(scale, dim, ndim) => {
      let result = scale;
      for (let i = 0; i < dim; i++) result = result.unsqueeze(0);
      while (result.dim() < ndim) result = result.unsqueeze(-1);
      return result;
    }`,
  ],
  "channel-codes": [
    `(x, scale, dim) => {
      const shape = [...x.shape].map((size, axis) => (axis === dim ? size : 1));
      return x.div(scale.view(...shape)).round().clamp(-128, 127).to(torch.int8);
    }`,
    `(x, scale, dim) => {
      const last = x.transpose(dim, -1).div(scale);
      return torch.round(last).clamp(-128, 127).to(torch.int8).transpose(dim, -1);
    }`,
  ],
  "channel-values": [
    `(q, scale, dim) => {
      const shape = [...q.shape].map((size, axis) => (axis === dim ? size : 1));
      return scale.view(...shape).mul(q.float());
    }`,
    "(q, scale, dim) => q.float().transpose(dim, -1).mul(scale).transpose(dim, -1)",
  ],
  gain: [
    `(x) => {
      const mse = (s) => x.div(s).round().mul(s).sub(x).square().mean().item();
      return mse(x.abs().max().div(127)) / mse(x.abs().amax(1).unsqueeze(1).div(127));
    }`,
    `(x) => {
      const error = (part, s) => part.div(s).round().mul(s).sub(part).square().sum().item();
      const whole = error(x, x.abs().max().div(127));
      let rows = 0;
      for (let i = 0; i < x.shape[0]; i++) {
        const row = x.select(0, i);
        rows += error(row, row.abs().max().div(127));
      }
      return whole / rows;
    }`,
  ],
  "min-max": [
    `(state, x) => {
      const values = x.flatten().tolist();
      return [Math.min(state[0], ...values), Math.max(state[1], ...values)];
    }`,
    `(state, x) => {
      const low = x.min().item();
      const high = x.max().item();
      return [low < state[0] ? low : state[0], high > state[1] ? high : state[1]];
    }`,
  ],
  qparams: [
    `(min, max) => {
      const scale = (Math.max(max, 0) - Math.min(min, 0)) / 255;
      return [scale, Math.min(255, Math.max(0, round(0 - Math.min(min, 0) / scale)))];
    }`,
    `(min, max) => {
      const low = min < 0 ? min : 0;
      const high = max > 0 ? max : 0;
      const scale = (high - low) / (255 - 0);
      return [scale, torch.round(torch.tensor(-low / scale)).item()];
    }`,
  ],
  "symmetric-qint8": [
    "(min, max) => (2 * Math.max(-min, max)) / 255",
    "(min, max) => Math.max(Math.abs(min), Math.abs(max)) / 127.5",
  ],
  "moving-average": [
    `(state, x, c) => {
      const batch = [x.min().item(), x.max().item()];
      return state ? [0, 1].map((i) => (1 - c) * state[i] + c * batch[i]) : batch;
    }`,
    `(state, x, c) => {
      const low = x.min().item();
      const high = x.max().item();
      if (!state) return [low, high];
      return [state[0] + c * (low - state[0]), state[1] + c * (high - state[1])];
    }`,
  ],
  "torch-codes": [
    "(x, s, z) => x.div(s).round().add(z).clamp(0, 255).to(torch.uint8)",
    `(x, s, z) => {
      const { min, max } = torch.iinfo(torch.uint8);
      return torch.clamp(torch.add(torch.round(torch.mul(x, 1 / s)), z), min, max).to(torch.uint8);
    }`,
  ],
  "zero-point": [
    `(x, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const low = x.min().item();
      const scale = (x.max().item() - low) / (max - min);
      const z = min - low / scale;
      return [scale, z < min ? min : z > max ? max : round(z)];
    }`,
    `(x, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const values = x.flatten().tolist();
      const scale = (Math.max(...values) - Math.min(...values)) / (max - min);
      const z = torch.round(torch.tensor(min - Math.min(...values) / scale)).clamp(min, max);
      return [scale, z.item()];
    }`,
  ],
  "per-group": [
    `(x, size, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const groups = x.view(-1, size);
      const scale = groups.abs().amax(1).unsqueeze(1).div(max);
      return [groups.div(scale).round().clamp(min, max).to(dtype).view(...x.shape), scale];
    }`,
    `(x, size, dtype = torch.int8) => {
      const { min, max } = torch.iinfo(dtype);
      const groups = x.reshape(x.numel() / size, size);
      const scales = groups.tolist().map((g) => [Math.max(...g.map(Math.abs)) / max]);
      const scale = torch.tensor(scales);
      return [torch.round(groups.div(scale)).clamp(min, max).to(dtype).reshape(...x.shape), scale];
    }`,
  ],
  "group-values": [
    "(q, scale, size) => scale.mul(q.view(-1, size).float()).view(...q.shape)",
    `(q, scale, size) => {
      const groups = q.float().reshape(-1, size).tolist();
      const values = groups.map((g, i) => g.map((code) => code * scale.flatten().tolist()[i]));
      return torch.tensor(values).reshape(...q.shape);
    }`,
  ],
  layer: [
    "(x, q, s, z) => torch.nn.functional.linear(x, torch.mul(torch.sub(q.float(), z), s))",
    "(x, q, s, z) => torch.nn.functional.linear(x, q.to(torch.float32).sub(z)).mul(s)",
  ],
  "bits-per-weight": [
    "(bits, size, scale) => (bits * size + scale) / size",
    "(bits, size, scale) => scale / size + bits",
  ],
  bytes: [
    `([rows, columns], bits, size) =>
      Math.ceil(rows * columns * (bits / 8)) + rows * Math.floor((columns + size - 1) / size) * 4`,
    `(shape, bits, size) => {
      const codes = Math.ceil((shape[0] * shape[1] * bits) / 8);
      let scales = 0;
      for (let row = 0; row < shape[0]; row++) {
        for (let start = 0; start < shape[1]; start += size) scales++;
      }
      return codes + scales * 4;
    }`,
  ],
  sqnr: [
    `(a, b) => {
      const power = (t) => torch.sum(t.mul(t)).item();
      return 10 * Math.log10(power(a) / power(b.sub(a)));
    }`,
    `(a, b) => {
      const signal = a.square().mean().item();
      const noise = a.sub(b).square().mean().item();
      return (10 * Math.log(signal / noise)) / Math.LN10;
    }`,
  ],
  accuracy: [
    `(scores, labels) => {
      const rows = scores.tolist();
      let right = 0;
      rows.forEach((row, i) => { if (row.indexOf(Math.max(...row)) === labels[i]) right++; });
      return right / rows.length;
    }`,
    `(scores, labels) => {
      const answers = scores.argmax(1);
      return answers.eq(torch.tensor(labels)).sum().item() / labels.length;
    }`,
  ],
  "group-size": [
    `(bits, scaleBits, limit) => {
      for (const size of [16, 32, 64, 128, 256]) {
        if (bits + scaleBits / size <= limit) return size;
      }
    }`,
    "(bits, scaleBits, limit) => [16, 32, 64, 128, 256].filter((g) => (bits * g + scaleBits) / g <= limit)[0]",
  ],
  budget: [
    `(layers, budget) => {
      let weights = 0;
      for (const [rows, columns] of layers) weights += rows * columns;
      for (const bits of [8, 4, 3, 2]) if (weights * bits <= budget * 8) return bits;
    }`,
    `(layers, budget) => {
      const weights = layers.map(([r, c]) => r * c).reduce((a, b) => a + b, 0);
      return [8, 4, 3, 2].filter((bits) => (weights * bits) / 8 <= budget)[0];
    }`,
  ],
  candidates: [
    `(scores, errors, k) => {
      const ends = scores.map((score, i) => [score - errors[i], score + errors[i]]);
      return ends.flatMap(([, upper], i) => {
        const above = ends.filter(([lower]) => lower > upper).length;
        return above < k ? [i] : [];
      });
    }`,
    `(scores, errors, k) => {
      const lower = scores.map((s, i) => s - errors[i]).sort((a, b) => a - b);
      const least = lower.length < k ? lower[0] : lower.at(-k);
      const found = [];
      for (let i = 0; i < scores.length; i++) if (scores[i] + errors[i] >= least) found.push(i);
      return found;
    }`,
  ],
  fp4: [
    "(code) => [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6][code]",
    `(code) => {
      const size = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
      return code > 7 ? -size[code - 8] : size[code];
    }`,
  ],
  "q4-scale": [
    `(values) => {
      let extreme = 0;
      for (const value of values) if (Math.abs(value) > Math.abs(extreme)) extreme = value;
      return -extreme / 8;
    }`,
    `(values) => {
      const reach = Math.max(...values.map(Math.abs));
      return values.find((value) => Math.abs(value) === reach) / -8;
    }`,
  ],
  "q4-values": [
    `(d, bytes) => {
      const out = [];
      bytes.forEach((byte, i) => {
        out[i] = d * ((byte % 16) - 8);
        out[i + 16] = d * (Math.floor(byte / 16) - 8);
      });
      return out;
    }`,
    "(d, bytes) => [0, 4].flatMap((shift) => bytes.map((b) => (((b >> shift) & 15) - 8) * d))",
  ],
};
