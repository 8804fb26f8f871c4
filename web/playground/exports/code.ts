// The current settings and data as code: for zeropoint, for PyTorch, and for a cell of a notebook.

import { GENERATORS } from "../data/generate.js";
import { isBlock, limitsOf, type Settings, type Source } from "../state.js";
import type { Evaluation } from "../worker/evaluate.js";

type Data = { values: Float32Array; shape: readonly number[] };

const LONGEST = 4096; // maximum number of values in code

/** Values as nested lists, in the fewest digits that are the same float32. */
export function listOf({ values, shape }: Data) {
  if (values.length > LONGEST) return undefined;
  const write = (depth: number, from: number) => {
    if (depth === shape.length) return shortest(values[from]);
    const size = shape.slice(depth + 1).reduce((product, length) => product * length, 1);
    const parts: string[] = [];
    for (let i = 0; i < shape[depth]; i++) parts.push(write(depth + 1, from + i * size));
    const isInner = depth === shape.length - 1;
    const space = " ".repeat(2 * (depth + 1));
    return isInner
      ? `[${parts.join(", ")}]`
      : `[\n${parts.map((part) => space + part).join(",\n")},\n${" ".repeat(2 * depth)}]`;
  };
  return write(0, 0);
}

export function shortest(value: number) {
  for (let digits = 6; digits <= 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}

/** @returns the options of quantize */
function optionsText(settings: Settings): string {
  const { scheme, bits, isUnsigned, granularity, range } = settings;
  const parts = [
    `dtype: "${isUnsigned ? "u" : ""}int${bits}"`,
    scheme !== "symmetric" && 'scheme: "affine"',
    scheme === "float" && 'zeroPoint: "float"',
    granularity === "channel" && `axis: ${settings.axis}`,
    granularity === "group" && `groupSize: ${settings.groupSize}`,
    range === "mse" && 'range: "mse"',
    range === "percentile" && `range: { percentile: ${settings.percentile} }`,
    range === "qparams" && `scale: ${settings.scale}, zeroPoint: ${settings.zeroPoint}`,
  ];
  return `{ ${parts.filter(Boolean).join(", ")} }`;
}

/**
 * Lines that quantize x and dequantize q.
 * @returns names: imports from zeropoint and zeropoint/torch
 */
function quantizeLines(settings: Settings): { names: string[]; lines: string[] } {
  const { scheme, range, low, high, arithmetic } = settings;
  if (isBlock(settings)) {
    return {
      names: ["quantizeBlocks", "dequantizeBlocks"],
      lines: [
        `const bytes = quantizeBlocks(x, "${scheme}");`,
        `const restored = dequantizeBlocks(bytes, "${scheme}", x.shape);`,
      ],
    };
  }
  if (arithmetic === "torch") return torchLines(settings);
  if (range === "ends") {
    const options = optionsText({ ...settings, range: "minmax" });
    return {
      names: ["tensor", "chooseQParams", "quantize", "dequantize"],
      lines: [
        `const qparams = chooseQParams(tensor([${shortest(low)}, ${shortest(high)}]), ${options});`,
        "const q = quantize(x, qparams);",
        "const restored = dequantize(q);",
      ],
    };
  }
  return {
    names: ["quantize", "dequantize"],
    lines: [`const q = quantize(x, ${optionsText(settings)});`, "const restored = dequantize(q);"],
  };
}

/** Names that zeropoint/torch exports. */
const TORCH_NAME = /Observer$|^quantizePer/;

/** Import declarations for names of the package. */
function importLines(names: string[]) {
  const [own, torch] = [false, true].map((isTorch) =>
    names.filter((name) => TORCH_NAME.test(name) === isTorch).join(", "),
  );
  return [
    `import { ${own} } from "zeropoint";`,
    ...(torch === "" ? [] : [`import { ${torch} } from "zeropoint/torch";`]),
  ];
}

function torchLines(settings: Settings) {
  const { granularity, scheme, isUnsigned, range, low, high, scale, zeroPoint, axis } = settings;
  const { qmin, qmax } = limitsOf(settings);
  const isChannel = granularity === "channel";
  const dtype = isUnsigned ? "quint8" : "qint8";
  const observer = isChannel
    ? "PerChannelMinMaxObserver"
    : range === "histogram"
      ? "HistogramObserver"
      : "MinMaxObserver";
  const quantizer = isChannel ? "quantizePerChannel" : "quantizePerTensor";
  const unit = isChannel ? "per_channel" : "per_tensor";
  const seen = range === "ends" ? `tensor([${shortest(low)}, ${shortest(high)}])` : "x";
  const chAxis = isChannel ? `, chAxis: ${axis}` : "";
  const lines =
    range === "qparams"
      ? []
      : [
          `const observer = new ${observer}({ dtype: "${dtype}", qscheme: "${unit}_${scheme}", quantMin: ${qmin}, quantMax: ${qmax}${chAxis} });`,
          `observer.observe(${seen});`,
          "const { scale, zeroPoint } = observer.calculateQParams();",
        ];
  const qparams =
    range === "qparams"
      ? `${scale}, ${zeroPoint}`
      : isChannel
        ? `scale, zeroPoint, ${axis}`
        : "scale.data[0], zeroPoint.data[0]";
  return {
    names: [
      ...(range === "qparams" ? [] : [observer]),
      ...(range === "ends" ? ["tensor"] : []),
      quantizer,
      "dequantize",
    ],
    lines: [
      ...lines,
      `const q = ${quantizer}(x, ${qparams}, "${dtype}");`,
      ...(settings.bits < 8
        ? [
            `q.data.forEach((code, i) => (q.data[i] = Math.min(${qmax}, Math.max(${qmin}, code)))); // ${settings.bits} of 8 bits`,
          ]
        : []),
      "const restored = dequantize(q);",
    ],
  };
}

/** A module for Node, Deno, Bun and bundlers. */
export function javaScript(settings: Settings, source: Source, data: Data) {
  const { names, lines } = quantizeLines(settings);
  const x = dataLines(source, data);
  const own = [...new Set(["init", ...x.names, ...names, "quantizationError"])];
  return [
    ...importLines(own),
    ...x.imports,
    "await init();",
    "",
    ...x.lines,
    ...lines,
    "",
    'console.log(quantizationError(x, restored), quantizationError(x, restored, "sqnr"));',
    "",
  ].join("\n");
}

/** A cell of a notebook on this page. */
export function cell(settings: Settings, source: Source, data: Data) {
  const { names, lines } = quantizeLines(settings);
  const x = dataLines(source, data);
  const own = [...new Set([...x.names, ...names, "quantizationError"])];
  return [
    ...importLines(own),
    ...x.imports.filter((one) => !one.startsWith("await")),
    "",
    ...x.lines,
    ...lines,
    `print(quantizationError(x, restored, "sqnr"), "dB");`,
    isBlock(settings) ? "bytes.length;" : "q.data;",
  ].join("\n");
}

function dataLines(
  source: Source,
  data: Data,
): { names: string[]; imports: string[]; lines: string[] } {
  const list = listOf(data);
  if (list !== undefined)
    return { names: ["tensor"], imports: [], lines: [`const x = tensor(${list});`] };
  const shape = `[${data.shape.join(", ")}]`;
  if (source.kind === "generated" && ["normal", "uniform"].includes(source.generator)) {
    const draw = source.generator === "normal" ? "randn" : "rand";
    return {
      names: ["tensor"],
      imports: ['import { torch } from "zeropoint/notebook";'],
      lines: [
        `torch.manual_seed(${source.seed});`,
        `const x = tensor(torch.${draw}(${data.shape.join(", ")}).data, ${shape});`,
      ],
    };
  }
  return {
    names: ["tensor"],
    imports: [],
    lines: [
      `const values = new Float32Array(${data.values.length}); // your data, from the exported CSV or JSON`,
      `const x = tensor(values, ${shape});`,
    ],
  };
}

/** The same step for Python, with PyTorch alone. */
export function pyTorch(settings: Settings, source: Source, data: Data, evaluation: Evaluation) {
  const size = data.shape.join(", ");
  const list = listOf(data);
  const x =
    source.kind === "generated"
      ? [
          ...(source.generator === "course" ? [] : [`torch.manual_seed(${source.seed})`]),
          ...GENERATORS[source.generator].python(size),
        ]
      : list === undefined
        ? [`x = torch.zeros(${size})  # your data, from the exported CSV or JSON`]
        : [`x = torch.tensor(${list})`];
  const error = ["error = x - restored", "print(error.square().mean().item())", ""];
  if (isBlock(settings)) {
    return [
      "import torch",
      "",
      ...x,
      `# ${settings.scheme} is a block type of ggml: PyTorch has none.`,
      "",
    ].join("\n");
  }
  const lines =
    settings.arithmetic === "torch"
      ? torchPython(settings)
      : coursePython(settings, data, evaluation);
  return ["import torch", "", ...x, ...lines, ...error].join("\n");
}

function torchPython(settings: Settings) {
  const { granularity, scheme, isUnsigned, range, low, high, axis } = settings;
  const { qmin, qmax } = limitsOf(settings);
  const isChannel = granularity === "channel";
  const name = isChannel
    ? "PerChannelMinMaxObserver"
    : range === "histogram"
      ? "HistogramObserver"
      : "MinMaxObserver";
  const unit = isChannel ? "per_channel" : "per_tensor";
  const seen = range === "ends" ? `torch.tensor([${shortest(low)}, ${shortest(high)}])` : "x";
  const observer = [
    `observer = torch.ao.quantization.${name}(`,
    `    dtype=torch.${isUnsigned ? "quint8" : "qint8"}, qscheme=torch.${unit}_${scheme},`,
    `    quant_min=${qmin}, quant_max=${qmax}${isChannel ? `, ch_axis=${axis}` : ""})`,
    `observer(${seen})`,
    "scale, zero_point = observer.calculate_qparams()",
  ];
  const given = [`scale, zero_point = ${settings.scale}, ${settings.zeroPoint}`];
  return [
    ...(range === "qparams" ? given : observer),
    isChannel
      ? `restored = torch.fake_quantize_per_channel_affine(x, scale, zero_point.int(), ${axis}, ${qmin}, ${qmax})`
      : range === "qparams"
        ? `restored = torch.fake_quantize_per_tensor_affine(x, scale, zero_point, ${qmin}, ${qmax})`
        : `restored = torch.fake_quantize_per_tensor_affine(x, scale.item(), int(zero_point), ${qmin}, ${qmax})`,
  ];
}

/**
 * Scales of the whole tensor, of channels or of groups, as wide as x; the last group of a row may have fewer values.
 */
function coursePython(settings: Settings, { shape }: Data, evaluation: Evaluation) {
  const { granularity, scheme, range, axis, groupSize } = settings;
  const { qmin, qmax } = limitsOf(settings);
  const isGroup = granularity === "group";
  const isFloat = scheme === "float";
  const least = (name: string) =>
    isGroup
      ? `torch.stack([part.${name}(-1) for part in x.split(${groupSize}, -1)], -1)`
      : granularity === "channel"
        ? `x.${name}(dim=[d for d in range(x.dim()) if d != ${axis}], keepdim=True)`
        : `x.${name}()`;
  const ends =
    range === "ends"
      ? [
          `low, high = torch.tensor(${shortest(settings.low)}), torch.tensor(${shortest(settings.high)})`,
        ]
      : [`low = ${least("amin")}`, `high = ${least("amax")}`];
  // A slice of zeros has the scale 1.
  const scaleOf = (width: string) => [
    `scale = ${width}`,
    "scale = torch.where(scale > 0, scale, torch.ones_like(scale))",
  ];
  const qparams =
    range === "qparams"
      ? [`scale, zero_point = ${settings.scale}, ${settings.zeroPoint}`]
      : range === "mse" || range === "percentile"
        ? foundPython(settings, shape, evaluation)
        : scheme === "symmetric"
          ? [...ends, ...scaleOf(`torch.maximum(-low, high) / ${qmax}`), "zero_point = 0"]
          : isFloat
            ? [
                ...ends,
                ...scaleOf(`(high - low) / ${qmax - qmin}`),
                `offset = low - scale * ${qmin}`,
              ]
            : [
                ...ends,
                "low, high = low.clamp(max=0), high.clamp(min=0)",
                ...scaleOf(`(high - low) / ${qmax - qmin}`),
                `zero_point = (${qmin} - low / scale).round().clamp(${qmin}, ${qmax})`,
              ];
  const own = scheme === "symmetric" ? ["scale"] : ["scale", isFloat ? "offset" : "zero_point"];
  return [
    ...qparams,
    ...(isGroup
      ? own.map(
          (name) =>
            `${name} = ${name}.repeat_interleave(${groupSize}, -1)[..., :x.shape[-1]]  # a group for each value`,
        )
      : []),
    ...(isFloat
      ? [
          `codes = ((x - offset) / scale).round().clamp(${qmin}, ${qmax})`,
          "restored = codes * scale + offset",
        ]
      : [
          `codes = (x / scale + zero_point).round().clamp(${qmin}, ${qmax})`,
          "restored = (codes - zero_point) * scale",
        ]),
  ];
}

/** Scales and zero points that zeropoint searched for, as numbers. */
function foundPython(
  { scheme, granularity, axis, range, percentile }: Settings,
  shape: readonly number[],
  evaluation: Evaluation,
) {
  const { scales, zeroPoints } = evaluation;
  const counts =
    granularity === "group"
      ? [...shape.slice(0, -1), scales.length / shape.slice(0, -1).reduce((a, b) => a * b, 1)]
      : granularity === "channel"
        ? shape.map((length, i) => (i === axis ? length : 1))
        : [];
  const of = (list: ArrayLike<number>) =>
    scales.length > LONGEST
      ? `torch.ones(${counts.join(", ")})  # the list in the exported JSON`
      : granularity === "tensor"
        ? String(list[0])
        : `torch.tensor([${Array.from(list, shortest).join(", ")}]).reshape(${counts.join(", ")})`;
  const goal = range === "mse" ? "the least squared error" : `percentile ${percentile}`;
  return [
    `# Found by zeropoint for ${goal}.`,
    `scale = ${of(scales)}`,
    scheme === "symmetric"
      ? "zero_point = 0"
      : `${scheme === "float" ? "offset" : "zero_point"} = ${of(zeroPoints)}`,
  ];
}
