// The parts of the playground, in their order.

import { isDark } from "../shell/theme.js";
import { Controls } from "./controls.js";
import { DataPanel } from "./data/data-panel.js";
import { Exports } from "./exports/panel.js";
import type { Playground, State } from "./playground.js";
import { Summary } from "./views/compare.js";
import { CurvesView } from "./views/curves.js";
import { Grids } from "./views/grids.js";
import { Distribution } from "./views/histogram.js";
import { Inspector } from "./views/inspector.js";
import { SchemeTable } from "./views/scheme-table.js";

export function PlayView({ playground, state }: { playground: Playground; state: State }) {
  const { settings, other, source, data, problem, result, otherResult, sweep, schemes } = state;
  const least = (element: number) => Math.min(element, (data?.values.length ?? 1) - 1);
  const selected = least(state.selected);
  const element = least(state.hovered ?? selected);
  return (
    <>
      {/* What is wrong with the link, above everything else. */}
      <p class="play-damage cell-error" role="alert" hidden={state.damage === ""}>
        {state.damage}
      </p>
      <div class="play-columns">
        <div class="play-side">
          <DataPanel source={source} problem={problem} onSource={playground.take} />
          <section aria-label="Settings">
            <h2>Settings</h2>
            <Controls
              settings={settings}
              abilities={state.abilities}
              onChange={playground.setByHand}
            />
          </section>
        </div>
        <div class="play-main">
          <p class="play-status" role="status">
            {state.message}
          </p>
          <Distribution data={data} result={result} element={element} onMove={playground.move} />
          <Summary a={otherResult} b={result} hasOther={!!other} playground={playground} />
          <Inspector
            data={data}
            result={result}
            element={element}
            spoken={state.spoken}
            onSelect={playground.select}
          />
          <section class="play-elements" aria-label="Elements">
            {data && result && (
              <Grids
                data={data}
                a={otherResult}
                b={result}
                selected={selected}
                element={element}
                isDark={isDark()}
                playground={playground}
              />
            )}
          </section>
          <CurvesView sweep={sweep} />
          <section class="play-all" aria-label="All schemes">
            <h2>All schemes</h2>
            <SchemeTable rows={schemes} settings={settings} onChoose={playground.set} />
          </section>
          <Exports playground={playground} />
        </div>
      </div>
    </>
  );
}
