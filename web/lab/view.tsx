// The lab's view: a function of its state.

import type { RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { memo } from "../shell/drawing/hooks.js";
import { FileButton } from "../shell/file-button.js";
import { METRICS, type Metric } from "./format.js";
import type { Lab } from "./lab.js";
import type { Layers } from "./layers.js";
import type { LabState } from "./link.js";
import { CompareView } from "./out/compare-view.js";
import { ReportView } from "./out/report-view.js";
import { ShipView } from "./out/ship-view.js";
import { keptByReason, reasonOf } from "./reasons.js";
import { Drawer } from "./show/drawer.js";
import { FileFacts, Kept, Metadata } from "./show/header.js";
import { InputsView } from "./show/inputs-view.js";
import { LayerTable, shownLayers } from "./show/layer-table.js";
import { Button, Choice, Filter, Section } from "./show/parts.js";
import { type Planned, PlanView } from "./show/plan-view.js";
import { ProgressBar } from "./show/progress.js";
import { Strip } from "./show/strip.js";
import { TensorList } from "./show/tensor-list.js";
import { foundText, showsText } from "./texts.js";

/** Networks that read digits: how they are named here, and their files by format. */
const SAMPLES = {
  "two layers": { "digits.safetensors": "safetensors", "digits.onnx": "ONNX" },
  "25 layers": { "digits-deep.gguf": "GGUF with inputs", "digits-deep.onnx": "ONNX with inputs" },
};

export function LabView({ lab }: { lab: Lab }) {
  const { header, link, planned, writing, output, isReady } = lab;
  const table = useRef<LayerTable>(null);
  /** Hidden sections keep what is open in them. */
  const last = useRef(planned);
  last.current = planned ?? last.current;
  return (
    <>
      <Opening lab={lab} />
      <p class="lab-problem cell-error" hidden={lab.problem === ""} role="alert">
        {lab.problem}
      </p>
      {header && (
        <Section name="lab-file" title="The file">
          <FileFacts header={header} onOther={lab.openOther} />
          <div class="lab-strip">
            {useMemo(
              () => (
                <Strip
                  tensors={lab.stripTensors()}
                  onChoose={(name) => table.current?.show(name)}
                />
              ),
              [header, planned],
            )}
          </div>
          <p class="lab-caption">
            Each bar is a tensor. Its width is the tensor's size in the file, its filled part the
            size in the plan.
          </p>
          <TensorList tensors={header.tensors} onChoose={lab.openValues} />
          <Metadata metadata={header.metadata} />
        </Section>
      )}
      <Section
        name="lab-analysis"
        title="Error of each scheme in each layer"
        hidden={header === undefined}
      >
        <Analysis lab={lab} table={table} />
      </Section>
      {header && last.current && (
        <Section name="lab-plan" title="A plan within a size" hidden={!planned}>
          <PlanParts lab={lab} planned={last.current} whole={header.size} />
        </Section>
      )}
      {header && (
        <Section name="lab-ship" title="The quantized file" hidden={!planned && !lab.isUnplanned}>
          <ShipView
            {...{ writing, header, output, isReady }}
            onChoice={lab.chooseOutput}
            onWrite={lab.write}
          />
        </Section>
      )}
      {header && last.current && (
        <Section name="lab-report" title="Reports and commands" hidden={!planned}>
          <ReportView
            layers={lab.layers}
            plan={last.current.plan}
            output={output}
            job={{
              name: header.name,
              budget: link.budget ?? header.size,
              preset: last.current.plan.preset,
              pins: link.pins,
              count: last.current.files.length,
              ...lab.inputs.files,
            }}
          />
        </Section>
      )}
      {header && (
        <Section name="lab-compare" title="Compared with another file">
          <CompareView comparison={lab.comparison} name={header.name} onFiles={lab.compare} />
        </Section>
      )}
      <Drawer
        details={lab.details}
        onPin={lab.pin}
        onPlay={lab.play}
        onClose={() => lab.closeDetails()?.cell && table.current?.focusCell()}
      />
    </>
  );
}

const Opening = memo(({ lab }: { lab: Lab }) => (
  <div class="lab-drop">
    <FileButton
      title="Open a model file"
      // Anywhere on the page: a drop beside the box would make the browser leave it.
      area={document}
      isPrimary
      accept=".safetensors,.gguf,.onnx,.npy,.npz,.json,.bin,.data"
      onFiles={lab.openOrAdd}
      drop={lab.dropping}
    />
    <p>
      or drop it here: safetensors, GGUF, ONNX, npy, npz or TensorFlow.js, also quantized ones. Open
      all shards and data files of a model together, or drop their folder. Two models are compared.
    </p>
    <form
      class="lab-address"
      onSubmit={(event) => {
        event.preventDefault();
        const address = new FormData(event.currentTarget).get("address");
        if (typeof address === "string" && address.trim()) lab.openAddress(address.trim());
      }}
    >
      <label>
        <span>Or an address on this site</span>
        <input type="text" name="address" placeholder="models/model.gguf" />
      </label>
      <button type="submit" class="button">
        Open
      </button>
    </form>
    <p class="lab-samples">
      <span>Or open a sample, a network that reads digits.</span>
      {Object.entries(SAMPLES).map(([network, files]) => (
        <span class="lab-network">
          Of {network}:
          {Object.entries(files).map(([name, title]) => (
            <button
              type="button"
              class="lab-sample"
              data-sample={name}
              onClick={() => lab.openSample(name)}
            >
              {title}
            </button>
          ))}
        </span>
      ))}
    </p>
  </div>
));

function Analysis({ lab, table }: { lab: Lab; table: RefObject<LayerTable | null> }) {
  const { header, layers, planned, stage } = lab;
  const { metric, filter, sort, pins } = lab.link;
  const analyze = useRef<HTMLButtonElement>(null);
  return (
    <>
      <p>
        Each number is the error of a layer's weights after quantization, or of the layer's outputs
        if you add its inputs below. Select a cell for details and to pin its scheme. The errors
        show which layers are sensitive; they are not the accuracy of the model.
      </p>
      <div class="lab-controls">
        <Choice
          label="Metric"
          name="metric"
          value={metric}
          onChoose={(name) => lab.change({ metric: name as Metric })}
        >
          {Object.entries(METRICS).map(([name, { title, unit }]) => (
            <option value={name}>{unit ? `${title} in ${unit}` : title}</option>
          ))}
        </Choice>
        <Filter name="filter" value={filter} onFilter={(filter) => lab.change({ filter })} />
        <Button
          action="analyze"
          ref={analyze}
          hidden={stage !== "none"}
          onClick={() => lab.analyze()}
        >
          Analyze again
        </Button>
      </div>
      <ProgressBar
        progress={lab.progress}
        onFocusLost={() =>
          stage === "analyzed" ? table.current?.focusCell() : analyze.current?.focus()
        }
      />
      <p class="lab-status">{lab.status}</p>
      <Errors
        {...{ lab, table, layers, planned, metric, filter, sort, pins }}
        changes={layers.changes}
      />
      <p class="lab-legend">
        ● in the plan · ■ pinned · × not stored by the output chosen below · ≈ estimated · → error
        of the outputs, otherwise of the weights
      </p>
      <InputsView inputs={lab.inputs} model={header?.inputs ?? []} />
    </>
  );
}

interface ErrorsProps extends Pick<LabState, "metric" | "filter" | "sort" | "pins"> {
  lab: Lab;
  table: RefObject<LayerTable | null>;
  layers: Layers;
  changes: number;
  planned: Planned | undefined;
}

/** The table, which is not drawn while the slider moves, but with each plan. */
const Errors = memo(({ lab, table, layers, planned, pins, ...order }: ErrorsProps) => {
  const all = layers.all.map((layer) => ({
    ...layer,
    planned: planned?.plan.schemes[layer.name],
    isPinned: Object.hasOwn(pins, layer.name),
  }));
  const shown = shownLayers(all, order);
  return (
    <>
      <div class="lab-table">
        <LayerTable
          ref={table}
          layers={all}
          shown={shown}
          schemes={layers.schemes}
          metric={order.metric}
          sort={order.sort}
          reasonOf={(layer) => reasonOf(layer, planned?.plan)}
          onOpen={lab.openCell}
          onSort={(sort) => lab.change({ sort })}
        />
      </div>
      <p class="lab-shows">
        {foundText(shown.length, all.length, order.filter)}
        {showsText(layers.counts)}
      </p>
    </>
  );
});

function PlanParts({ lab, planned, whole }: { lab: Lab; planned: Planned; whole: number }) {
  const { frontier, link, size } = lab;
  return (
    <>
      <p>
        The line is the plan of least total error for each size; each circle is one scheme for all
        layers
        <span class="lab-mixes" hidden={!frontier?.uniforms.some(({ isPreset }) => isPreset)}>
          , each square one of llama-quantize's mixes, which can be chosen
        </span>
        . Move the slider to choose a size: the table shows the scheme of each layer. Pinned layers
        keep their scheme. Only schemes that the output format below can store are used.
      </p>
      <p class="lab-by-weights" hidden={planned.plan.metric === "output"}>
        <strong>This plan goes by errors of weights, which are not accuracy.</strong> At about four
        bits such a plan of the sample of 25 layers reads 82 % of the digits, one scheme for all
        layers 92 %, and a plan by errors of outputs 92 % as well: add inputs of all layers above to
        plan so.
      </p>
      {frontier && (
        <PlanView
          {...{ frontier, planned, size, whole }}
          budget={link.budget}
          onBudget={lab.chooseSize}
        />
      )}
      {useMemo(
        () => (
          <Kept kept={keptByReason(lab.layers.rows)} />
        ),
        [planned],
      )}
      <p>
        <Button
          action="unpin"
          hidden={Object.keys(link.pins).length === 0}
          onClick={() => lab.unpinAll()}
        >
          Remove all pins
        </Button>
      </p>
    </>
  );
}
