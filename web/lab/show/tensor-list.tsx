// All tensors of the file: type, shape, bits and bytes. A name opens the values.

import { useState } from "preact/hooks";
import type { ModelTensor } from "zeropoint/models";
import { Facts } from "../../shell/drawing/facts.js";
import { memo } from "../../shell/drawing/hooks.js";
import { bytesText } from "../../shell/drawing/numbers.js";
import { shapeText } from "../format.js";
import { Filter } from "./parts.js";

/** Rows in the document at once; a filter finds the others. */
export const MOST_ROWS = 200;

const typeText = ({ dtype, layout }: ModelTensor) => (layout ? `${dtype}, ${layout}` : dtype);

/** Bits of a value as the file has it, without scales that are tensors of their own. */
export function bitsText({ shape, byteLength }: ModelTensor) {
  const values = shape.reduce((product, length) => product * length, 1);
  return values > 0 ? String(Number(((8 * byteLength) / values).toFixed(2))) : "–";
}

/** @param onChoose  called with the tensor whose name is pressed */
interface Props {
  tensors: readonly ModelTensor[];
  onChoose: (name: string) => void;
}

/** A disclosure, whose tensors are in the document while it is open. */
export const TensorList = memo((props: Props) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="lab-tensors" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>All tensors: types, bits and values</summary>
      {isOpen && <Tensors {...props} />}
    </details>
  );
});

function Tensors({ tensors, onChoose }: Props) {
  const [filter, setFilter] = useState("");
  const found = tensors.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()));
  const rows = found.slice(0, MOST_ROWS);
  return (
    <>
      <div class="lab-controls">
        <Filter value={filter} onFilter={setFilter} />
        <span class="tensor-count" role="status">
          {found.length > rows.length && `The first ${rows.length} of ${found.length} are shown.`}
        </span>
      </div>
      <Facts titles={["Tensor", "Type", "Bits per value", "Bytes", "Shape"]} texts={["Type"]}>
        {rows.map((tensor) => (
          <tr key={tensor.name}>
            <th scope="row">
              <button type="button" class="lab-sample" onClick={() => onChoose(tensor.name)}>
                <bdi>{tensor.name}</bdi>
              </button>
            </th>
            <td class="is-text">{typeText(tensor)}</td>
            <td>{bitsText(tensor)}</td>
            <td>{bytesText(tensor.byteLength)}</td>
            <td>{shapeText(tensor.shape)}</td>
          </tr>
        ))}
      </Facts>
    </>
  );
}
