// What the header of the file says: name, facts, metadata; and what a plan keeps of it.

import { memo } from "../../shell/drawing/hooks.js";
import { bytesText, countText, nounText } from "../../shell/drawing/numbers.js";
import { formatText } from "../format.js";
import type { Header } from "../model/commands.js";
import { Terms } from "./parts.js";

/** Values of all tensors. */
export const parametersOf = (tensors: readonly { shape: readonly number[] }[]) =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

interface FactsProps {
  header: Header;
  onOther: (file: File) => void;
}

export function FileFacts({ header, onOther }: FactsProps) {
  const { name, size, format, tensors, missing, others } = header;
  const facts = [
    formatText(format),
    nounText(tensors.length, "tensor"),
    `${countText(parametersOf(tensors))} parameters`,
    [...new Set(tensors.map(({ dtype }) => dtype))].join(", "),
    bytesText(size),
  ];
  return (
    <>
      <p class="lab-title">
        <strong class="lab-name">{name}</strong>
      </p>
      <p class="lab-facts">{facts.join("\u00a0· ")}</p>
      {missing && <p class="lab-missing">{missing}</p>}
      {others.length > 0 && (
        <p class="lab-others">
          Opened of {nounText(others.length + 1, "file")}. Another one:{" "}
          {others.map((file) => (
            <button type="button" class="lab-sample" onClick={() => onOther(file)}>
              {file.name}
            </button>
          ))}
        </p>
      )}
    </>
  );
}

export const Metadata = memo(({ metadata }: Pick<Header, "metadata">) => (
  <details class="lab-metadata" hidden={metadata.length === 0}>
    <summary>{nounText(metadata.length, "line")} of metadata</summary>
    <Terms terms={metadata} />
  </details>
));

/** Names of a reason that are shown. */
const SHOWN = 50;

/** The tensors that a plan keeps as they are, with the reasons. */
export function Kept({ kept }: { kept: readonly [reason: string, names: string[]][] }) {
  const count = kept.reduce((sum, [, names]) => sum + names.length, 0);
  const textOf = (names: string[]) =>
    `${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? `, and ${names.length - SHOWN} more` : ""}`;
  return (
    <details class="lab-kept" hidden={count === 0}>
      <summary>
        {nounText(count, "tensor")} {count === 1 ? "is" : "are"} not quantized
      </summary>
      <Terms terms={kept.map(([reason, names]) => [reason, textOf(names)] as const)} />
    </details>
  );
}
