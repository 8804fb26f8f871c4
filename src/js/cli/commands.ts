// The table of commands: operands, options, examples. Read by the help and by the parser of arguments.

import type { CommandName } from "./names.js";

/** An option of a command. */
export interface CommandOption {
  readonly name: string;
  readonly short?: string;
  /** The name of its value; an option without one is on or off. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly isList?: boolean;
  readonly text: string;
}

/** An example, which a test runs. */
export interface CommandExample {
  readonly command: string;
  readonly text: string;
}

/** A command. */
export interface Command {
  readonly summary: string;
  /** Names of the operands; in brackets if they may be left out. */
  readonly operands: readonly string[];
  readonly options: readonly CommandOption[];
  /** Further information, one paragraph each. */
  readonly notes: readonly string[];
  readonly examples: readonly CommandExample[];
}

const FORCE: CommandOption = { name: "force", text: "overwrite files that exist" };
const THREADS: CommandOption = {
  name: "threads",
  value: "N",
  text: "threads; default: one for each processor",
};
const TABLES: readonly CommandOption[] = [
  { name: "json", text: "print JSON" },
  { name: "csv", text: "print CSV" },
  { name: "html", text: "print one HTML page with the table, for sharing" },
];
const INCLUDE: readonly CommandOption[] = [
  { name: "include", value: "GLOB", isList: true, text: "only tensors of these names" },
  { name: "exclude", value: "GLOB", isList: true, text: "no tensors of these names" },
];
const TARGET: readonly CommandOption[] = [
  {
    name: "format",
    value: "NAME",
    text: "count bytes and measure groups as a format stores them; default: the model's",
  },
  {
    name: "target",
    value: "NAME",
    text: "count bytes and measure errors as a target of quantize stores weights",
  },
];
const ACTIVATIONS: CommandOption = {
  name: "activations",
  value: "FILE",
  isList: true,
  text: "inputs of weights for the error of outputs: .npz with arrays [..., inputs] named as the weights, or NAME.npy",
};
const SHARD: CommandOption = {
  name: "shard",
  value: "I/N",
  text: "the I-th of N jobs, I from 1 to N: its share of the files by size",
};

/** Options of all commands. */
export const COMMON_OPTIONS: readonly CommandOption[] = [
  { name: "timeout", value: "S", text: "seconds that a server may send nothing; default: 60" },
  { name: "max-bytes", value: "N", text: "memory for headers and metadata; default: 512MiB" },
  { name: "quiet", short: "q", text: "no progress and no remarks, only results and errors" },
  { name: "help", short: "h", text: "print this help" },
];

const FILE_NOTE =
  "FILE is a path, a folder with shards or one model, an address (https://…, read by ranges), or - for standard input.";

/** All commands. */
export const COMMANDS: Readonly<Record<CommandName, Command>> = {
  inspect: {
    summary: "show what is in a model file: format, metadata, tensors, quantization",
    operands: ["FILE"],
    options: [
      ...INCLUDE,
      ...TABLES,
      { name: "output", short: "o", value: "OUT", text: "write to a file; - is standard output" },
      FORCE,
    ],
    notes: [FILE_NOTE, "Only headers are read."],
    examples: [
      { command: "zeropoint inspect model.safetensors", text: "the tensors as a table" },
      {
        command: "zeropoint inspect model.safetensors --include '*.weight' --csv",
        text: "weights, for a spreadsheet",
      },
      { command: "zeropoint inspect - --json < model.safetensors", text: "from standard input" },
    ],
  },
  analyze: {
    summary: "measure what each scheme costs each tensor: bytes and errors",
    operands: ["FILE"],
    options: [
      {
        name: "schemes",
        value: "LIST",
        text: "names with commas between; default: what is common from 2 to 8 bits",
      },
      ...INCLUDE,
      {
        name: "metric",
        value: "NAME",
        text: "the error in the table: sqnr (default), mse, max, cosine, or output with --activations",
      },
      ACTIVATIONS,
      ...TARGET,
      { name: "certificate", text: "bounds of the output's error and the sha256 of each tensor" },
      ...TABLES,
      {
        name: "output",
        short: "o",
        value: "OUT",
        text: "write to a file; with --shard to a folder",
      },
      SHARD,
      THREADS,
      FORCE,
    ],
    notes: [
      FILE_NOTE,
      "A tensor of up to 16 MiB is read once for all schemes; a larger one again for schemes with one scale for all of it, and where its rows are not stored one after the other. The figures are exact, and the same on every machine and number of threads.",
      "The error of weights is not accuracy: it says how well values are kept, not what a network makes of them.",
      "With -o, the same command goes on after an interruption with the tensors that are missing.",
    ],
    examples: [
      { command: "zeropoint analyze model.safetensors", text: "SQNR in dB, tensor × scheme" },
      {
        command: "zeropoint analyze model.safetensors --schemes int8-channel,int4-g32 -o rows.json",
        text: "rows for plan",
      },
      {
        command: "zeropoint analyze sharded --shard 1/2 -o stats",
        text: "one of two jobs on a model in shards",
      },
    ],
  },
  plan: {
    summary: "choose a scheme for each tensor, of least total error within a size",
    operands: ["FILE"],
    options: [
      {
        name: "size",
        value: "SIZE",
        text: "the budget: 1.5GB, 40MiB, 4.5bpw (bits per weight) or 25% (of the bytes of its tensors)",
      },
      { name: "min-sqnr", value: "DB", text: "instead of a size: no tensor below this SQNR in dB" },
      { name: "schemes", value: "LIST", text: "schemes to choose from, with commas between" },
      {
        name: "pin",
        value: "GLOB=SCHEME",
        isList: true,
        text: "a scheme for tensors of these names",
      },
      { name: "same", value: "GLOB", isList: true, text: "tensors that get one scheme together" },
      {
        name: "metric",
        value: "NAME",
        text: "what to minimize: relative squared error (relative, the default, by share of the parameters; layers, each weight alike), output, mse, max or cosine",
      },
      ACTIVATIONS,
      ...TARGET,
      {
        name: "nominal",
        text: "count packed codes and scales alone, whatever the target makes of them",
      },
      { name: "frontier", text: "print error against bytes for all sizes instead" },
      { name: "json", text: "print the plan as JSON" },
      { name: "csv", text: "print the table as CSV" },
      { name: "html", text: "print one HTML page with the table" },
      { name: "output", short: "o", value: "PLAN", text: "write the plan as JSON to a file" },
      THREADS,
      FORCE,
    ],
    notes: [
      "FILE is a model, which is analyzed first, or what analyze wrote: a file of rows, a folder of its jobs, or - for standard input.",
      "The plan says how far it can be from the best possible one. Equal input gives an equal plan everywhere.",
    ],
    examples: [
      { command: "zeropoint plan model.safetensors --size 25% -o plan.json", text: "a quarter" },
      {
        command: "zeropoint plan rows.json --size 8bpw --pin 'head.*=keep'",
        text: "from rows of analyze, one tensor as it is",
      },
      { command: "zeropoint plan rows.json --frontier", text: "what each size costs" },
    ],
  },
  quantize: {
    summary: "write a quantized model, by one scheme or by a plan",
    operands: ["FILE", "[SCHEME]"],
    options: [
      { name: "plan", value: "PLAN", text: "a plan of zeropoint plan, instead of a scheme" },
      {
        name: "output",
        short: "o",
        value: "OUT",
        text: "the file, or the folder if there are several or it ends with /; - is standard output",
      },
      {
        name: "format",
        value: "NAME",
        text: "safetensors, gguf, onnx, npz or npy; default: that of the plan, or of the model",
      },
      {
        name: "target",
        value: "NAME",
        text: "the layout or engine that the file is for; with a wrong name the error lists all",
      },
      {
        name: "activations",
        value: "NAME",
        text: "compressed-tensors, ONNX: dynamic quantizes inputs as well; default: float32",
      },
      { name: "requantize", text: "quantize weights again that are quantized already" },
      {
        name: "original",
        value: "FILE",
        text: "with --requantize: the model before the first rounding, for both errors",
      },
      { name: "pure", text: "GGUF: one type for all matrices, as llama-quantize --pure" },
      {
        name: "token-embedding-type",
        value: "TYPE",
        text: "GGUF: the type of the token embeddings (q8_0, f16), as in llama-quantize",
      },
      {
        name: "output-tensor-type",
        value: "TYPE",
        text: "GGUF: the type of output.weight, as in llama-quantize",
      },
      {
        name: "tensor-type",
        value: "PATTERN=TYPE",
        isList: true,
        text: "GGUF: the type of weights whose names match an expression (ffn_down=q6_k), as in llama-quantize",
      },
      { name: "imatrix", value: "FILE", text: "GGUF: importance of inputs, of llama-imatrix" },
      {
        name: "verify",
        text: "make the result again from the source, and compare its bytes and values",
      },
      {
        name: "min-sqnr",
        value: "DB",
        text: "with --verify: fail if a quantized tensor is below this SQNR in dB",
      },
      {
        name: "dry-run",
        text: "print files, sizes and schemes, and write nothing; without -o, too",
      },
      SHARD,
      { name: "json", text: "print the report as JSON" },
      THREADS,
      FORCE,
    ],
    notes: [
      FILE_NOTE,
      "SCHEME: int8-channel, int4-g32, uint4-g64-affine-mse, q4_k, float16 … From GGUF to GGUF also llama-quantize's types, such as Q4_K_M. Norms, biases and small tensors are kept.",
      "A file gets its name when it is complete. Running the command again does only what is missing: done-files in the folder .zeropoint beside the result say what is done, and an interrupted file goes on where it stopped, from a hidden .partial file, on the same machine until that is started again, if its bytes have the hash that was recorded with them.",
      "An input is never overwritten, by no link to it; -o is no pipe or device. Files of others in the folder, such as config.json or SHA256SUMS, are overwritten only with --force. Tokenizers and other small files of the model are copied, but no links out of its folder.",
    ],
    examples: [
      {
        command: "zeropoint quantize model.safetensors int4-g32 -o model-int4.safetensors",
        text: "4 bits, a scale for each 32 values",
      },
      {
        command:
          "zeropoint quantize model.safetensors --plan plan.json -o small.safetensors --verify",
        text: "by a plan, read again",
      },
      {
        command: "zeropoint quantize sharded --plan plan.json --shard 2/2 -o out",
        text: "one of two jobs on a model in shards",
      },
    ],
  },
  compare: {
    summary: "compare two models tensor by tensor, across formats",
    operands: ["A", "B"],
    options: [
      {
        name: "tolerance",
        value: "LIMIT",
        text: "exit with 1 beyond it: a largest difference (0.01) or a least SQNR (30dB)",
      },
      { name: "allow-missing", text: "let tensors pass that one of the models does not have" },
      ...INCLUDE,
      ...TABLES,
      { name: "output", short: "o", value: "OUT", text: "write to a file" },
      THREADS,
      FORCE,
    ],
    notes: [
      "A is the signal, B is compared with it. Quantized tensors are compared by the values they stand for. The exit code is 1 beyond the tolerance, if a tensor of one model is missing in the other, and if one of both could not be compared, such as those of different shapes.",
    ],
    examples: [
      {
        command: "zeropoint compare model.safetensors small.safetensors --tolerance 10dB",
        text: "fails if a tensor has less",
      },
      {
        command: "zeropoint compare model.safetensors model.safetensors --tolerance 0",
        text: "equal to the last bit",
      },
    ],
  },
  verify: {
    summary: "derive a quantized model again from its source, and compare every byte",
    operands: ["SMALL"],
    options: [
      { name: "from", value: "BIG", text: "the model that SMALL was made of" },
      {
        name: "imatrix",
        value: "FILE",
        text: "GGUF: the importance matrix that SMALL was made with",
      },
      {
        name: "allow-ties",
        text: "GGUF: exit with 0 if nothing differs but blocks at ties of rounding",
      },
      { name: "statement", value: "OUT", text: "write the result as a statement of in-toto" },
      {
        name: "check",
        value: "STATEMENT",
        text: "compare hashes and result with a statement of another run",
      },
      ...TABLES,
      { name: "output", short: "o", value: "OUT", text: "write to a file" },
      THREADS,
      FORCE,
    ],
    notes: [
      "SMALL and BIG are paths, folders with shards or one model, addresses, or one of them - for standard input.",
      "SMALL says by which types and schemes each tensor was made: GGUF of llama-quantize or zeropoint, and what zeropoint quantize writes. Suffixes -mse and -hqq, which safetensors files do not record, are tried where bytes differ. The exit code is 1 if a tensor, a key of the metadata or the graph is not what BIG gives, or cannot be derived.",
      "ggml built with fused multiply-add rounds a few values halfway between two codes to the other one. Blocks with equal scales that differ so alone are ties: they are counted, and the exit code is 5.",
      "It shows that SMALL comes from BIG, not that BIG is harmless.",
    ],
    examples: [
      {
        command: "zeropoint verify small.safetensors --from model.safetensors",
        text: "by what the file records",
      },
      {
        command:
          "zeropoint verify small.safetensors --from model.safetensors --statement small.intoto.json",
        text: "and state the result",
      },
      {
        command:
          "zeropoint verify small.safetensors --from model.safetensors --check small.intoto.json",
        text: "on another machine",
      },
    ],
  },
  finish: {
    summary: "check the files of all jobs, then write index, config and SHA256SUMS",
    operands: ["OUT"],
    options: [
      { name: "plan", value: "PLAN", text: "the plan that the jobs had" },
      { name: "scheme", value: "SCHEME", text: "the scheme that the jobs had, instead of a plan" },
      {
        name: "source",
        value: "DIR",
        text: "the model; default: the folder that the jobs read",
      },
      {
        name: "verify",
        text: "make the result again from the source, and compare its bytes and values",
      },
      {
        name: "min-sqnr",
        value: "DB",
        text: "with --verify: fail if a quantized tensor is below this SQNR in dB",
      },
      { name: "sizes-only", text: "check sizes and done-files, do not read the files again" },
      FORCE,
    ],
    notes: [
      "OUT is the folder that quantize --shard wrote to. A file that is missing, or does not have the bytes its job wrote, is named, and nothing is written.",
    ],
    examples: [{ command: "zeropoint finish out --plan plan.json", text: "after the last job" }],
  },
};
