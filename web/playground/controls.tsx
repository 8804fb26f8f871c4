// The form of the playground's settings.

import { memo, useRedraw } from "../shell/drawing/hooks.js";
import { NumberField, Segmented, Select } from "./fields.js";
import { BLOCK_TYPES, consistent, isBlock, type Settings } from "./state.js";
import type { Abilities } from "./worker/worker.js";

interface Props {
  settings: Settings;
  abilities: Abilities;
  onChange: (settings: Settings) => void;
}

export const Controls = memo(({ settings, abilities, onChange }: Props) => {
  const redraw = useRedraw();
  const put = (part: Partial<Settings>) => onChange(consistent({ ...settings, ...part }));
  const number = (
    name: "axis" | "groupSize" | "percentile" | "low" | "high" | "scale" | "zeroPoint",
    text: string,
    limits: { min?: number; max?: number; step?: number } = {},
  ) => (
    <NumberField
      text={text}
      name={name}
      value={settings[name]}
      {...limits}
      onNumber={(value) => onChange(consistent({ ...settings, [name]: value }))}
    />
  );
  const { hasFloat, hasBlocks } = abilities;
  const { scheme, bits, granularity, range } = settings;
  const isTorch = settings.arithmetic === "torch";
  const isOne = granularity === "tensor" && scheme !== "float";
  return (
    // A change ends the typing of a number: an incomplete or invalid one is replaced by the value in use.
    <form
      class="play-controls"
      aria-label="Settings"
      onSubmit={(event) => event.preventDefault()}
      onChange={redraw}
    >
      {!isBlock(settings) && (
        <Segmented
          legend="Arithmetic"
          name="arithmetic"
          value={settings.arithmetic}
          choices={[
            ["course", "Course"],
            ["torch", "PyTorch"],
          ]}
          onChoose={(arithmetic) => put({ arithmetic })}
        />
      )}
      <Select
        text="Scheme"
        name="scheme"
        value={scheme}
        groups={[
          [
            "One scale and codes",
            [
              ["symmetric", "Symmetric"],
              ["affine", "Affine"],
              ["float", "Affine, float zero point", isTorch || !hasFloat],
            ],
          ],
          [
            "Block types of ggml",
            BLOCK_TYPES.map((name) => [name, name.toUpperCase(), !hasBlocks] as const),
          ],
        ]}
        onChoose={(chosen) => put({ scheme: chosen })}
      />
      {!isBlock(settings) && (
        <>
          <label class="play-field play-bits">
            <span>Bits</span>
            <input
              type="range"
              name="bits"
              min={1}
              max={8}
              step={1}
              value={String(bits)}
              onInput={({ currentTarget }) =>
                put({ bits: nearestBits(Number(currentTarget.value), bits, abilities.bits) })
              }
            />
            <output>{bits}</output>
          </label>
          {scheme !== "symmetric" && (
            <Segmented
              legend="Codes"
              name="isUnsigned"
              value={settings.isUnsigned ? "1" : "0"}
              choices={[
                ["0", "Signed"],
                ["1", "Unsigned"],
              ]}
              onChoose={(chosen) => put({ isUnsigned: chosen === "1" })}
            />
          )}
          <Segmented
            legend="One scale for each"
            name="granularity"
            value={granularity}
            choices={[
              ["tensor", "Tensor"],
              ["channel", "Channel"],
              ["group", "Group", isTorch],
            ]}
            onChoose={(chosen) => put({ granularity: chosen })}
          />
          {granularity === "channel" &&
            number("axis", "Axis of the channels", { min: 0, max: 7, step: 1 })}
          {granularity === "group" && number("groupSize", "Values in a group", { min: 1, step: 1 })}
          <Select
            text="Range"
            name="range"
            value={range}
            groups={[
              [
                "",
                [
                  ["minmax", "Smallest to largest value"],
                  ["mse", "Least squared error", isTorch],
                  ["percentile", "Between percentiles", isTorch],
                  [
                    "histogram",
                    "PyTorch’s histogram observer",
                    !isTorch || granularity !== "tensor",
                  ],
                  ["ends", "Ends by hand", !isOne],
                  ["qparams", "Scale and zero point by hand", !isOne],
                ],
              ],
            ]}
            onChoose={(chosen) => put({ range: chosen })}
          />
          {range === "percentile" && number("percentile", "Percentile", { min: 50, max: 100 })}
          {range === "ends" && number("low", "From")}
          {range === "ends" && number("high", "To")}
          {range === "qparams" && number("scale", "Scale", { min: 0 })}
          {range === "qparams" &&
            scheme === "affine" &&
            number("zeroPoint", "Zero point", { step: 1 })}
        </>
      )}
    </form>
  );
});

function nearestBits(wanted: number, before: number, there: number[]) {
  const step = wanted > before ? 1 : -1;
  for (let at = wanted; at >= 1 && at <= 8; at += step) if (there.includes(at)) return at;
  return before;
}
